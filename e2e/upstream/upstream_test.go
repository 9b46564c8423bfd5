// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

const findIronic = `import importlib.util
spec = importlib.util.find_spec("ironic")
print(spec.submodule_search_locations[0] if spec else "")`

func TestTheInstalledIronicHasTheFactsOfItsSeries(t *testing.T) {
	needs.Programs(t, "ironic")
	program, err := exec.LookPath("ironic")
	require.NoError(t, err)
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	interpreter := strings.TrimSpace(strings.TrimPrefix(first, "#!")) // another Python in the path may lack Ironic's modules
	found, err := exec.CommandContext(t.Context(), interpreter, "-c", findIronic).Output()
	require.NoError(t, err)
	folder := strings.TrimSpace(string(found))
	needs.Installed(t, folder != "", "the Python package ironic")

	all, err := readSeries("../../" + seriesFile)
	require.NoError(t, err)
	want := all.Series["2023.1"]
	got, err := readEntry(t.Context(), filepath.Dir(folder), "")
	require.NoError(t, err)
	got.Tag = want.Tag
	require.Equal(t, want, got)
}

func TestAFolderWithoutIronicIsAnError(t *testing.T) {
	dir := t.TempDir()
	_, err := readEntry(t.Context(), dir, "")
	require.EqualError(t, err, dir+` at revision "" has no ironic/common/states.py`)
}

func TestWrittenFactsAreTheSameBytes(t *testing.T) {
	want, err := os.ReadFile("../../" + seriesFile)
	require.NoError(t, err)
	all, err := readSeries("../../" + seriesFile)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "series.json")
	require.NoError(t, all.write(name))
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestEverySeriesEqualsItsEntry(t *testing.T) {
	all, err := readSeries("../../" + seriesFile)
	require.NoError(t, err)
	n, err := readNames("../../states")
	require.NoError(t, err)
	for s := range states.AllSeries() {
		e := all.Series[s.String()]
		require.Empty(t, differences(s.Table(), e, e, n.series[s.String()], n), s)
		require.NotEmpty(t, n.series[s.String()], s)
	}
}

func TestWhatANewSeriesChangesIsPrintedAsRows(t *testing.T) {
	all, err := readSeries("../../" + seriesFile)
	require.NoError(t, err)
	n, err := readNames("../../states")
	require.NoError(t, err)
	old := all.Series["2026.2"]
	all, err = readSeries("../../" + seriesFile)
	require.NoError(t, err)
	next := all.Series["2026.2"]

	available := "available"
	next.APIMax = "1.120"
	next.States["zap wait"] = state{Target: &available}
	next.States["cleaning"] = state{Stable: true}
	delete(next.States, "enroll")
	for i, row := range next.Transitions {
		switch row {
		case [3]string{"adopting", "done", "active"}:
			next.Transitions[i][2] = "available"
		case [3]string{"adopting", "fail", "adopt failed"}:
			next.Transitions[i] = [3]string{"manageable", "zap", "zap wait"}
		}
	}
	next.Verbs["zap"] = "zap"
	next.Sets["STABLE_STATES"] = []*string{&available, nil}

	require.Equal(t, []string{
		"API: 1.120, was 1.115",
		"state with the target Available now: {Cleaning, NoState, span{Ibex, kept}},",
		"state to add: {ZapWait, Available, span{Ibex, kept}},",
		"state to end: Enroll, dropped by Ibex",
		"transition that leads to active now: {Adopting, EventDone, Available, span{Ibex, kept}},",
		"transition to add: {Manageable, EventZap, ZapWait, span{Ibex, kept}},",
		"transition to end: {Adopting, EventFail, AdoptFail}, dropped by Ibex",
		`verb zap: "zap", was ""`,
		`set STABLE_STATES: ["available" "None"], was ["active" "available" "enroll" "error" "manageable" "rescue"]`,
	}, differences(states.Hibiscus.Table(), old, next, "Ibex", n))
}
