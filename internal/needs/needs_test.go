package needs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

// watched is a test that records whether it was skipped or failed.
type watched struct {
	testing.TB
	skipped, failed bool
}

func (w *watched) Helper() {}

func (w *watched) Skipf(string, ...any) { w.skipped = true }

func (w *watched) Fatalf(string, ...any) { w.failed = true }

func TestAnAbsentProgramSkipsButFailsInCI(t *testing.T) {
	for ci, want := range map[string]watched{"": {skipped: true}, "true": {failed: true}} {
		t.Setenv("CI", ci)
		var got watched
		needs.Programs(&got, "no-such-program")
		require.Equal(t, want, got)

		got = watched{}
		needs.Programs(&got, "go")
		needs.Installed(&got, true, "")
		require.Equal(t, watched{}, got)
	}
}
