// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// begin starts a fleet of some flags, which ends with the test.
func begin(t *testing.T, args ...string) *fleet {
	t.Helper()
	o, err := parse(args, io.Discard)
	require.NoError(t, err)
	f, err := start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.close()) })
	return f
}
