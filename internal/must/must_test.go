// SPDX-License-Identifier: Apache-2.0

package must_test

import (
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/must"
)

func TestACheckEndsAtItsFirstError(t *testing.T) {
	for want, check := range map[string]func(){
		"EOF":             func() { must.OK(io.EOF) },
		"read 7: EOF":     func() { must.OKf(io.EOF, "read %d", 7) },
		"no 7":            func() { must.Failf("no %d", 7) },
		"outer: no 7":     func() { must.Within("outer", func() { must.Failf("no %d", 7) }) },
		"100%: read: EOF": func() { must.Within("100%", func() { must.OKf(io.EOF, "read") }) },
	} {
		err := must.Catch(func() {
			must.OK(nil)
			must.OKf(nil, "read")
			must.Within("inner", func() {})
			require.Equal(t, 7, must.Get(strconv.Atoi("7")))
			check()
			t.Error("the check goes on")
		})
		require.EqualError(t, err, want)
	}
	require.ErrorIs(t, must.Catch(func() { must.Get(7, io.EOF) }), io.EOF)
	require.ErrorIs(t, must.Catch(func() { must.Within("read", func() { must.OK(io.EOF) }) }), io.EOF)
	require.NoError(t, must.Catch(func() {}))
}

func TestFinallyEndsWhatWasBegun(t *testing.T) {
	ends := 0
	end := func(err error) func() error { return func() error { ends++; return err } }
	require.NoError(t, must.Catch(func() { defer must.Finally(end(nil)) }))
	require.EqualError(t, must.Catch(func() { defer must.Finally(end(io.EOF)) }), "EOF")
	require.EqualError(t, must.Catch(func() {
		defer must.Finally(end(io.EOF))
		must.Failf("first")
	}), "first\nEOF")
	require.PanicsWithValue(t, "other", func() {
		defer must.Finally(end(io.EOF))
		panic("other")
	})
	require.Equal(t, 4, ends)
}

func TestAPanicOfOtherCodeGoesOn(t *testing.T) {
	require.PanicsWithValue(t, "other", func() { _ = must.Catch(func() { panic("other") }) })
}
