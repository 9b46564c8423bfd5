// SPDX-License-Identifier: Apache-2.0

package inspectionrules

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// decode decodes JSON with numbers as they are written.
func decode(t *testing.T, text []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(v))
}

// outcome is what a real Ironic made of a rule: the attributes that differ from those before.
type outcome struct {
	Refused    string // by the validation of a new rule
	Failure    string
	Node, Port map[string]any
	Traits     []string
	PluginData any `json:"plugin_data"`
}

// recorded is testdata/ironic.json: rules that the engines of Ironic 29.0.5 and 39.0.0 have applied to a node in a
// database.
type recorded struct {
	Subject struct {
		Node, Port, Inventory map[string]any
		PluginData            map[string]any `json:"plugin_data"`
	}
	Cases []struct {
		Rule     struct{ Conditions, Actions []map[string]any }
		Hibiscus outcome  `json:"2026.2"`
		Epoxy    *outcome `json:"2025.1"` // nil if it is the same
	}
}

const ruleUUID = "31111111-2222-3333-4444-555555555555"

func TestARuleDoesWhatItDoesInIronic(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/ironic.json")
	require.NoError(t, err)
	var r recorded
	decode(t, text, &r)
	for _, c := range r.Cases {
		for series, want := range map[states.Series]*outcome{states.Epoxy: c.Epoxy, states.Hibiscus: &c.Hibiscus} {
			if want == nil {
				want = &c.Hibiscus
			}
			name, err := json.Marshal(c.Rule)
			require.NoError(t, err)
			got := r.apply(c.Rule.Conditions, c.Rule.Actions, series)
			t.Run(series.String()+" "+string(name), func(t *testing.T) { r.requireSame(t, *want, got) })
		}
	}
}

// apply checks and applies a rule to the recorded subject.
func (r recorded) apply(conditions, actions []map[string]any, series states.Series) (got outcome) {
	rule := Rule{UUID: ruleUUID}
	for _, c := range conditions {
		stored, err := CheckCondition(c)
		if err != nil {
			return outcome{Refused: err.Error()}
		}
		rule.Conditions = append(rule.Conditions, stored)
	}
	for _, c := range actions {
		stored, err := CheckAction(c)
		if err != nil {
			return outcome{Refused: err.Error()}
		}
		rule.Actions = append(rule.Actions, stored)
	}
	node := maps.Clone(r.Subject.Node)
	node["driver"] = "fake-hardware"
	changes, err := Apply(context.Background(), series, []Rule{rule}, Subject{
		Node:       NodeAttributes(node),
		Ports:      []map[string]any{PortAttributes(r.Subject.Port)},
		Inventory:  r.Subject.Inventory,
		PluginData: r.Subject.PluginData,
	})
	if err != nil {
		got.Failure = err.Error()
	}
	got.Node, got.Port = changes.Node, changes.Ports[r.Subject.Port["uuid"].(string)]
	got.Traits, got.PluginData = changes.Traits, changes.PluginData
	return got
}

// requireSame requires that an outcome is Ironic's. The reason behind the last colon of a failure is Python's, and ours
// has other words.
func (r recorded) requireSame(t *testing.T, want, got outcome) {
	t.Helper()
	require.Equal(t, want.Refused, got.Refused)
	require.Equal(t, want.Failure == "", got.Failure == "", got.Failure)
	shared := min(len(own(want.Failure)), len(own(got.Failure)))
	require.Equal(t, want.Failure[:shared], got.Failure[:shared])
	after := func(before, changed map[string]any) map[string]any {
		all := maps.Clone(before)
		for name, value := range changed {
			if _, known := before[name]; known { // the others were not recorded
				all[name] = value
			}
		}
		return all
	}
	same := func(want, got any) {
		t.Helper()
		x, err := json.Marshal(want)
		require.NoError(t, err)
		y, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(x), string(y))
	}
	if want.Refused != "" {
		return
	}
	same(after(r.Subject.Node, want.Node), after(r.Subject.Node, got.Node))
	same(after(r.Subject.Port, want.Port), after(r.Subject.Port, got.Port))
	require.ElementsMatch(t, want.Traits, got.Traits)
	if want.PluginData == nil {
		want.PluginData = r.Subject.PluginData
	}
	if _, broken := want.PluginData.(string); !broken { // what Ironic cannot store afterwards
		same(want.PluginData, got.PluginData)
	}
}

// own returns a failure without Python's reason.
func own(text string) string {
	if strings.HasPrefix(text, "Failed to apply rule ") {
		text, _, _ = strings.Cut(text, ": ")
		return text
	}
	if at := strings.LastIndex(text, ": "); at > 0 {
		return text[:at]
	}
	return text
}

func TestSecretsOfANodeStayInIt(t *testing.T) {
	t.Parallel()
	subject := Subject{Node: NodeAttributes(map[string]any{
		"uuid":        "u",
		"driver_info": map[string]any{"ipmi_password": "hunter2", "ipmi_username": "a"},
	})}
	set := func(value string) (Changes, error) {
		return Apply(t.Context(), states.Hibiscus, []Rule{{Actions: []map[string]any{
			{"op": "set-attribute", "args": map[string]any{"path": "extra/x", "value": value}},
		}}}, subject)
	}
	_, err := set("{node.driver_info[ipmi_password]}")
	require.EqualError(t, err,
		"Inspection rule execution failed. Reason: node.driver_info[ipmi_password] is a secret, which a rule cannot read")
	_, err = set("{node}")
	require.EqualError(t, err, "Inspection rule execution failed. Reason: a rule cannot show the node as a whole")
	_, err = set("{node.traits}")
	require.EqualError(t, err, "Inspection rule execution failed. Reason: a rule cannot read the attribute traits of the node")
	changes, err := set("{node.driver_info}")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"extra": map[string]any{"x": "{'ipmi_password': '******', 'ipmi_username': 'a'}"}}, changes.Node)
	changes, err = Apply(t.Context(), states.Hibiscus, []Rule{{Actions: []map[string]any{
		{"op": "set-attribute", "args": map[string]any{"path": "driver_info/ipmi_username", "value": "b"}},
	}}}, subject)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"driver_info": map[string]any{"ipmi_password": "hunter2", "ipmi_username": "b"}}, changes.Node)
	require.Equal(t, "a", subject.Node["driver_info"].(map[string]any)["ipmi_username"], "the subject stays as it is")
}

func TestDataOfAMachineAreNoReplacementFields(t *testing.T) {
	t.Parallel()
	subject := Subject{Node: NodeAttributes(map[string]any{"uuid": "u"}), Inventory: map[string]any{"vendor": "{node.uuid}"}}
	changes, err := Apply(t.Context(), states.Hibiscus, []Rule{{Actions: []map[string]any{{
		"op": "set-attribute", "args": map[string]any{"path": "extra/x", "value": "{item} {node.uuid}"}, "loop": []any{"{inventory[vendor]}"},
	}, {
		"op": "set-attribute", "args": map[string]any{"path": "extra/y", "value": "{inventory[vendor]}"}, "loop": []any{"a"},
	}}}}, subject)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"x": "{node.uuid} u", "y": "{node.uuid}"}, changes.Node["extra"])
}

func TestWhatIsNotSupportedIsRefused(t *testing.T) {
	t.Parallel()
	for _, condition := range []map[string]any{
		{"op": "matches", "args": []any{"a", "(?=a)"}}, {"op": "!contains", "args": map[string]any{"value": "a", "regex": `(a)\1`}},
		{"op": "contains", "args": []any{"a", "a{2000}"}},
	} {
		_, err := CheckCondition(condition)
		require.ErrorIs(t, err, ErrUnsupported)
	}
	_, err := CheckCondition(map[string]any{"op": "matches", "args": []any{"a", "("}})
	require.NoError(t, err, "Ironic finds it at the inspection")
	_, err = CheckAction(map[string]any{"op": "api-call", "args": map[string]any{"url": "http://192.0.2.1"}})
	require.EqualError(t, err, "the action api-call is not supported: a client of the API must not make the conductor send requests")
	require.Contains(t, Actions(states.Flamingo), "api-call")
	require.NotContains(t, Actions(states.Epoxy), "api-call")
	node := NodeAttributes(map[string]any{"uuid": "u"})
	for path, want := range map[string]string{
		"provision_state": "ironstate does not let a rule change this attribute",
		"clean_step/x":    "ironstate does not let a rule change this attribute",
	} {
		_, err := Apply(t.Context(), states.Hibiscus, []Rule{{Actions: []map[string]any{{"op": "set-attribute", "args": []any{path, "active"}}}}},
			Subject{Node: node})
		require.ErrorContains(t, err, want)
	}
}

func TestRulesAreAppliedByPriority(t *testing.T) {
	t.Parallel()
	rule := func(uuid string, priority int) Rule {
		return Rule{UUID: uuid, Priority: priority, Actions: []map[string]any{{"op": "extend-attribute", "args": []any{"extra/order", uuid}}}}
	}
	rules := []Rule{rule("a", 0), rule("b", 5), rule("c", 5), rule("d", 9)}
	changes, err := Apply(t.Context(), states.Hibiscus, rules, Subject{Node: NodeAttributes(nil)})
	require.NoError(t, err)
	require.Equal(t, []any{"d", "b", "c", "a"}, changes.Node["extra"].(map[string]any)["order"])
}

func TestTheTextOfReplacementFieldsIsBounded(t *testing.T) {
	t.Parallel()
	double := map[string]any{"op": "set-plugin-data", "args": map[string]any{"path": "x", "value": "{plugin_data[x]}{plugin_data[x]}"}}
	loop := make([]any, 40)
	double["loop"] = loop
	_, err := Apply(t.Context(), states.Hibiscus, []Rule{{Actions: []map[string]any{double}}}, Subject{
		Node:       NodeAttributes(nil),
		PluginData: map[string]any{"x": "xx"},
	})
	require.EqualError(t, err, "Inspection rule execution failed. Reason: the replacement fields make more than 4194304 bytes")
}
