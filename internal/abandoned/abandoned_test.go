// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package abandoned

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// hang makes a call with the key "a" that does not return before the channel is closed, and returns its error.
func hang(calls *Calls[string], due time.Time, release chan struct{}) error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := DoUntil(ended, calls, "a", due, 0, func(context.Context) (int, error) { <-release; return 0, nil })
	return err
}

func TestACallIsLeftUntilItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls Calls[string]
		require.NoError(t, calls.Left("a"))
		first, second := make(chan struct{}), make(chan struct{})
		one, other := hang(&calls, time.Time{}, first), hang(&calls, time.Time{}, second)
		require.ErrorAs(t, one, new(*boundedcall.AbandonedError))
		require.Same(t, one, calls.Left("a"))
		require.NoError(t, calls.Left("b"))
		close(first)
		synctest.Wait()
		require.Same(t, other, calls.Left("a"), "two calls at once")
		close(second)
		synctest.Wait()
		require.NoError(t, calls.Left("a"))
	})
}

func TestACallThatHasReturnedLeavesNoEntryAlsoIfNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls Calls[string]
		release := make(chan struct{})
		_, _ = hang(&calls, time.Time{}, release), hang(&calls, time.Time{}, release)
		require.Len(t, calls.left["a"], 2)
		close(release)
		synctest.Wait()
		require.Empty(t, calls.left)
	})
}

func TestACallIsLeftFromTheTimeOnAtWhichItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls Calls[string]
		release, due := make(chan struct{}), time.Now().Add(2*time.Second)
		_ = hang(&calls, due.Add(time.Second), release)
		late := hang(&calls, due, release)
		bubble.Sleep(time.Second)
		require.NoError(t, calls.Left("a"))
		bubble.Sleep(time.Second)
		require.Same(t, late, calls.Left("a"))
		close(release)
		synctest.Wait()
		require.NoError(t, calls.Left("a"))
	})
}

func TestACallThatReturnsInTimeIsNotLeft(t *testing.T) {
	inner := &boundedcall.AbandonedError{Err: context.DeadlineExceeded}
	for name, f := range map[string]func() error{
		"without an error": func() error { return nil },
		"with an error":    func() error { return errors.New("no answer") },
		"with a panic":     func() error { panic("no answer") },
		"with the error of another call that it has made": func() error { return inner },
		"with an error that wraps another call's":         func() error { return fmt.Errorf("set the power: %w", inner) },
	} {
		var calls Calls[int]
		_, err := Do(t.Context(), &calls, 1, 0, func(context.Context) (int, error) { return 7, f() })
		require.Equal(t, name == "without an error", err == nil, name)
		require.NoError(t, calls.Left(1), name)
	}
}

func TestAnyGoroutineMayCallAndAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls Calls[string]
		release := make(chan struct{})
		defer close(release)
		failed := make(chan error)
		go func() { failed <- hang(&calls, time.Time{}, release) }()
		_ = calls.Left("a")
		require.Same(t, <-failed, calls.Left("a"))
	})
}
