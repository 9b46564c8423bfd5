// SPDX-License-Identifier: Apache-2.0

package needs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

// recorder is a testing.TB that records whether it was skipped or failed.
type recorder struct {
	testing.TB
	skipped, failed bool
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(string, ...any) { r.skipped = true }

func (r *recorder) Fatalf(string, ...any) { r.failed = true }

func TestAnAbsentProgramSkipsButFailsInCI(t *testing.T) {
	for ci, want := range map[string]recorder{"": {skipped: true}, "true": {failed: true}} {
		t.Setenv("CI", ci)
		var got recorder
		needs.Programs(&got, "no-such-program")
		require.Equal(t, want, got)

		got = recorder{}
		needs.Programs(&got, "go")
		needs.Installed(&got, true, "")
		require.Equal(t, recorder{}, got)
	}
}
