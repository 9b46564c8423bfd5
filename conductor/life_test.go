// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// otherMember is the ID of another live conductor, beta.
const otherMember = "beta's"

// withBeta is a membership with two members: the conductor that joins, and beta.
type withBeta struct{ draining bool }

func (m withBeta) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	self.Draining = m.draining
	return func(yield func([]conductor.Member, error) bool) {
		if yield([]conductor.Member{self, {ID: otherMember, Hostname: "beta"}}, nil) {
			<-ctx.Done()
		}
	}
}

func (withBeta) Holds(string) bool { return true }

func (withBeta) Alive(_ context.Context, id string) (bool, error) { return id == otherMember, nil }

// fleet is a running conductor on a store in memory.
type fleet struct {
	*conductor.Conductor
	t    *testing.T
	ctx  context.Context
	fake *conductor.Fake
	hook atomic.Value // a beforeOperation
	// seen receives the transitions of all nodes.
	seen chan conductor.Transition
}

// beforeOperation is what [conductor.Fake.Before] has.
type beforeOperation func(ctx context.Context, n *conductor.Node, operation string) error

// before makes fake-hardware call a function before each operation from now on. The conductor runs meanwhile.
func (f *fleet) before(operation beforeOperation) { f.hook.Store(operation) }

func (f *fleet) operate(ctx context.Context, n *conductor.Node, operation string) error {
	if operation != "read power" && ctx != f.ctx { // with f.ctx a test is the machine itself
		assert.NoError(f.t, unfenced(ctx), operation)
	}
	if before, _ := f.hook.Load().(beforeOperation); before != nil {
		return before(ctx, n, operation)
	}
	return nil
}

// allocate creates an allocation.
func (f *fleet) allocate(a *conductor.Allocation) (*conductor.Allocation, error) {
	o, err := f.CreateObject(f.ctx, a)
	if err != nil {
		return nil, err
	}
	return o.(*conductor.Allocation), nil
}

// start runs a conductor until the test ends.
func start(t *testing.T, change func(*conductor.Config)) *fleet {
	f := &fleet{t: t, seen: make(chan conductor.Transition, 1000)}
	f.fake = &conductor.Fake{Before: f.operate}
	config := conductor.Config{
		Store: &conductor.Memory{}, Name: "alpha",
		Hardware:        map[string]conductor.Hardware{"fake-hardware": f.fake},
		RequireAgentTLS: new(bool),  // the agents of tests serve http on pipes
		Membership:      withBeta{}, // without the hardware type: all nodes are alpha's
		OnTransition:    func(move conductor.Transition) { f.seen <- move },
	}
	if change != nil {
		change(&config)
	}
	var err error
	f.Conductor, err = conductor.New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	f.ctx = ctx
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	require.NoError(t, f.Ready(ctx))
	return f
}

// node stores a new node in a state.
func (f *fleet) node(state states.State) *conductor.Node {
	n, err := f.CreateNode(f.ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: state})
	require.NoError(f.t, err)
	return n
}

// request requests a provision state at the highest version.
func (f *fleet) request(n *conductor.Node, target string) {
	f.t.Helper()
	require.NoError(f.t, f.Provision(f.ctx, n.UUID, f.provision(target)))
}

func (f *fleet) provision(target string) conductor.ProvisionRequest {
	step := []conductor.StepRequest{{Interface: "bios", Step: "cache_bios_settings"}}
	return conductor.ProvisionRequest{
		Target: target, Version: f.Table().Series().MaxAPIVersion(),
		CleanSteps: step, ServiceSteps: step, RescuePassword: "xyzzy",
	}
}

// settle waits until the conductor has nothing to do, and returns the node.
func (f *fleet) settle(n *conductor.Node) *conductor.Node {
	synctest.Wait()
	n, err := f.Node(f.ctx, n.UUID)
	require.NoError(f.t, err)
	return n
}

func TestALifeFromEnrollToAvailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Enroll)
		for _, step := range []struct {
			target string
			end    states.State
		}{
			{"manage", states.Manageable},
			{"inspect", states.Manageable},
			{"provide", states.Available},
			{"active", states.Active},
			{"rebuild", states.Active},
			{"rescue", states.Rescue},
			{"unrescue", states.Active},
			{"deleted", states.Available},
			{"manage", states.Manageable},
			{"adopt", states.Active},
		} {
			f.request(n, step.target)
			got := f.settle(n)
			require.Equal(t, step.end, got.ProvisionState, "after %s: %s", step.target, got.LastError)
			require.Empty(t, got.Reservation)
			require.Equal(t, states.NoState, got.TargetProvisionState)
			require.Empty(t, got.LastError)
		}
		bubble.Sleep(time.Hour)
	})
}

// leaving is a membership that a conductor takes a second to leave.
type leaving struct {
	withBeta
	left atomic.Bool
}

func (l *leaving) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		l.withBeta.Join(ctx, self)(yield)
		time.Sleep(time.Second)
		l.left.Store(true)
	}
}

func TestRunReturnsAfterTheConductorHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		membership := &leaving{}
		t.Cleanup(func() { require.True(t, membership.left.Load()) }) // after the clean-up of start, which waits for Run
		start(t, func(c *conductor.Config) { c.Membership = membership })
	})
}
