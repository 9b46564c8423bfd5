// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/schedules"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// scheduleRun is one run of the conductors of a scenario by one schedule, in a bubble of synctest. Every goroutine
// stops at its call of the store, the membership or the hardware until a choice of the schedule lets it go on.
type scheduleRun struct {
	*promiseChecks
	schedules.Failures
	t         *testing.T
	scenario  scenario
	broken    assumptions
	processes []*scheduleProcess
	retired   []*scheduleProcess // that have died, and started again
	clients   []*scheduleClient
	closed    chan struct{} // at the end of the run
	news      chan struct{} // a call has come or gone, while time passes
	group     sync.WaitGroup
	over      bool // nothing is left that could happen
	faults    int  // that may still happen
	quiet     int  // how often time has passed since the last write or fault

	agent   *scheduleAgent // nil for none
	records scheduleRecords
	members map[string]conductor.Member
	power   states.Power

	direct  sync.Mutex // held during a call that does not wait
	mu      sync.Mutex
	pending []*scheduleCall
	access  schedules.Access  // of the choice that is carried out: kinds of records, "members", "machine", "process alpha", "faults"
	result  string            // of the call that it lets go
	drawer  string            // whose choice it is
	drawn   map[string]uint64 // how many random bytes each has drawn
	names   map[string]string // of random UUIDs
	named   map[conductor.Kind]int
}

// scheduleCall is a call that waits.
type scheduleCall struct {
	by       *scheduleProcess
	name     string // for people
	object   string // which it reads or writes
	kind     conductor.Kind
	argument conductor.Record // of a write
	writes   bool             // it changes something: its answer may be lost, and its caller may give up while it is on its way
	do       func() (result string, err error)
	past     func() (result string, err error) // of a read: what do returns, of the first version
	lose     func() (result string, err error) // do, for an answer that is lost later; nil if the call itself fails then
	answer   chan error
	left     bool // the caller has given up
}

func (s *scheduleRun) touch(object string, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access.Touch(object, write)
}

// publish makes what the caller has written visible to the goroutines that it does not wake itself, since time does,
// and shows the caller what they have written.
func (s *scheduleRun) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

func (s *scheduleRun) notify() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// scheduleProcess is a process with a conductor.
type scheduleProcess struct {
	*scheduleRun
	name      string
	conductor *conductor.Conductor
	kill      context.CancelFunc
	dead      bool
	session   *scheduleSession
	history   uint64 // a hash of what the process has seen since it was idle
	seen      string // its local state after the last choice
}

// scheduleSession is a membership of a process.
type scheduleSession struct {
	self  conductor.Member
	heard []conductor.Member
	news  chan []conductor.Member
	lost  chan struct{}
}

// pointed reports whether the calls for a kind of record wait. The others, which are for the history and for objects
// that the scenarios lack, are done at once.
func pointed(kind conductor.Kind) bool {
	return kind == conductor.KindNode || kind == conductor.KindAllocation || kind == "calls" || kind == ""
}

// call makes a call wait until a choice lets it go, its context ends or the run does.
func (p *scheduleProcess) call(ctx context.Context, c *scheduleCall) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.publish()
	if !pointed(c.kind) {
		p.direct.Lock()
		defer p.direct.Unlock()
		_, err := c.do()
		return err
	}
	c.by, c.answer = p, make(chan error)
	p.mu.Lock()
	p.pending = append(p.pending, c)
	dead := p.dead
	p.mu.Unlock()
	p.notify()
	done := ctx.Done()
	if dead {
		done = nil
	}
	select {
	case err := <-c.answer:
		return err
	case <-p.closed:
		return errCut
	case <-done:
	}
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		<-p.closed
		return errCut
	}
	c.left = true
	p.pending = slices.DeleteFunc(p.pending, func(other *scheduleCall) bool { return other == c && !c.writes })
	p.mu.Unlock()
	p.notify()
	return ctx.Err()
}

// Read draws the bytes of UUIDs. They depend on whose choice it is and how many that one has drawn, and not on the
// order of the choices of several processes.
func (s *scheduleRun) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range b {
		s.drawn[s.drawer]++
		b[i] = byte(xxhash.Sum64String(fmt.Sprint(s.drawer, s.drawn[s.drawer])))
	}
	return len(b), nil
}

// startSchedule starts the conductors of a scenario, and lets them go until they wait for something.
func startSchedule(t *testing.T, sc scenario, broken assumptions) *scheduleRun {
	s := &scheduleRun{
		t: t, scenario: sc, broken: broken, closed: make(chan struct{}), news: make(chan struct{}, 1), faults: sc.faults, power: states.PowerOff,
		members: map[string]conductor.Member{}, names: map[string]string{scheduleNode: "node"}, named: map[conductor.Kind]int{},
		access: schedules.Access{}, drawn: map[string]uint64{},
		records: scheduleRecords{
			kinds: map[conductor.Kind]map[string]conductor.Record{}, writes: map[string]int64{},
			first: map[string]conductor.Record{}, texts: map[string]string{},
		},
	}
	uuid.SetRand(s)
	s.promiseChecks = newPromiseChecks(s.Fail, func(string, ...any) {}, s.isMember)
	n := sc.node
	if n.Interfaces["deploy"] == "direct" {
		s.startAgent()
	}
	n.UUID, n.Name, n.Driver, n.CreatedAt, n.Power = scheduleNode, "1", "fake-hardware", time.Now().UTC(), cmp.Or(n.Power, states.PowerOff)
	r, err := conductor.EncodeNode(&n)
	require.NoError(t, err)
	_, err = s.records.put(r, false)
	require.NoError(t, err)
	for _, name := range []string{"alpha", "beta", "gamma"}[:sc.conductors] {
		p := &scheduleProcess{scheduleRun: s, name: name}
		s.processes = append(s.processes, p)
		p.start()
	}
	for _, c := range sc.clients {
		s.clients = append(s.clients, &scheduleClient{scheduleRequest: c})
	}
	for s.settle(""); ; {
		choices := slices.DeleteFunc(s.free(), func(c schedules.Choice) bool { return c.Idle })
		if len(choices) == 0 {
			return s
		}
		s.Apply(choices[0])
	}
}

func (p *scheduleProcess) start() {
	types := map[string]conductor.Hardware{"fake-hardware": scheduleHardware{&conductor.Fake{Before: p.operate}, p}}
	if p.scenario.lacking == p.name {
		types = map[string]conductor.Hardware{"other": types["fake-hardware"]}
	}
	c, err := conductor.New(conductor.Config{
		Store: scheduleStore{p}, Membership: scheduleMembership{p}, Name: p.name, Hardware: types, SkipPowerSync: !p.scenario.powerSync,
		Agent:           agent.Config{Dial: p.dial},
		RequireAgentTLS: new(bool),
		ShutdownTimeout: 1, LockedRetries: 1, MaxTransitions: simTransitions,
		Timeouts: &machine.Timeouts{Deploy: waitTimeout, Clean: waitTimeout, Inspect: waitTimeout, Rescue: waitTimeout, Service: waitTimeout},
	})
	require.NoError(p.t, err)
	ctx, kill := context.WithCancel(context.Background())
	p.conductor, p.kill = c, kill
	p.group.Go(func() { _ = c.Run(ctx) })
}

// Close ends all goroutines of the run.
func (s *scheduleRun) Close() {
	defer uuid.SetRand(nil)
	s.publish()
	close(s.closed)
	for _, p := range append(s.retired, s.processes...) {
		p.kill()
	}
	ended := make(chan struct{})
	go func() { s.group.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Hour):
		s.t.Fatal("a process does not end: a worker is busy for ever")
	}
}

// Over reports whether nothing is left that could happen.
func (s *scheduleRun) Over() bool { return s.over }

func (s *scheduleRun) isMember(id string) bool {
	s.touch("members", false)
	_, ok := s.members[id]
	return ok
}

// errHardware is the failure of an operation that was not done.
var errHardware = errors.New("the hardware fails")
