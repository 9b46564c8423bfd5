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

func (r *recorder) Skip(...any) { r.skipped = true }

func (r *recorder) Skipf(string, ...any) { r.skipped = true }

func (r *recorder) Fatalf(string, ...any) { r.failed = true }

func TestTestsAreLeftOutUnlessTheyAreAskedFor(t *testing.T) {
	skipped, failed, runs := recorder{skipped: true}, recorder{failed: true}, recorder{}
	for name, test := range map[string]struct {
		need                           func(testing.TB)
		quick, systems, search, either recorder
	}{
		"time":                  {needs.Time, skipped, runs, skipped, runs},
		"chance":                {needs.Chance, skipped, skipped, runs, runs},
		"an installed program":  {func(t testing.TB) { needs.Programs(t, "go") }, skipped, runs, skipped, runs},
		"an installed system":   {func(t testing.TB) { needs.Installed(t, true, "") }, runs, runs, runs, runs},
		"an absent system":      {func(t testing.TB) { needs.Installed(t, false, "a system") }, skipped, failed, failed, failed},
		"an absent program":     {programs("no-such-program"), skipped, failed, recorder{skipped: true, failed: true}, failed},
		"a variable that is":    {given("IRONSTATE_TEST_GIVEN"), skipped, runs, skipped, runs},
		"a variable that isn't": {given("IRONSTATE_TEST_ABSENT"), skipped, skipped, skipped, skipped},
	} {
		t.Setenv("IRONSTATE_TEST_GIVEN", "/there")
		for value, want := range map[string]recorder{
			"": test.quick, "systems": test.systems, "search": test.search, "systems,search": test.either, "other": test.quick,
		} {
			t.Setenv(needs.Variable, value)
			var got recorder
			test.need(&got)
			require.Equal(t, want, got, "%s, %s=%s", name, needs.Variable, value)
		}
	}
}

func programs(names ...string) func(testing.TB) {
	return func(t testing.TB) { needs.Programs(t, names...) }
}

func given(variable string) func(testing.TB) {
	return func(t testing.TB) { needs.Given(t, variable, "they") }
}
