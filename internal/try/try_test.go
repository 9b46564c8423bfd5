// SPDX-License-Identifier: Apache-2.0

package try_test

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/try"
)

func TestACheckEndsAtItsFirstError(t *testing.T) {
	for want, check := range map[string]func(){
		"EOF":             func() { try.OK(io.EOF) },
		"read 7: EOF":     func() { try.OKf(io.EOF, "read %d", 7) },
		"no 7":            func() { try.Failf("no %d", 7) },
		"outer: no 7":     func() { try.Within("outer", func() { try.Failf("no %d", 7) }) },
		"100%: read: EOF": func() { try.Within("100%", func() { try.OKf(io.EOF, "read") }) },
	} {
		err := try.Catch(func() {
			try.OK(nil)
			try.OKf(nil, "read")
			try.Within("inner", func() {})
			require.Equal(t, 7, try.Get(strconv.Atoi("7")))
			check()
			t.Error("the check goes on")
		})
		require.EqualError(t, err, want)
	}
	require.ErrorIs(t, try.Catch(func() { try.Get(7, io.EOF) }), io.EOF)
	require.ErrorIs(t, try.Catch(func() { try.Within("read", func() { try.OK(io.EOF) }) }), io.EOF)
	require.NoError(t, try.Catch(func() {}))
}

func TestFinallyEndsWhatWasBegun(t *testing.T) {
	ends := 0
	end := func(err error) func() error { return func() error { ends++; return err } }
	require.NoError(t, try.Catch(func() { defer try.Finally(end(nil)) }))
	require.EqualError(t, try.Catch(func() { defer try.Finally(end(io.EOF)) }), "EOF")
	require.EqualError(t, try.Catch(func() {
		defer try.Finally(end(io.EOF))
		try.Failf("first")
	}), "first\nEOF")
	require.PanicsWithValue(t, "other", func() {
		defer try.Finally(end(io.EOF))
		panic("other")
	})
	require.Equal(t, 4, ends)
}

// A test that calls FailNow in a script ends its goroutine.
func TestFinallyEndsWhatWasBegunBeforeAGoroutineEnds(t *testing.T) {
	for _, failure := range []error{nil, io.EOF} {
		var events []string
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { events = append(events, fmt.Sprint("then ", recover())) }()
			_ = try.Catch(func() {
				defer try.Finally(func() error { events = append(events, "end"); return failure })
				runtime.Goexit()
			})
			events = append(events, "the goroutine goes on")
		}()
		<-ended
		require.Equal(t, []string{"end", "then <nil>"}, events)
	}
}

func TestAPanicOfOtherCodeGoesOn(t *testing.T) {
	require.PanicsWithValue(t, "other", func() { _ = try.Catch(func() { panic("other") }) })
}
