// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) {
	// The HTTP library of Ironic prefers these to the redfish_verify_ca of a node.
	for _, name := range []string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		_ = os.Unsetenv(name)
	}
	leaks.Main(m)
}

// start starts an Ironic that is closed at the end of the test.
func start(t *testing.T, options Options) *Ironic {
	t.Helper()
	needs.Time(t)
	needs.Turn(t)
	i, err := Start(t.Context(), options)
	installed(t, err)
	t.Cleanup(func() { require.NoError(t, i.Close()) })
	return i
}

// until polls until the condition is true. The end of a process that is no child of this one announces itself to
// nobody.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	for !condition() {
		require.NoError(t, t.Context().Err())
		time.Sleep(10 * time.Millisecond)
	}
}

// serve starts ironstate's conductor behind its API. Both are closed at the end of the test.
func serve(t *testing.T, series states.Series) *scripted {
	t.Helper()
	s := startScripted(t.Context(), series)
	t.Cleanup(s.Close)
	return s
}

// installed fails the test if the error says that a program is missing. Any
// other error fails the test.
func installed(t *testing.T, err error) {
	t.Helper()
	needs.Installed(t, !errors.Is(err, ErrNotInstalled), fmt.Sprint(err))
	require.NoError(t, err)
}

// requireSame requires that the differences are exactly the intended ones.
func requireSame(t *testing.T, series states.Series, c Comparison, err error) {
	t.Helper()
	installed(t, err)
	t.Logf("%s: %d compared", c.Name, c.Compared)
	require.Positive(t, c.Compared)
	require.Empty(t, c.Unexpected(series))
	require.Empty(t, c.OutOfDate(series), "OnPurpose is out of date")
}

// requireAllSame makes comparisons on an Ironic and requires that the differences are exactly the intended ones.
func requireAllSame(t *testing.T, i *Ironic, compares ...compare) {
	t.Helper()
	for _, compare := range compares {
		began := time.Now()
		c, err := compare(t.Context(), i)
		requireSame(t, i.Series, c, err)
		t.Logf("in %v", time.Since(began))
	}
}
