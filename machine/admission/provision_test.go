// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// fields yields each combination of the fields that are true or false, in a state.
func fields(state states.State, yield func(admission.NodeFields)) {
	for bits := range 1 << 5 {
		has := func(bit int) bool { return bits&(1<<bit) != 0 }
		yield(admission.NodeFields{
			State: state, Maintenance: has(0), Protected: has(1), Retired: has(2), Reserved: has(3), Associated: has(4),
		})
	}
}

// A row is a reason to refuse an event, in Ironic's order.
type row struct {
	reason admission.Reason
	field  string
	status int
	when   func(f admission.NodeFields, e states.Event) bool
}

func anyOf(events ...states.Event) func(states.Event) bool {
	return func(e states.Event) bool {
		for _, event := range events {
			if e == event {
				return true
			}
		}
		return false
	}
}

var (
	neverInMaintenance = anyOf(states.EventDeploy, states.EventRebuild, states.EventRescue, states.EventUnrescue, states.EventClean,
		states.EventService)
	neverProtected = anyOf(states.EventRebuild, states.EventDelete)
)

func rows(noProvisioning bool) []row {
	return []row{
		{admission.Locked, "reservation", 409, func(f admission.NodeFields, _ states.Event) bool { return f.Reserved }},
		{admission.InMaintenance, "maintenance", 409, func(f admission.NodeFields, e states.Event) bool {
			return f.Maintenance && f.State == states.ServiceFail && e == states.EventAbort
		}},
		{admission.InMaintenance, "maintenance", 400, func(f admission.NodeFields, e states.Event) bool {
			return f.Maintenance && (neverInMaintenance(e) || noProvisioning && e == states.EventProvide)
		}},
		{admission.IsProtected, "protected", 403, func(f admission.NodeFields, e states.Event) bool { return f.Protected && neverProtected(e) }},
		{admission.IsRetired, "retired", 400, func(f admission.NodeFields, e states.Event) bool { return f.Retired && e == states.EventProvide }},
	}
}

func TestStartRefusesTheFirstFactInIronicsOrder(t *testing.T) {
	for _, noProvisioning := range []bool{false, true} {
		rules := admission.Rules{NoProvisioningInMaintenance: noProvisioning}
		rows := rows(noProvisioning)
		for state := range states.Latest().Table().States().All() {
			for event := range states.AllEvents() {
				fields(state, func(f admission.NodeFields) {
					err := rules.Start(f, event)
					for _, r := range rows {
						if r.when(f, event) {
							requireRefusal(t, err, r.reason, r.field, r.status)
							return
						}
					}
					requireAccepted(t, err)
				})
			}
		}
	}
}

// requireRefusal spares testify's work for a refusal that is as expected: the tests ask a
// million times.
func requireRefusal(t *testing.T, err error, reason admission.Reason, field string, status int) {
	t.Helper()
	refusal, ok := err.(*admission.Refusal)
	if ok && refusal.Reason == reason && refusal.Field == field && refusal.HTTPStatus() == status && errors.Is(err, reason) {
		return
	}
	require.Fail(t, "another answer", "%+v, not %v for %s with %d", err, reason, field, status)
}

func requireAccepted(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		require.NoError(t, err)
	}
}

func TestARefusalNamesTheRequestTheReasonAndTheField(t *testing.T) {
	broken := errors.New("no address")
	err := &admission.Refusal{Request: "rescue", Reason: admission.Unsuitable, Field: "power_interface", Err: broken}
	require.EqualError(t, err, "rescue is refused: validation failed (power_interface): no address")
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, err, admission.Unsuitable)
	require.Equal(t, 400, err.HTTPStatus())
	err.Err = nil
	require.EqualError(t, err, "rescue is refused: validation failed (power_interface)")
	require.ErrorIs(t, err, admission.Unsuitable)
}

// The words are all verbs, all events and one that is neither.
func words() []string {
	words := []string{"nonsense", ""}
	for event := range states.AllEvents() {
		words = append(words, event.String())
	}
	for word := range states.Verbs() {
		words = append(words, word)
	}
	return words
}

func TestRequestFollowsTheTableExceptForMaintenanceAndReservations(t *testing.T) {
	for series := range states.AllSeries() {
		rules := admission.Rules{Table: series.Table()}
		for state := range series.Table().States().All() {
			for _, word := range words() {
				event, plain := series.Table().Request(state, word, series.MaxAPIVersion())
				for bits := range 4 {
					f := admission.NodeFields{State: state, Maintenance: bits&1 != 0, Reserved: bits&2 != 0, Protected: true, Retired: true}
					got, err := rules.Request(f, word, series.MaxAPIVersion())
					switch {
					case f.Maintenance && (word == "active" || word == "rebuild"):
						requireRefusal(t, err, admission.InMaintenance, "maintenance", 400)
					case plain != nil && f.Reserved && !errors.Is(plain, states.ErrNotUnderstood):
						requireRefusal(t, err, admission.Locked, "reservation", 409)
					case plain != nil:
						require.Equal(t, plain, err)
					default:
						requireAccepted(t, err)
						require.Equal(t, event, got)
					}
				}
			}
		}
	}
}

func TestAVersionThatLacksTheWordIsRefusedFirst(t *testing.T) {
	f := admission.NodeFields{State: states.Available, Maintenance: true, Reserved: true}
	_, err := admission.Rules{}.Provision(f, "provide", 3)
	require.ErrorIs(t, err, states.ErrNotAcceptable)
}

func TestProvisionIsRequestThenStartThenValidate(t *testing.T) {
	broken := errors.New("no address")
	f := admission.NodeFields{State: states.Active, Problems: map[string]error{"power": broken}, Protected: true}
	_, err := admission.Rules{}.Provision(f, "provide", 82)
	require.ErrorIs(t, err, states.ErrNotAllowed)
	_, err = admission.Rules{}.Provision(f, "rebuild", 82)
	require.ErrorIs(t, err, admission.IsProtected)
	f.Protected = false
	_, err = admission.Rules{}.Provision(f, "rebuild", 82)
	require.ErrorIs(t, err, broken)
	f.Problems = nil
	event, err := admission.Rules{}.Provision(f, "rebuild", 82)
	require.NoError(t, err)
	require.Equal(t, states.EventRebuild, event)
}

func TestValidateNamesTheFirstUnfitInterface(t *testing.T) {
	broken := errors.New("no address")
	for event, kinds := range map[states.Event][]string{
		states.EventDeploy: {"power", "deploy"}, states.EventRebuild: {"power", "deploy"}, states.EventDelete: {"power"},
		states.EventClean: {"power", "network"}, states.EventService: {"power", "network"}, states.EventInspect: {"power", "inspect"},
		states.EventRescue: {"power", "rescue", "network"}, states.EventUnrescue: {"power"},
		states.EventProvide: nil, states.EventManage: nil, states.EventAbort: nil, states.Event(200): nil,
	} {
		invalid, missing := 400, 400
		switch event {
		case states.EventRescue:
			invalid, missing = 500, 500
		case states.EventUnrescue, states.EventDelete:
			invalid = 500
		}
		require.Equal(t, len(kinds) > 0, admission.Rules{}.Validates(event))
		all := map[string]error{"bios": broken, "console": broken}
		for _, kind := range kinds {
			all[kind] = broken
		}
		for _, kind := range kinds {
			f := admission.NodeFields{Problems: all}
			err := admission.Rules{}.Validate(f, event)
			requireRefusal(t, err, admission.Unsuitable, kind+"_interface", invalid)
			require.ErrorIs(t, err, broken)

			f.Interfaces = map[string]string{kind: "no-" + kind}
			requireRefusal(t, admission.Rules{}.Validate(f, event), admission.Unsupported, kind+"_interface", missing)
			for _, other := range []string{kind, "no-other", "no-", ""} {
				f = admission.NodeFields{Interfaces: map[string]string{kind: other}}
				require.NoError(t, admission.Rules{}.Validate(f, event), "%s", other)
			}
			f = admission.NodeFields{Problems: map[string]error{kind: admission.Unsupported}}
			requireRefusal(t, admission.Rules{}.Validate(f, event), admission.Unsupported, kind+"_interface", missing)
			delete(all, kind)
		}
		require.NoError(t, admission.Rules{}.Validate(admission.NodeFields{Problems: all}, event), "%v", event)
	}
}

func TestAnInstanceNeedsTheTraitsOfItsNode(t *testing.T) {
	for _, c := range []struct {
		instance any
		want     string
	}{
		{nil, ""},
		{"", ""},
		{json.Number("0"), ""},
		{json.Number("0.0"), ""},
		{0.0, ""},
		{false, ""},
		{map[string]any{}, ""},
		{[]any{}, ""},
		{[]any{"CUSTOM_GOLD"}, ""},
		{[]string{"CUSTOM_GOLD"}, ""},
		{[]any{"Z", "CUSTOM_GOLD", "A", "Z"}, "the node lacks the traits A, Z of its instance"},
		{[]string{"A"}, "the node lacks the traits A of its instance"},
		{[]any{1}, "instance_info.traits is not a list of strings"},
		{"CUSTOM_GOLD", "instance_info.traits is not a list of strings"},
		{true, "instance_info.traits is not a list of strings"},
		{7.0, "instance_info.traits is not a list of strings"},
		{json.Number("7"), "instance_info.traits is not a list of strings"},
		{map[string]any{"CUSTOM_GOLD": 1}, "instance_info.traits is not a list of strings"},
	} {
		f := admission.NodeFields{Traits: []string{"CUSTOM_GOLD"}, InstanceTraits: c.instance}
		for _, event := range []states.Event{states.EventDeploy, states.EventRebuild} {
			err := admission.Rules{}.Validate(f, event)
			if c.want == "" {
				require.NoError(t, err, "%v", c.instance)
				continue
			}
			requireRefusal(t, err, admission.Unsuitable, "traits", 400)
			require.ErrorContains(t, err, c.want)
		}
		require.NoError(t, admission.Rules{}.Validate(f, states.EventClean))
	}
}

func TestWorkInMaintenanceIsAnOptionSinceTrain(t *testing.T) {
	for series := range states.AllSeries() {
		fields(states.Manageable, func(f admission.NodeFields) {
			rules := admission.Rules{Table: series.Table()}
			require.NoError(t, rules.Work(f))
			require.Equal(t, f.Maintenance, rules.Heartbeat(f) != nil)
			rules.NoProvisioningInMaintenance = true
			want := f.Maintenance && series >= states.Train
			require.Equal(t, want, errors.Is(rules.Work(f), admission.InMaintenance))
			f.Reserved, f.Retired = false, false
			require.Equal(t, want, errors.Is(rules.Start(f, states.EventProvide), admission.InMaintenance))
		})
	}
}
