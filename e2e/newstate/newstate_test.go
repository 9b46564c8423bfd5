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

// wait adds the first waiting state of a work: an adoption waits for the agent, with the timeout of a deployment.
var wait = []insertion{
	{"states/state.go", "\n\tnumStates\n", "\t// AdoptWait (\"adopt wait\"): The adoption waits for the agent.\n\tAdoptWait\n"},
	{"states/stateword.go", "\n})\n\n// Parse ", "\n\tAdoptWait: \"adopt wait\","},
	{"states/texts.go", "\n}\n\n// eventTexts", "\n\tAdoptWait: \"The adoption waits for the agent.\","},
	{"states/rows.go", "\t{AdoptFail, Active,", "\t{AdoptWait, Active, WorkAdopt, PhaseWaiting, span{Hibiscus, kept}},\n"},
	{"states/rows.go", "\t{AdoptFail, EventAdopt,", "\t{Adopting, EventWait, AdoptWait, span{Hibiscus, kept}},\n" +
		"\t{AdoptWait, EventResume, Adopting, span{Hibiscus, kept}},\n\t{AdoptWait, EventFail, AdoptFail, span{Hibiscus, kept}},\n" +
		"\t{AdoptWait, EventAbort, AdoptFail, span{Hibiscus, kept}},\n"},
	{"machine/recover.go", "\tdefault:\n\t\treturn 0", "\tcase states.WorkAdopt:\n\t\treturn w.Deploy\n"},
	{"machine/rules.go", "\tdefault:\n\t\treturn \"By request",
		"\tcase states.WorkAdopt:\n\t\treturn \"By request, the adoption was aborted\"\n"},
	{"conductor/works.go", "eventType: \"adoption\"", "timedOut: \"Timeout reached while adopting the node\", "},
	{"conductor/works.go", "end:      workEnd{done: (*rulebook).restoreConsole, failed: func(n *Node) { n.Power",
		"agent: workAgent{answer: agentwork.FinishRescue},\n"},
}

// park adds a stable state, in which the record of a node may be deleted.
var park = []insertion{
	{"states/state.go", "\n\tnumStates\n", "\t// Parked (\"parked\"): The node is kept for later.\n\tParked\n"},
	{"states/stateword.go", "\n})\n\n// Parse ", "\n\tParked: \"parked\","},
	{"states/texts.go", "\n}\n\n// eventTexts", "\n\tParked: \"The node is kept for later.\","},
	{"states/members.go", "\t{AdoptFail, span{Newton, kept}},\n}", "\t{Parked, span{Hibiscus, kept}},\n"},
	{"states/rows.go", "\t{InspectFail, Manageable,", "\t{Parked, NoState, NoWork, PhaseStable, span{Hibiscus, kept}},\n"},
	{"states/rows.go", "\t{InspectFail, EventInspect,", "\t{Available, EventUnhold, Parked, span{Hibiscus, kept}},\n" +
		"\t{Parked, EventManage, Manageable, span{Hibiscus, kept}},\n"},
}

// patch adds a work, its states and the request that starts it.
var patch = []insertion{
	{"states/state.go", "\n\tnumStates\n", "\t// Patching (\"patching\"): The firmware is patched.\n\tPatching\n\tPatchWait\n\tPatchFail\n"},
	{"states/stateword.go", "\n})\n\n// Parse ", "\n\tPatching: \"patching\", PatchWait: \"patch wait\", PatchFail: \"patch failed\","},
	{"states/work.go", "\n\tnumWorks\n", "\tWorkPatch\n"},
	{"states/work.go", "\n})\n\n// ParseWork ", "\n\tWorkPatch: \"patch\","},
	{"states/event.go", "\t// EventAbort (\"abort\")", "\t// EventPatch (\"patch\"): A client patches the firmware.\n\tEventPatch\n"},
	{"states/event.go", "\tEventAbort:    \"abort\",", "\tEventPatch: \"patch\",\n"},
	{"states/verbs.go", "\t{\"abort\", EventAbort", "\t{\"patch\", EventPatch, Hibiscus, NoAPIVersion},\n"},
	{"states/rows.go", "\t{InspectFail, Manageable,", "\t{Patching, Manageable, WorkPatch, PhaseWorking, span{Hibiscus, kept}},\n" +
		"\t{PatchWait, Manageable, WorkPatch, PhaseWaiting, span{Hibiscus, kept}},\n" +
		"\t{PatchFail, Manageable, WorkPatch, PhaseFailed, span{Hibiscus, kept}},\n"},
	{"states/rows.go", "\t{InspectFail, EventInspect,", "\t{Manageable, EventPatch, Patching, span{Hibiscus, kept}},\n" +
		"\t{Patching, EventDone, Manageable, span{Hibiscus, kept}},\n\t{Patching, EventFail, PatchFail, span{Hibiscus, kept}},\n" +
		"\t{Patching, EventWait, PatchWait, span{Hibiscus, kept}},\n\t{PatchWait, EventResume, Patching, span{Hibiscus, kept}},\n" +
		"\t{PatchWait, EventAbort, PatchFail, span{Hibiscus, kept}},\n\t{PatchFail, EventPatch, Patching, span{Hibiscus, kept}},\n"},
}

// listed are the tests that compare with a list of Ironic's states, transitions or texts, which lacks the made-up one.
var listed = strings.Join([]string{
	"TablesEqualUpstreams", "WordsAreIronics", "WorksHaveTheirStates", "TestDescriptions", "NumbersOutOfRange", "RequestAnswersAsTheAPI",
	"SetHoldsItsMembers", "ExampleAllSeries", "RequestsEverywhere", "UpdatePortInEveryState", "UpdateRefusesTheFirstRule",
	"DifferencesToUpstreams", "OnlyLeavesOut", "MarkdownSaysWhatIsStable", "AMachineFollowsItsTable", "ApplyRefuses", "ErrorsNameTheRequest",
	"TestScenarios", "ProgressOfWorkThatThereIsNot", "AgreesWithOpenstacksdk", "FromLeavesOut", "TooltipsSayWhat", "ExampleWork",
	"LabelsOfDOTHaveNoNotes", "NodesWalkAsUpstreams",
}, "|")

// listedWaits are the tests with a list of the waiting states.
const listedWaits = "WaitingNodesFailOnce|ReconcileFollowsTheRules|OnlyWorkThatWaited|HaveExpectedTimes|StatesWhoseRulesAreIronics|" +
	"RecordOfANodeDecides"

func TestANewStateOfAWorkCostsItsRowsAndWords(t *testing.T) {
	for folder, tests := range packages {
		t.Run("held "+folder, func(t *testing.T) {
			output, err := run(t, hold, folder, tests, listed)
			require.NoError(t, err, output)
		})
		if folder == "./graph/render" { // which takes long, and draws it as the held one
			continue
		}
		t.Run("waiting "+folder, func(t *testing.T) {
			output, err := run(t, wait, folder, tests, listed+"|"+listedWaits)
			require.NoError(t, err, output)
		})
	}
}

func TestAStateOfNoWorkFailsTheTestsOfEachPackage(t *testing.T) {
	ofNoWork := slices.Clone(hold)
	for i := range ofNoWork {
		ofNoWork[i].lines = strings.ReplaceAll(ofNoWork[i].lines, "WorkInspect, PhaseHold", "NoWork, PhaseHold")
	}
	for _, folder := range []string{
		"./states", "./machine", "./machine/admission", "./machine/plan", "./powersync", "./graph", "./conductor", "./conductor/hardware",
	} {
		t.Run(folder, func(t *testing.T) {
			output, err := run(t, ofNoWork, folder, entries, listed)
			require.Error(t, err)
			require.Contains(t, output, "inspect hold")
		})
	}
}

func TestAStableStateFailsTheTestsOfEachPackage(t *testing.T) {
	failEach(t, park, map[string][]string{
		"./machine/admission":  {"machine/admission/object.go", "record.go"},
		"./machine/plan":       {"machine/plan/goal.go"},
		"./powersync":          {"powersync/decide.go"},
		"./graph":              {"graph/chapters.go"},
		"./conductor":          {"conductor/agent_fasttrack.go", "conductor/rules_refusal.go"},
		"./conductor/promises": {"conductor/promises/promises.go"},
		"./conductor/hardware": {"conductor/hardware/published.go"},
	})
}

func TestANewWorkWithARequestFailsTheTestsOfEachPackage(t *testing.T) {
	failEach(t, patch, map[string][]string{
		"./machine":                        {"machine/recover.go", "machine/rules.go"},
		"./machine/admission":              {"machine/admission/work.go", "machine/admission/provision.go"},
		"./machine/plan":                   {"machine/plan/routes.go", "machine/plan/goal.go"},
		"./powersync":                      {"powersync/decide.go"},
		"./graph":                          {"patching"},
		"./conductor":                      {"conductor/works.go"},
		"./conductor/api/internal/objects": {"conductor/api/internal/objects/nodesteps.go"},
	})
}

// failEach requires that with insertions in the sources the tests of packages fail, and that they name files.
func failEach(t *testing.T, insertions []insertion, packages map[string][]string) {
	t.Helper()
	for folder, files := range packages {
		t.Run(folder, func(t *testing.T) {
			output, err := run(t, insertions, folder, entries, listed)
			require.Error(t, err)
			for _, file := range files {
				require.Contains(t, output, file)
			}
		})
	}
}

// entries are the tests that fail for a state, a work or a request that a package does not know.
const entries = "HasAnEntry|HasItsPlace|BelongsToAWork|TimeIsUp"

// packages has the tests of the packages that decide by states, or show them: all but those that take long.
var packages = map[string]string{
	"./states":                         ".",
	"./machine":                        ".",
	"./machine/admission":              ".",
	"./machine/plan":                   ".",
	"./machine/looplab":                ".",
	"./powersync":                      "HasAnEntry|Excluded|Decide",
	"./graph":                          ".",
	"./graph/render":                   "HTML|Simulated|SVGSays|Tooltips",
	"./conductor":                      "HasAnEntry|Reconcile|TheRecordOf|WhatFailed|ExpectedTimes|OnlyWork|TimedOut|StatesWhose",
	"./conductor/api":                  ".",
	"./conductor/api/internal/objects": ".",
	"./cmd/ironstate/explorer":         ".",
}

// run runs the quick tests of a package with insertions in the sources, and returns their output.
func run(t *testing.T, insertions []insertion, folder, tests, skip string) (string, error) {
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
	command := exec.CommandContext(t.Context(), "go", "test", "-overlay", file, "-run", tests, "-skip", skip, ".")
	command.Env = append(os.Environ(), needs.Variable+"=")
	command.Dir = filepath.Join(root, folder) // which is in a module of its own, or in the root's
	output, err := command.CombinedOutput()
	return string(output), err
}
