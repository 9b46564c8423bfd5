// SPDX-License-Identifier: Apache-2.0

package statestest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest"
)

// targetedToy is a machine with targets.
type targetedToy struct {
	toy
	target states.State
	rules  targetRules
}

// targetRules are the mistakes that a targeted toy may make.
type targetRules struct {
	forgetsNamed, forgetsStored, takesAnyNamed, takesAnyStored, keepsAtRest, dropsWhenRefused bool
}

var correctTargets targetRules

func (m *targetedToy) Target() states.State { return m.target }

func (m *targetedToy) Fire(event states.Event) error { return m.FireTo(event, states.NoState) }

func (m *targetedToy) FireTo(event states.Event, target states.State) error {
	if target != states.NoState && !m.table.Stable().Has(target) && !m.rules.takesAnyNamed {
		return errNoRow
	}
	if err := m.toy.Fire(event); err != nil {
		if m.rules.dropsWhenRefused {
			m.target = states.NoState
		}
		return err
	}
	if m.rules.forgetsNamed {
		target = states.NoState
	}
	m.arrive(target)
	return nil
}

// arrive sets the target on arrival in a state.
func (m *targetedToy) arrive(target states.State) {
	switch {
	case m.table.Stable().Has(m.state) && m.rules.keepsAtRest:
	case m.table.Stable().Has(m.state):
		m.target = states.NoState
	case target != states.NoState:
		m.target = target
	default:
		m.target = m.table.Target(m.state)
	}
}

func startTargeted(table *states.Table, rules targetRules) statestest.Start {
	return func(state, target states.State) (statestest.Machine, error) {
		if !table.States().Has(state) {
			return nil, errNoRow
		}
		if target != states.NoState && !table.Stable().Has(target) && !rules.takesAnyStored {
			return nil, errNoRow
		}
		m := &targetedToy{
			toy:   toy{table: table, state: state, next: table.Next, refused: func(*toy, states.Event) {}},
			rules: rules,
		}
		if rules.forgetsStored {
			target = states.NoState
		}
		m.arrive(target)
		return m, nil
	}
}

func TestEachMistakeWithTargetsIsReported(t *testing.T) {
	table := states.Latest().Table()
	tests := []struct {
		name  string
		rules targetRules
		want  string
	}{
		{"a named target forgotten", targetRules{forgetsNamed: true},
			`2026.2: "enroll: manage (enroll)": want accepted, in "verifying" with target "enroll"; ` +
				`got accepted, in "verifying" with target "manageable"; also "enroll: manage (available)", `},
		{"a stored target forgotten", targetRules{forgetsStored: true},
			`2026.2: "verifying (enroll)": want accepted, in "verifying" with target "enroll"; ` +
				`got accepted, in "verifying" with target "manageable"; also "verifying (available)", `},
		{"a named target that is not stable", targetRules{takesAnyNamed: true},
			`2026.2: "enroll: manage (verifying)": want refused, in "enroll"; got accepted, in "verifying" with target "verifying"; also `},
		{"a stored target that is not stable", targetRules{takesAnyStored: true},
			`2026.2: "verifying (verifying): done": want refused, in "verifying"; got accepted, in "manageable"; also `},
		{"a target kept at rest", targetRules{keepsAtRest: true},
			`2026.2: "verifying (manageable): done": want accepted, in "manageable"; ` +
				`got accepted, in "manageable" with target "manageable"; also "verifying (manageable): fail", `},
		{"a target lost with a refused event", targetRules{dropsWhenRefused: true},
			`2026.2: "verifying (manageable): manage": want refused, in "verifying" with target "manageable"; ` +
				`got refused ("no row"), in "verifying"; also `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := statestest.Check(table, startTargeted(table, test.rules))
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "\n", "one report")
		})
	}
}
