// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/internal/build"
	"github.com/ironstate/ironstate/e2e/internal/debian"
	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/internal/needs"
)

// laterScenarios selects the scenarios of baremetal of later Debians. All of them take minutes, since each command is
// run on two servers.
var laterScenarios = flag.String("clients.scenarios", "[cls]*e", "`pattern` of the scenarios that clients of later Debians run")

// TestClientsOfLaterDebians runs the clients in the folders that IRONSTATE_IRONICS names, if they have them, with
// cmd/ironstate in the series of the folder's Ironic. What does not pass is compared with that Ironic.
func TestClientsOfLaterDebians(t *testing.T) {
	needs.Time(t)
	program := filepath.Join(t.TempDir(), "conductor")
	require.NoError(t, build.Ironstate(bounded(t), program))
	folders := slices.DeleteFunc(lockstep.Folders(), func(root string) bool {
		_, err := debian.Root(root).LookPath("baremetal")
		return err != nil
	})
	needs.Installed(t, len(folders) > 0, "a folder with later clients, named by "+lockstep.FoldersVariable)
	for _, root := range folders {
		t.Run(filepath.Base(root), func(t *testing.T) {
			ironic, err := lockstep.Find(t.Context(), root)
			installed(t, err)
			require.NoError(t, err)
			t.Logf("beside Ironic %s, in series %v", ironic.Version, ironic.Series)
			runLater(t, Debian{Root: root}, func(t *testing.T) string { return startConductor(t, program, ironic.Series.String()) })
		})
	}
}

// runLater runs the suites of the clients of a later Debian, whose number of tests changes with it.
func runLater(t *testing.T, d Debian, start func(*testing.T) string) {
	t.Run("cli", func(t *testing.T) {
		needs.Turn(t)
		ours, ironic := side{d, start(t)}, side{d, startIronic(t, d.Root)}
		results := cliBeside(bounded(t), t, *laterScenarios, ours, &ironic, knownOfLater["cli"])
		for _, result := range results {
			if reason, isKnown := knownOfLater["cli"][result.Name]; !result.Passed && isKnown {
				t.Logf("%s differs, which is known: %s", result.Name, reason)
			} else if !result.Passed {
				t.Errorf("%s: ironstate differs from Ironic:\n%s", result.Name, result.Output)
			}
		}
	})
	t.Run("openstacksdk", func(t *testing.T) {
		modules, err := d.modules(bounded(t), sdkTests)
		require.NoError(t, err)
		compareSuite(t, d, start, modules, d.SDK, knownOfLater["openstacksdk"])
	})
	t.Run("tempest", func(t *testing.T) {
		modules, err := d.modules(bounded(t), tempestTests)
		require.NoError(t, err)
		compareSuite(t, d, start, modules, d.Tempest, knownOfLater["tempest"])
	})
}

// compareSuite runs the modules of a suite with ironstate. If a test does not pass, and is not known, its module is
// run with the real Ironic, too: the test fails if it passes there.
func compareSuite(
	t *testing.T, d Debian, start func(*testing.T) string, modules []string,
	run func(context.Context, string, ...string) ([]Result, error), known map[string]string,
) {
	results, err := run(bounded(t), start(t), modules...)
	require.NoError(t, err)
	require.NotEmpty(t, results)
	t.Logf("%d tests", len(results))
	var suspects []Result
	for _, result := range results {
		reason, isKnown := known[result.Name]
		switch {
		case result.Passed && isKnown:
			t.Errorf("%s passes, and is listed as one that does not: %s", result.Name, reason)
		case !result.Passed && isKnown:
			t.Logf("%s does not pass, which is known: %s", result.Name, reason)
		case !result.Passed:
			suspects = append(suspects, result)
		}
	}
	if len(suspects) == 0 {
		return
	}
	modules = slices.DeleteFunc(modules, func(module string) bool {
		return !slices.ContainsFunc(suspects, func(r Result) bool { return strings.Contains(r.Name, module+".") })
	})
	needs.Turn(t)
	beside, err := run(bounded(t), startIronic(t, d.Root), modules...)
	require.NoError(t, err)
	for _, result := range suspects {
		if slices.ContainsFunc(beside, func(r Result) bool { return r.Name == result.Name && r.Passed }) {
			t.Errorf("%s passes with Ironic only:\n%s", result.Name, result.Output)
		} else {
			t.Logf("%s passes with neither:\n%s", result.Name, result.Output)
		}
	}
}
