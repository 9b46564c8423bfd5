// SPDX-License-Identifier: Apache-2.0

package needs_test

import (
	"flag"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

func TestALongTestRunsInCIOnly(t *testing.T) {
	for _, test := range []struct {
		ci             string
		short, skipped bool
	}{{"", false, true}, {"true", false, false}, {"true", true, true}} {
		short(t, test.short)
		t.Setenv("CI", test.ci)
		var got recorder
		needs.Long(&got)
		require.Equal(t, recorder{skipped: test.skipped}, got, "%+v", test)
	}
}

// recorder is a testing.TB that records whether it was skipped or failed.
type recorder struct {
	testing.TB
	skipped, failed bool
}

func (r *recorder) Helper() {}

func (r *recorder) Skip(...any) { r.skipped = true }

func (r *recorder) Skipf(string, ...any) { r.skipped = true }

func (r *recorder) Fatalf(string, ...any) { r.failed = true }

// short sets the flag -short until the test ends.
func short(t *testing.T, on bool) {
	short := flag.Lookup("test.short").Value
	before := short.String()
	require.NoError(t, short.Set(strconv.FormatBool(on)))
	t.Cleanup(func() { require.NoError(t, short.Set(before)) })
}

func TestAnAbsentProgramSkipsButFailsInCI(t *testing.T) {
	short(t, false)
	for ci, want := range map[string]recorder{"": {skipped: true}, "true": {failed: true}} {
		t.Setenv("CI", ci)
		var got recorder
		needs.Programs(&got, "no-such-program")
		require.Equal(t, want, got)

		got = recorder{}
		needs.Programs(&got, "go")
		needs.Installed(&got, true, "")
		needs.Time(&got)
		require.Equal(t, recorder{}, got)
	}
}

func TestWhatOnlySomeHaveSkipsAlsoInCI(t *testing.T) {
	short(t, false)
	t.Setenv("CI", "true")
	for value, want := range map[string]recorder{"": {skipped: true}, "/there": {}} {
		t.Setenv("IRONSTATE_TEST", value)
		var got recorder
		require.Equal(t, value, needs.Given(&got, "IRONSTATE_TEST", "they"))
		require.Equal(t, want, got)
	}
	short(t, true)
	var got recorder
	needs.Given(&got, "IRONSTATE_TEST", "they")
	require.Equal(t, recorder{skipped: true}, got)
}

func TestShortSkipsRealSystemsAndSlowTests(t *testing.T) {
	short(t, true)
	for _, ci := range []string{"", "true"} {
		t.Setenv("CI", ci)
		for name, need := range map[string]func(testing.TB){
			"an installed program": func(t testing.TB) { needs.Programs(t, "go") },
			"an absent system":     func(t testing.TB) { needs.Installed(t, false, "a system") },
			"time":                 needs.Time,
		} {
			var got recorder
			need(&got)
			require.Equal(t, recorder{skipped: true}, got, "%s, CI=%s", name, ci)
		}
		var got recorder
		needs.Installed(&got, true, "")
		require.Equal(t, recorder{}, got)
	}
}
