package conductortest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// operation is something that is done to a node.
type operation struct{ nodeUUID, name string }

// Next says how the next operation of that name goes on a node, and may be called
// several times for those after it. The names are
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
// and those of the steps of manual cleaning and service, such as
// bios.factory_reset. Fake-hardware has no steps of automated cleaning: a node has
// erase_devices, which is the agent's, once Next has named it.
//
// The operation takes as long as f, whose context ends with the test, and fails with
// its error. A step for which f returns [conductor.ErrWait] waits for a call-back:
// the node is then in a waiting state, such as "wait call-back", until a heartbeat of its
// agent or [conductor.Conductor.Resume].
//
// f runs on another goroutine than the test: it must not fail the test itself.
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

// operations returns the names that Next takes, sorted.
func (s *Server) operations() []string {
	names := map[string]bool{"verify": true, "read power": true, eraseDevices: true}
	for power := states.PowerOn; power.Target() != states.NoPower; power++ {
		names[power.String()] = true
	}
	for state := range states.AllStates() {
		for _, step := range s.fake.Steps(nil, state) {
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

// hardware is fake-hardware, with the step of automated cleaning that Next may name.
type hardware struct {
	*conductor.Fake
	server *Server
}

const eraseDevices = "deploy.erase_devices"

// Steps implements [conductor.Hardware]. The priority of erase_devices is the one that it
// has in ironic_python_agent/hardware.py.
func (h hardware) Steps(n *conductor.Node, work states.State) []conductor.Step {
	steps := h.Fake.Steps(n, work)
	if work != states.Cleaning || !h.server.erases(n) {
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
