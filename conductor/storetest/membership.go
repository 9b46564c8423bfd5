// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/kit"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
)

// Process is a [conductor.Membership] in one process, with the faults that [CheckMembership] injects into that process.
type Process struct {
	conductor.Membership
	// Cut disconnects the process from the others until it is called with false. Without it, for a membership whose
	// members cannot be cut off, the checks of lost memberships are left out.
	Cut func(cut bool)
	// Jump makes the process find that a time has passed in which it did not run, as after a suspension. Without it, the
	// check of a suspended process is left out.
	Jump func(d time.Duration)
}

// CheckMembership checks a membership without members and returns an error that lists each promise that it breaks, or
// nil. The faults are injected into a; b is another process, or a itself in a membership within one process. A member
// that is cut off has left for the others about one lease later. CheckMembership takes about 20 leases. It ends at the
// first promise that is broken after that time, and after more than a minute, as by a method that does not return. The
// error says so.
func CheckMembership(lease time.Duration, a, b Process) error {
	var all []kit.Promise
	for i, promise := range membershipPromises {
		if promise.needs != nil && !promise.needs(a) {
			continue
		}
		all = append(all, kit.Promise{Name: promise.name, Check: func(ctx context.Context) error {
			c := &membershipTester{a: a, b: b, lease: lease, name: fmt.Sprintf("storetest-%d", i)}
			return c.run(ctx, promise.check)
		}})
	}
	return kit.Check(max(patience, 20*lease), all)
}

var membershipPromises = []struct {
	name  string
	needs func(Process) bool
	check func(*membershipTester, context.Context)
}{
	{"a member joins, and all members see it", nil, (*membershipTester).checkJoin},
	{"a member leaves, and all members see it", nil, (*membershipTester).checkLeave},
	{"Join ends with its context, without an error", nil, (*membershipTester).checkEnded},
	{"a member stays until it leaves, however slow its caller is", nil, (*membershipTester).checkRenewal},
	{"no two members have one name", nil, (*membershipTester).checkName},
	{"of several concurrent joins with one name one succeeds", nil, (*membershipTester).checkNameRace},
	{"Holds is false before the others see a member leave", canBeCut, (*membershipTester).checkCut},
	{"Holds is false in time although the caller of Join is slow", canBeCut, (*membershipTester).checkCutSlow},
	{"the name of a dead member is free once it has left", canBeCut, (*membershipTester).checkNameOfDead},
	{"Holds is false at once after a suspension", canJump, (*membershipTester).checkJump},
}

func canBeCut(p Process) bool { return p.Cut != nil }

func canJump(p Process) bool { return p.Cut != nil && p.Jump != nil }

// membershipTester checks one promise with members whose names begin with name.
type membershipTester struct {
	a, b    Process
	lease   time.Duration
	name    string
	members []*member
}

// run runs a check, and then lets all its members leave.
func (c *membershipTester) run(ctx context.Context, check func(*membershipTester, context.Context)) error {
	err := try.Catch(func() { check(c, ctx) })
	if c.a.Cut != nil {
		err = cmp.Or(err, try.Catch(func() { c.connect(ctx) }))
	}
	for _, m := range c.members {
		m.leave()
		m.open()
	}
	for _, m := range c.members {
		if left := m.end(ctx); err == nil && left != nil && !m.mayFail {
			err = fmt.Errorf("a member that leaves: %w", left)
		}
	}
	return err
}

// connect ends the cut, and waits until the process reaches the others.
func (c *membershipTester) connect(ctx context.Context) {
	c.a.Cut(false)
	c.await(ctx, "Alive answers a process that was cut off before", func() bool {
		_, err := c.a.Alive(ctx, c.self("nobody").ID)
		return err == nil
	})
}

// self returns a new member with a name.
func (c *membershipTester) self(name string) conductor.Member {
	return conductor.Member{
		ID: rand.Text(), Hostname: c.name + "-" + name, Group: "rack1", Drivers: []string{"ipmi", "redfish"}, CreatedAt: time.Unix(1, 0).UTC(),
	}
}

// member is a member in a goroutine.
type member struct {
	conductor.Member
	leave   context.CancelFunc
	open    func()        // lets the caller of Join continue
	over    chan struct{} // closed when the range has ended
	mayFail bool          // the check expects an error of Join

	mu     sync.Mutex
	joined bool
	list   map[string]conductor.Member // the last list, by ID
	err    error
}

// join joins through a process. The caller of Join is slow if slow is true: it does not return from the first list
// until the member is opened.
func (c *membershipTester) join(ctx context.Context, p Process, name string, slow bool) *member {
	ctx, leave := context.WithCancel(ctx)
	gate := make(chan struct{})
	m := &member{Member: c.self(name), leave: leave, open: sync.OnceFunc(func() { close(gate) }), over: make(chan struct{})}
	if !slow {
		m.open()
	}
	c.members = append(c.members, m)
	go func() {
		defer close(m.over)
		if err := guarded(func() {
			for list, err := range p.Join(ctx, m.Member) {
				m.take(list, err)
				<-gate
			}
		}); err != nil {
			m.take(nil, err)
		}
	}()
	return m
}

// take keeps a list. It keeps the first error, and finds a list that breaks a promise.
func (m *member) take(list []conductor.Member, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return
	}
	if m.err = err; err != nil {
		return
	}
	m.joined, m.list = true, make(map[string]conductor.Member)
	names := make(map[string]bool)
	for _, other := range list {
		if names[other.Hostname] {
			m.err = fmt.Errorf("the list has two members with the name %s", other.Hostname)
		}
		names[other.Hostname], m.list[other.ID] = true, other
	}
	if _, ok := m.list[m.ID]; !ok {
		m.err = errors.New("the list lacks the member that has joined")
	}
}

// state returns whether the member has ever joined, its last list, and its error.
func (m *member) state() (joined bool, list map[string]conductor.Member, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.joined, m.list, m.err
}

// ended reports whether the range has ended.
func (m *member) ended() bool {
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

// end waits until the range has ended, and returns the member's error.
func (m *member) end(ctx context.Context) error {
	select {
	case <-m.over:
		_, _, err := m.state()
		return err
	case <-ctx.Done():
		return errors.New("join has not ended")
	}
}

// await calls a function again and again until it reports true. The text says for what it waits.
func (c *membershipTester) await(ctx context.Context, text string, done func() bool) {
	for !done() {
		if !sleep.For(ctx, max(c.lease/200, time.Millisecond)) {
			try.Failf("never happens: %s", text)
		}
	}
}

// sees waits until a member's last list has exactly the wanted members.
func (c *membershipTester) sees(ctx context.Context, m *member, want ...*member) {
	var ids []string
	for _, w := range want {
		ids = append(ids, w.ID)
	}
	slices.Sort(ids)
	c.await(ctx, fmt.Sprintf("the member %s sees %d members", m.Hostname, len(want)), func() bool {
		_, list, err := m.state()
		try.OK(err)
		if m.ended() {
			try.Failf("the range of %s has ended although its context has not", m.Hostname)
		}
		return slices.Equal(ids, slices.Sorted(maps.Keys(list)))
	})
}

// holds waits until a member that has joined through a process certainly is a member.
func (c *membershipTester) holds(ctx context.Context, p Process, m *member) {
	c.await(ctx, "Holds is true for a member that has joined", func() bool { return p.Holds(m.ID) })
}

// alive checks Alive in both processes.
func (c *membershipTester) alive(ctx context.Context, id string, want bool) {
	for _, p := range []Process{c.a, c.b} {
		alive, err := p.Alive(ctx, id)
		try.OKf(err, "alive")
		if alive != want {
			try.Failf("alive is %t, want %t", alive, want)
		}
	}
}

// gone checks that an ID belongs to no member, and remains so.
func (c *membershipTester) gone(ctx context.Context, id string) {
	for range 3 {
		if c.a.Holds(id) || c.b.Holds(id) {
			try.Failf("holds is true for a member that has left")
		}
		try.Within("after a member has left", func() { c.alive(ctx, id, false) })
	}
}

// fields returns a member as text, to compare all its fields.
func fields(m conductor.Member) string {
	text, err := json.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
