// SPDX-License-Identifier: Apache-2.0

package abandoned_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/internal/abandoned"
	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/bubble"
)

// hang makes a call that does not return before the channel is closed, and returns its error.
func hang(release chan struct{}) error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := boundedcall.Do(ended, 0, func(context.Context) (int, error) { <-release; return 0, nil })
	return err
}

func TestACallIsLeftUntilItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls abandoned.Calls[string]
		require.Nil(t, calls.Left("a"))
		first, second := make(chan struct{}), make(chan struct{})
		one, other := hang(first), hang(second)
		require.True(t, calls.Note("a", fmt.Errorf("ask: %w", one)))
		require.True(t, calls.Note("a", other), "two calls at once")
		require.Equal(t, one, calls.Left("a"))
		require.Nil(t, calls.Left("b"))
		close(first)
		synctest.Wait()
		require.Equal(t, other, calls.Left("a"))
		close(second)
		synctest.Wait()
		require.Nil(t, calls.Left("a"))
		require.Nil(t, calls.Left("a"))
	})
}

func TestACallIsLeftFromTheTimeOnAtWhichItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls abandoned.Calls[string]
		release, due := make(chan struct{}), time.Now().Add(2*time.Second)
		late, later := hang(release), hang(release)
		require.True(t, calls.NoteFrom("a", later, due.Add(time.Second)))
		require.True(t, calls.NoteFrom("a", late, due))
		bubble.Sleep(time.Second)
		require.Nil(t, calls.Left("a"))
		bubble.Sleep(time.Second)
		require.Equal(t, late, calls.Left("a"))
		close(release)
		synctest.Wait()
		require.Nil(t, calls.Left("a"))
	})
}

func TestACallThatHasReturnedIsNotNoted(t *testing.T) {
	var calls abandoned.Calls[int]
	for _, err := range []error{nil, errors.New("no answer"), context.DeadlineExceeded, &boundedcall.PanicError{}} {
		require.False(t, calls.Note(1, err), err)
		require.Nil(t, calls.Left(1), err)
	}
}

func TestAnyGoroutineMayNoteAndAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls abandoned.Calls[int]
		release := make(chan struct{})
		defer close(release)
		err, noted := hang(release), make(chan bool)
		go func() { noted <- calls.Note(1, err) }()
		calls.Left(1)
		require.True(t, <-noted)
		require.Equal(t, err, calls.Left(1))
	})
}
