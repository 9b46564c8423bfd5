// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package boundedcall_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const grace = 2 * time.Second

var errNo = errors.New("no")

func TestDoReturnsTheResultsOfTheCall(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, 7)
	value, err := boundedcall.Do(ctx, grace, func(ctx context.Context) (int, error) { return ctx.Value(key{}).(int), errNo })
	require.Equal(t, 7, value)
	require.Equal(t, errNo, err)
}

func TestAPanicIsAnErrorWithoutItsValue(t *testing.T) {
	var nothing []int
	for name, test := range map[string]struct {
		f    func()
		text string
	}{
		"of the caller's value": {func() { panic("hunter2") }, "panic with a value of type string"},
		"of the runtime":        {func() { nothing[0] = 1 }, "panic: runtime error: index out of range [0] with length 0"},
		"of nil":                {func() { panic(nil) }, "panic: panic called with nil argument"},
		"that is none":          {runtime.Goexit, "the call ended its goroutine"},
	} {
		value, err := boundedcall.Do(t.Context(), grace, func(context.Context) (int, error) {
			test.f()
			return 1, nil
		})
		require.Zero(t, value, name)
		var panicked *boundedcall.PanicError
		require.ErrorAs(t, err, &panicked, name)
		require.EqualError(t, err, test.text, name)
		require.Equal(t, panicked.Value == nil, panicked.Stack == nil, name)
	}
}

func TestACallHasAGraceOnceItsContextEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		value, err := boundedcall.Do(ctx, grace, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			time.Sleep(grace / 2)
			return 3, ctx.Err()
		})
		require.Equal(t, 3, value)
		require.Equal(t, context.DeadlineExceeded, err)
		require.Equal(t, time.Minute+grace/2, time.Since(start))
	})
}

func TestACallThatDoesNotReturnIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		let := make(chan struct{})
		time.AfterFunc(time.Minute, cancel)
		start := time.Now()
		value, err := boundedcall.Do(ctx, grace, func(context.Context) (int, error) {
			<-let
			return 3, nil
		})
		require.Zero(t, value)
		require.Equal(t, time.Minute+grace, time.Since(start))
		require.ErrorIs(t, err, context.Canceled)
		var abandoned *boundedcall.AbandonedError
		require.ErrorAs(t, err, &abandoned)
		require.EqualError(t, err, "the call does not return: context canceled")
		close(let)
	})
}
