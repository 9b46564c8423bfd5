// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ironstate/ironstate/internal/needs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const startTimeout = 2 * time.Minute

// start starts an Ironic that is closed at the end of the test.
func start(t *testing.T, options Options) *Ironic {
	t.Helper()
	needs.Time(t)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	i, err := Start(ctx, options)
	installed(t, err)
	t.Cleanup(func() { require.NoError(t, i.Close()) })
	return i
}

// serve starts ironstate's conductor behind its API. Both are closed at the end of the test.
func serve(t *testing.T) *service {
	t.Helper()
	s, err := startService(t.Context())
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// installed skips the test, or fails it in CI, if the error says that a program is missing. Any
// other error fails the test.
func installed(t *testing.T, err error) {
	t.Helper()
	needs.Installed(t, !errors.Is(err, ErrNotInstalled), fmt.Sprint(err))
	require.NoError(t, err)
}

// requireSame requires that the differences are exactly the intended ones.
func requireSame(t *testing.T, c Comparison, err error) {
	t.Helper()
	installed(t, err)
	t.Logf("%s: %d compared", c.Name, c.Compared)
	require.Positive(t, c.Compared)
	require.Empty(t, c.Unexpected())
	require.Empty(t, c.OutOfDate(), "OnPurpose is out of date")
}
