// SPDX-License-Identifier: Apache-2.0

package conductortest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// operation identifies an operation on a node.
type operation struct{ nodeUUID, name string }

// Next replaces the next operation of a name on a node with f. Further calls replace the
// operations after that. The names are
//
//	verify                    manage, from enroll
//	inspect.inspect_hardware  inspect
//	deploy.erase_devices      provide, and the cleaning after deleted
//	deploy.deploy             active, rebuild
//	deploy.tear_down          deleted
//	deploy.take_over          adopt
//	rescue.rescue             rescue
//	rescue.unrescue           unrescue
//	read power                what comes before a power request
//	power on, power off, ...  a power request
//
// and the operations of manual cleaning and servicing, such as bios.factory_reset.
// Fake-hardware has no steps of automated cleaning. Once Next has been called for
// deploy.erase_devices, which is a step of the agent, the node has that step. An inspection
// that waits can be aborted, as one by the agent; Ironic's fake-hardware refuses the abort.
//
// The operation takes as long as f and fails with its error. The context of f ends at the latest
// with the test. A step for which f returns [conductor.ErrWait] waits for a call-back: the node
// is in a waiting state, such as "wait call-back", until a heartbeat of its agent or
// [conductor.Conductor.Resume].
//
// f runs in another goroutine than the test and must not call FailNow.
func (s *Server) Next(n *conductor.Node, name string, f func(ctx context.Context) error) {
	s.t.Helper()
	if known := s.operations(); !slices.Contains(known, name) {
		s.t.Fatalf("conductortest: there is no operation %q, only %s", name, strings.Join(known, ", "))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := operation{n.UUID, name}
	s.next[key] = append(s.next[key], f)
}

// operations returns the names that Next accepts, sorted.
func (s *Server) operations() []string {
	names := map[string]bool{"verify": true, "read power": true, eraseDevices: true}
	for power := states.PowerOn; power.Target() != states.NoPower; power++ {
		names[power.String()] = true
	}
	for work := range states.AllWorks() {
		for _, step := range s.fake.Steps(&conductor.Node{}, work) {
			names[step.Interface+"."+step.Step] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// before is called before each operation of fake-hardware.
func (s *Server) before(ctx context.Context, n *conductor.Node, name string) error {
	s.mu.Lock()
	key := operation{n.UUID, name}
	queue := s.next[key]
	if len(queue) == 0 {
		s.mu.Unlock()
		return nil
	}
	s.next[key] = queue[1:]
	s.mu.Unlock()
	return queue[0](ctx)
}

// hardware is fake-hardware with inspections that can be aborted, and with the step erase_devices for nodes for which
// Next has named it.
type hardware struct {
	*conductor.Fake
	server *Server
}

const eraseDevices = "deploy.erase_devices"

// Steps implements [conductor.Hardware]. The priority of erase_devices is that in
// ironic_python_agent/hardware.py.
func (h hardware) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	steps := h.Fake.Steps(n, work)
	if work == states.WorkInspect {
		steps[0].Abortable = true
	}
	if work != states.WorkClean || !h.server.erases(n) {
		return steps
	}
	return append(steps, conductor.Step{
		Interface: "deploy", Step: "erase_devices", Priority: 10, Abortable: true,
		Run: func(ctx context.Context, t *conductor.Task) error {
			return h.server.before(ctx, t.Node(), eraseDevices)
		},
	})
}

// erases reports whether a node has the step erase_devices.
func (s *Server) erases(n *conductor.Node) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, named := s.next[operation{n.UUID, eraseDevices}]
	return named
}
