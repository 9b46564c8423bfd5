// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

// admissionOneIn is the share of its requests that TestAdmission makes. The command lockstep makes all.
const admissionOneIn = 4

func TestAdmission(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	i := start(t, lockAtOnce)
	i.sample = newSample(1, admissionOneIn)
	requireAllSame(t, i, compareAdmission()...)
}

func TestTheTableOfAdmissionIsComplete(t *testing.T) {
	for name, fact := range admissionTable.Facts {
		for column := range fact {
			require.Contains(t, admissionTable.Record, column, name)
		}
	}
	i := Installation{Series: states.Latest()}
	for _, c := range admissionTable.Comparisons {
		made := 0
		for range c.trials(i) {
			made++
		}
		require.Positive(t, made, c.Name)
		for _, fact := range slices.Concat(c.With...) {
			require.True(t, fact == "" || admissionTable.Facts[fact] != nil, "%s: %s", c.Name, fact)
		}
		require.True(t, c.Rule == "" || rules[c.Rule] != nil, c.Rule)
		require.True(t, c.Object == "" || admissionTable.Objects[c.Object] != nil, c.Object)
	}
}

func TestASituationIsTheSameRecordOnBothSides(t *testing.T) {
	s := situation{Installation{Series: states.Latest()}.inState(states.Active), []string{"power failure", "reserved", "instance", "power on"}}
	require.Equal(t, "in active, target none, power failure, reserved, instance, power on", s.String())
	n := s.node()
	set := s.columns()
	require.Equal(t, []any{true, "power failure", somebody, n.InstanceUUID, n.Power.String(), false}, []any{
		set["maintenance"], set["fault"], set["reservation"], set["instance_uuid"], set["power_state"], set["protected"],
	})
	require.True(t, n.Maintenance)
	require.Equal(t, []string{"power failure", somebody, somebody}, []string{n.Fault, n.Reservation, n.Claim})
	require.Equal(t, withImage(), n.InstanceInfo)
	require.JSONEq(t, columnsOf(s.at)["instance_info"].(string), set["instance_info"].(string))
	require.Equal(t, driverName, n.Interfaces["rescue"])
	require.Equal(t, set["rescue_interface"], n.Interfaces["rescue"])
}

func TestCombinations(t *testing.T) {
	require.Equal(t, [][]string{nil}, slices.Collect(combinations(nil)))
	require.Equal(t, [][]string{nil, {"c"}, {"a"}, {"a", "c"}, {"b"}, {"b", "c"}},
		slices.Collect(combinations([][]string{{"", "a", "b"}, {"", "c"}})))
}
