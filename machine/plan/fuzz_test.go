// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// FuzzNext calls Next with numbers, many of them invalid.
func FuzzNext(f *testing.F) {
	f.Add(uint8(states.Hibiscus), uint8(states.Available), uint8(0), "active", uint16(81), true, true, []byte{1, 2, 3})
	f.Add(uint8(states.Kilo), uint8(0), uint8(200), "unprovisioned", uint16(1), false, true, []byte{})
	f.Add(uint8(0), uint8(states.CleanHold), uint8(states.Manageable), "cleaned", uint16(0), true, false, []byte{255})
	f.Fuzz(func(t *testing.T, series, state, target uint8, goal string, version uint16, abort, destroy bool, rest []byte) {
		table := states.Series(series).Table()
		n := machine.Node{State: states.State(state), Target: states.State(target)}
		desired := plan.Desired{
			Goal:    plan.Goal(goal),
			Version: states.APIVersion(version),
			Policy:  plan.Policy{MayAbort: abort, MayDestroy: destroy},
		}
		var tried plan.Tries
		var stage uint8
		for i, b := range rest {
			switch {
			case i < len(tried):
				tried[i] = b
			case i == len(tried):
				desired.Policy.Retries = b
			default:
				stage = b
			}
		}
		desired.Progress = plan.NewProgress(tried, stage)
		_, err := plan.Next(table, n, desired)
		if err != nil {
			checkError(t, err)
			return
		}
		desired.Version = min(max(desired.Version, 1), table.Series().MaxAPIVersion())
		if n.State != states.NoState {
			checkStep(t, table, n, desired)
		}
	})
}

// FuzzOutcome calls Outcome with nodes and words, many of them invalid.
func FuzzOutcome(f *testing.F) {
	f.Add(uint8(states.Hibiscus), uint8(states.Available), "active", uint8(states.Active), "")
	f.Add(uint8(states.Kilo), uint8(0), "deploy", uint8(200), "no power")
	f.Fuzz(func(t *testing.T, series, before uint8, request string, now uint8, text string) {
		verdict, err := plan.Outcome(states.Series(series).Table(), node(states.State(before)), request,
			machine.Node{State: states.State(now), LastError: text})
		if err != nil {
			checkError(t, err)
			return
		}
		require.NotEmpty(t, verdict)
	})
}

// FuzzExplain calls Explain with any numbers as observed states.
func FuzzExplain(f *testing.F) {
	f.Add(uint8(states.Hibiscus), []byte{byte(states.Enroll), byte(states.Manageable), byte(states.Active)})
	f.Add(uint8(states.Rocky), []byte{byte(states.Inspecting), byte(states.InspectFail)})
	f.Add(uint8(states.Kilo), []byte{0, 0, 255})
	f.Fuzz(func(t *testing.T, series uint8, observed []byte) {
		table := states.Series(series).Table()
		seen := make([]states.State, len(observed))
		for i, b := range observed {
			seen[i] = states.State(b)
		}
		gaps, err := plan.Explain(table, seen)
		if err != nil {
			require.ErrorContains(t, err, "observation ")
		} else {
			checkHistory(t, table, seen, gaps)
		}
	})
}

// checkError fails the test unless the error has a documented type.
func checkError(t *testing.T, err error) {
	t.Helper()
	for _, known := range []any{
		new(*machine.StateError),
		new(*states.RequestError), new(*states.UnknownError),
	} {
		if errors.As(err, known) {
			require.Less(t, len(err.Error()), 2000)
			return
		}
	}
	require.Fail(t, "not a documented error", "%v", err)
}
