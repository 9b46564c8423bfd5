// SPDX-License-Identifier: Apache-2.0

// Package newstate tries the costs of a new state: it adds a made-up one to the sources, as CONTRIBUTING.md says, and
// runs the packages that decide by states.
package newstate

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

// An insertion adds lines to a source file before a text that stands in it once.
type insertion struct{ file, before, lines string }

// hold adds a state to the work of inspection, which a hold step stops.
var hold = []insertion{
	{"states/state.go", "\n\tnumStates\n", "\t// InspectHold (\"inspect hold\"): A hold step stopped the inspection.\n\tInspectHold\n"},
	{"states/stateword.go", "\n})\n\n// Parse ", "\n\tInspectHold: \"inspect hold\","},
	{"states/texts.go", "\n}\n\n// eventTexts", "\n\tInspectHold: \"A hold step stopped the inspection.\","},
	{"states/rows.go", "\t{InspectFail, Manageable,", "\t{InspectHold, Manageable, WorkInspect, PhaseHold, span{Hibiscus, kept}},\n"},
	{"states/rows.go", "\t{InspectFail, EventInspect,", "\t{Inspecting, EventHold, InspectHold, span{Hibiscus, kept}},\n" +
		"\t{InspectHold, EventUnhold, InspectWait, span{Hibiscus, kept}},\n\t{InspectHold, EventAbort, InspectFail, span{Hibiscus, kept}},\n"},
}

// listed are the tests that compare with a list of Ironic's states, transitions or texts, which lacks the made-up one.
var listed = strings.Join([]string{
	"TablesEqualUpstreams", "WordsAreIronics", "WorksHaveTheirStates", "TestDescriptions", "NumbersOutOfRange", "RequestAnswersAsTheAPI",
	"SetHoldsItsMembers", "ExampleAllSeries", "RequestsEverywhere", "UpdatePortInEveryState", "UpdateRefusesTheFirstRule",
	"DifferencesToUpstreams", "OnlyLeavesOut", "MarkdownSaysWhatIsStable", "AMachineFollowsItsTable", "ApplyRefuses", "ErrorsNameTheRequest",
	"TestScenarios", "ProgressOfWorkThatThereIsNot", "AgreesWithOpenstacksdk", "FromLeavesOut", "TooltipsSayWhat", "ExampleWork",
	"LabelsOfDOTHaveNoNotes",
}, "|")

func TestANewStateOfAWorkCostsItsRowsAndWords(t *testing.T) {
	for folder, tests := range packages {
		t.Run(folder, func(t *testing.T) {
			output, err := run(t, hold, folder, tests)
			require.NoError(t, err, output)
		})
	}
}

func TestAStateOfNoWorkFailsTheTestsOfEachPackage(t *testing.T) {
	ofNoWork := slices.Clone(hold)
	for i := range ofNoWork {
		ofNoWork[i].lines = strings.ReplaceAll(ofNoWork[i].lines, "WorkInspect, PhaseHold", "NoWork, PhaseHold")
	}
	for folder := range packages {
		if folder == "./machine" || folder == "./powersync" { // these decide by works, or by a few states alone
			continue
		}
		t.Run(folder, func(t *testing.T) {
			output, err := run(t, ofNoWork, folder, "HasAnEntry|HasItsPlace|BelongsToAWork")
			require.Error(t, err)
			require.Contains(t, output, "inspect hold")
		})
	}
}

// packages has the tests of the packages that decide by states: all but those that take long.
var packages = map[string]string{
	"./states":            ".",
	"./machine":           ".",
	"./machine/admission": ".",
	"./machine/plan":      ".",
	"./powersync":         "Excluded|Decide",
	"./graph":             ".",
	"./conductor":         "HasAnEntry|Reconcile|TheRecordOf|WhatFailed|ExpectedTimes|OnlyWork|TimedOut|StatesWhose",
}

// run runs the quick tests of a package with insertions in the sources, and returns their output.
func run(t *testing.T, insertions []insertion, folder, tests string) (string, error) {
	t.Helper()
	needs.Time(t)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	temporary := t.TempDir()
	replaced := map[string]string{}
	for _, i := range insertions {
		path := filepath.Join(root, i.file)
		copied, ok := replaced[path]
		if !ok {
			copied = filepath.Join(temporary, strings.ReplaceAll(i.file, "/", "_"))
			replaced[path] = copied
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(copied, text, 0o600))
		}
		text, err := os.ReadFile(copied)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), i.before), "%s: %q", i.file, i.before)
		changed := strings.Replace(string(text), i.before, i.lines+i.before, 1)
		if strings.HasPrefix(i.before, "\n") {
			changed = strings.Replace(string(text), i.before, "\n"+strings.TrimPrefix(i.lines, "\n")+i.before, 1)
		}
		require.NoError(t, os.WriteFile(copied, []byte(changed), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	file := filepath.Join(temporary, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	command := exec.CommandContext(t.Context(), "go", "test", "-overlay", file, "-run", tests, "-skip", listed, ".")
	command.Env = append(os.Environ(), needs.Variable+"=")
	command.Dir = filepath.Join(root, folder) // which is in a module of its own, or in the root's
	output, err := command.CombinedOutput()
	return string(output), err
}
