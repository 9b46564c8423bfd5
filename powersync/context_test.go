//go:build go1.25

package powersync_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
)

type contextKey struct{}

// callOf does a round of one node, whose driver call waits while during looks at
// its context. It returns the context when the round is over.
func callOf(t *testing.T, round context.Context, timeout time.Duration, during func(context.Context)) context.Context {
	t.Helper()
	calls, over := make(chan context.Context), make(chan struct{})
	h := newHardware(isOn)
	h.onRead = func(ctx context.Context, _ string) {
		calls <- ctx
		<-over
	}
	hall := newHall(t, h, nodes(node(isOn)), func(c *powersync.Config) { c.Timeout = timeout })
	var rounds sync.WaitGroup
	rounds.Go(func() { _, _ = hall.Sync(round) })
	call := <-calls
	func() {
		defer rounds.Wait()
		defer close(over)
		during(call)
	}()
	return call
}

func TestCallContextHasTheTimeoutAsDeadline(t *testing.T) {
	const timeout = time.Minute
	before := time.Now()
	callOf(t, t.Context(), timeout, func(ctx context.Context) {
		deadline, ok := ctx.Deadline()
		require.True(t, ok)
		require.WithinRange(t, deadline, before.Add(timeout), time.Now().Add(timeout))
	})
}

func TestCallContextHasTheRoundsDeadlineWhereThatIsEarlier(t *testing.T) {
	round, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want, _ := round.Deadline()
	callOf(t, round, time.Hour, func(ctx context.Context) {
		deadline, _ := ctx.Deadline()
		require.Equal(t, want, deadline)
	})
}

func TestCallContextHasTheRoundsValues(t *testing.T) {
	round := context.WithValue(t.Context(), contextKey{}, "round")
	callOf(t, round, time.Minute, func(ctx context.Context) {
		require.Equal(t, "round", ctx.Value(contextKey{}))
		require.NoError(t, ctx.Err())
	})
}

func TestCallContextEndsWithTheCall(t *testing.T) {
	var child context.Context
	call := callOf(t, t.Context(), time.Minute, func(ctx context.Context) {
		var cancel context.CancelFunc
		child, cancel = context.WithCancel(ctx)
		context.AfterFunc(ctx, cancel)
	})
	<-call.Done()
	<-child.Done()
	require.ErrorIs(t, call.Err(), context.Canceled)
	require.ErrorIs(t, child.Err(), context.Canceled)
}

func TestCallContextThatNobodyAskedHasEndedToo(t *testing.T) {
	call := callOf(t, t.Context(), time.Minute, func(context.Context) {})
	<-call.Done()
	require.ErrorIs(t, call.Err(), context.Canceled)
}

func TestCallContextEndsAtItsDeadline(t *testing.T) {
	callOf(t, t.Context(), 10*time.Millisecond, func(ctx context.Context) {
		<-ctx.Done()
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		require.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
	})
}

func TestCallContextEndsWithTheRound(t *testing.T) {
	round, cancel := context.WithCancel(t.Context())
	callOf(t, round, time.Minute, func(ctx context.Context) {
		cancel()
		<-ctx.Done()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
	})
}
