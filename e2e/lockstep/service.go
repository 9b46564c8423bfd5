// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Service is ironstate's conductor behind its API, on loopback. Make it with [Serve] and Close it.
type Service struct {
	Endpoint string // the address of the API, without a path or a slash at the end
	Close    func() // ends the conductor and the API

	conductor *conductor.Conductor
}

// Serve starts a conductor that has the name of Ironic's, no power sync, and answers at once that a node is locked. It
// returns once the conductor is ready; ctx bounds that only.
func Serve(ctx context.Context, config conductor.Config) (*Service, error) {
	config.Name, config.SkipPowerSync, config.LockedRetries, config.ShutdownTimeout = HostName, true, -1, time.Second
	c, err := conductor.New(config)
	if err != nil {
		return nil, err
	}
	run, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(run) }() // its error is the context's
	server := httptest.NewServer(api.New(c, api.Config{}))
	s := &Service{server.URL, func() { server.Close(); cancel(); <-done }, c}
	if err := c.Ready(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// scripted is a [Service] whose work ends as the test says. It gets the same HTTP requests as Ironic.
type scripted struct {
	*Service
	Client *Client

	series states.Series
	store  conductor.Store

	mu    sync.Mutex
	moves map[string][]states.State // new states since the last takeMoves, by UUID
	last  map[string]conductor.TransitionRecord
}

// checkInterval is short, so that the conductor soon finds a wait that has timed out.
const checkInterval = 20 * time.Millisecond

// startScripted starts a conductor, which must be closed.
func startScripted(ctx context.Context, series states.Series) *scripted {
	return startMember(ctx, series, withSomebody{})
}

// startWithoutWork starts a conductor whose API accepts requests, and which does no work. It must be closed.
func startWithoutWork(ctx context.Context, series states.Series) *scripted {
	return startMember(ctx, series, withSomebody{drains: true})
}

func startMember(ctx context.Context, series states.Series, members withSomebody) *scripted {
	s := &scripted{
		series: series, store: &conductor.Memory{},
		moves: map[string][]states.State{}, last: map[string]conductor.TransitionRecord{},
	}
	s.Service = try.Get(Serve(ctx, conductor.Config{
		OnTransition: s.moved,
		Store:        s.store, Table: series.Table(),
		Hardware:      map[string]conductor.Hardware{"fake-hardware": &scriptedHardware{conductor.Fake{Series: series}}},
		CheckInterval: checkInterval, Membership: members, MaxDeploying: math.MaxInt, MaxCleaning: math.MaxInt,
	}))
	s.Client = newClient(s.Endpoint)
	return s
}

// somebody is another conductor, without hardware types, that holds reservations.
const somebody = "somebody"

// withSomebody is the membership of the service's conductor and of somebody.
type withSomebody struct{ drains bool }

func (m withSomebody) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	self.Draining = m.drains
	return func(yield func([]conductor.Member, error) bool) {
		if yield([]conductor.Member{self, {ID: somebody, Hostname: somebody}}, nil) {
			<-ctx.Done()
		}
	}
}

func (withSomebody) Holds(string) bool { return true }

func (withSomebody) Alive(_ context.Context, id string) (bool, error) { return id == somebody, nil }

// moved records a transition.
func (s *scripted) moved(t conductor.Transition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moves[t.Node.UUID] = append(s.moves[t.Node.UUID], t.To)
	s.last[t.Node.UUID] = t.TransitionRecord
}

// toldAll reports whether all transitions of a node were recorded.
func (s *scripted) toldAll(n *conductor.Node) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(n.Transitions) == 0 || s.last[n.UUID] == n.Transitions[len(n.Transitions)-1]
}

// takeMoves returns the new states of a node since the last call.
func (s *scripted) takeMoves(uuid string) []states.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	moves := s.moves[uuid]
	delete(s.moves, uuid)
	return moves
}

// Close ends the service.
func (s *scripted) Close() {
	s.Client.close()
	s.Service.Close()
}

// newNode creates a node as [Ironic.newNode] does, with the same UUID.
func (s *scripted) newNode(ctx context.Context, uuid string) {
	try.Get(s.conductor.CreateNode(ctx, nodeOf(&conductor.Node{UUID: uuid, ProvisionState: states.Enroll})))
}

// lose creates a node as its holder left it, which has died.
func (s *scripted) lose(ctx context.Context, uuid string, n lostNode) {
	try.Get(s.conductor.CreateNode(ctx, nodeOf(&conductor.Node{
		UUID: uuid, ProvisionState: n.State, TargetProvisionState: n.Target, TargetPower: n.power,
		Reservation: n.holder, Claim: "a process that has died",
	})))
}

// nodeOf completes a node with the fields that all have.
func nodeOf(n *conductor.Node) *conductor.Node {
	n.Driver, n.InstanceInfo = "fake-hardware", withImage()
	n.Interfaces = map[string]string{
		"power": driverName, "deploy": driverName, "inspect": driverName, "rescue": driverName, "vendor": driverName,
	}
	return n
}

func withImage() map[string]any { return map[string]any{"image_source": image} }

// forget removes a record from the store, if it is there.
func (s *scripted) forget(ctx context.Context, kind conductor.Kind, uuid string) error {
	r, err := s.store.Get(ctx, kind, uuid)
	if errors.Is(err, conductor.NotFound) {
		return nil
	}
	if err == nil {
		_, err = s.store.Delete(ctx, kind, uuid, r.Revision)
	}
	return err
}

// put sets the state, target and last error of a node, and removes all traces of earlier
// work. The conductor lets no client set the state: put writes it to the store. The update that follows reads it there.
func (s *scripted) put(ctx context.Context, uuid string, at machine.Node) {
	r := try.Get(s.store.Get(ctx, conductor.KindNode, uuid))
	var n map[string]any
	try.OK(json.Unmarshal(r.Value, &n))
	n["provision_state"], n["target_provision_state"] = at.State, at.Target
	r.Value = try.Get(json.Marshal(n))
	try.Get(s.store.Update(ctx, r))
	s.update(ctx, uuid, func(n *conductor.Node) {
		n.LastError = at.LastError
		n.Maintenance, n.MaintenanceReason, n.Fault = false, "", ""
		n.CleanSteps, n.DeploySteps, n.ServiceSteps, n.OtherSteps = nil, nil, nil, nil
		n.DriverInternalInfo, n.Agent, n.InstanceInfo, n.InstanceUUID = nil, conductor.AgentInfo{}, withImage(), ""
	})
}

// update changes a node.
func (s *scripted) update(ctx context.Context, uuid string, change func(*conductor.Node)) {
	try.Get(s.conductor.UpdateNode(ctx, uuid, func(n *conductor.Node) error { change(n); return nil }))
}

// call is the call-back for which a node waits. It ends an inspection or a rescue by
// another service.
func (s *scripted) call(ctx context.Context, uuid string, outcome Outcome) error {
	n, err := s.conductor.Node(ctx, uuid)
	if err != nil {
		return err
	}
	var failure error
	if n.ProvisionState == states.InspectWait && outcome == Fail {
		failure = errScripted
	}
	return s.conductor.Resume(ctx, uuid, failure)
}

// settle waits until a node is not reserved and has no work, and its transitions were recorded.
func (s *scripted) settle(ctx context.Context, uuid string) {
	await(ctx, time.Millisecond, func() (*conductor.Node, bool) {
		n := try.Get(s.conductor.Node(ctx, uuid))
		return n, n.Reservation == "" && !s.series.Table().Stuck().Has(n.ProvisionState) && s.toldAll(n)
	})
}

// scriptedHardware is the counterpart of python/driver.py: hardware whose work has the outcome in
// the node's extra.
type scriptedHardware struct{ conductor.Fake }

var errScripted = errors.New("fails by order")

// outcome returns the result of a piece of work.
func (h *scriptedHardware) outcome(n *conductor.Node, canWait bool) error {
	switch ordered, _ := n.Extra["outcome"].(string); {
	case ordered == string(Fail):
		return errScripted
	case ordered == string(Wait) && canWait:
		return conductor.ErrWait
	default:
		return nil
	}
}

// Describe implements [conductor.Hardware].
func (h *scriptedHardware) Describe() conductor.Description {
	d := h.Fake.Describe()
	for _, kind := range []string{"power", "deploy", "inspect", "rescue", "vendor"} {
		d.Interfaces[kind] = append(d.Interfaces[kind], driverName)
	}
	return d
}

// Verify implements [conductor.Hardware].
func (h *scriptedHardware) Verify(_ context.Context, n *conductor.Node) (states.Power, error) {
	return states.PowerOn, h.outcome(n, false)
}

// scriptedSteps are the steps of each work. A step with a "!" can wait.
var scriptedSteps = map[states.Work][]string{
	states.WorkInspect:  {"inspect.inspect_hardware!"},
	states.WorkClean:    {"deploy.clean!", "deploy.finish_clean"},
	states.WorkDeploy:   {"deploy.deploy!", "deploy.finish_deploy"},
	states.WorkDelete:   {"deploy.tear_down"},
	states.WorkRescue:   {"rescue.rescue!", "rescue.finish_rescue"},
	states.WorkUnrescue: {"rescue.unrescue"},
	states.WorkAdopt:    {"deploy.take_over"},
	states.WorkService:  {"deploy.service!", "deploy.finish_service"},
}

// Steps implements [conductor.Hardware].
func (h *scriptedHardware) Steps(_ *conductor.Node, work states.Work) []conductor.Step {
	var steps []conductor.Step
	for i, name := range scriptedSteps[work] {
		name, canWait := strings.CutSuffix(name, "!")
		kind, step, _ := strings.Cut(name, ".")
		abortable := work == states.WorkClean || work == states.WorkService || work == states.WorkInspect ||
			work == states.WorkDeploy && h.Series >= states.Gazpacho // by default there
		steps = append(steps, conductor.Step{
			Interface: kind, Step: step, Priority: 100 - 50*i, Abortable: abortable,
			Run: func(_ context.Context, t *conductor.Task) error { return h.outcome(t.Node(), canWait) },
		})
	}
	return steps
}
