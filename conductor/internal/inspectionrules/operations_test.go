// SPDX-License-Identifier: Apache-2.0

package inspectionrules

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestWhatHasNoEffectIsLogged(t *testing.T) {
	t.Parallel()
	type args = map[string]any
	for name, test := range map[string]struct {
		op   string
		args args
		want []Log
	}{
		"a message":                 {"log", args{"msg": "m {node.uuid}", "level": "ERROR"}, []Log{{"error", "m u"}}},
		"a message without a level": {"log", args{"msg": "m"}, []Log{{"info", "m"}}},
		"a field without a value": {
			"log", args{"msg": "{node.none}"},
			[]Log{{"warning", "Interpolation failed: {node.none}: no such value"}, {"info", "{node.none}"}},
		},
		"a trait": {"remove-trait", args{"name": "CUSTOM_A"}, nil},
		"a trait that is not there": {
			"remove-trait", args{"name": "CUSTOM_B"},
			[]Log{{"warning", "Failed to remove trait CUSTOM_B: the node does not have it"}},
		},
		"plugin data": {"unset-plugin-data", args{"path": "x"}, []Log{{"warning", "Path x not found"}}},
		"an unknown attribute": {
			"set-attribute", args{"path": "none", "value": "x"},
			[]Log{{"warning", "Ignored: there is no attribute none of the node"}},
		},
		"a list that is unknown": {
			"extend-attribute", args{"path": "none", "value": "x"},
			[]Log{{"warning", "Ignored: there is no attribute none of the node"}},
		},
		"a whole attribute": {
			"del-attribute", args{"path": "extra"},
			[]Log{{"warning", "Ignored: the attribute extra as a whole cannot be deleted of the node"}},
		},
		"an attribute of a port": {
			"set-port-attribute", args{"port_id": "p", "path": "none", "value": "x"},
			[]Log{{"warning", "Ignored: there is no attribute none of a port"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, err := Apply(t.Context(), states.Hibiscus, []Rule{{Actions: []map[string]any{{"op": test.op, "args": test.args}}}}, Subject{
				Node:   NodeAttributes(map[string]any{"uuid": "u"}),
				Traits: []string{"CUSTOM_A"},
				Ports:  []map[string]any{PortAttributes(map[string]any{"uuid": "p"})},
			})
			require.NoError(t, err)
			require.Equal(t, test.want, changes.Logs)
		})
	}
}

func TestAListInThePluginDataHasAValueOnceIfItIsUnique(t *testing.T) {
	t.Parallel()
	for unique, want := range map[any][]any{nil: {"a", "a", "a"}, true: {"a"}, false: {"a", "a", "a"}} {
		action := map[string]any{
			"op":   "extend-plugin-data",
			"args": map[string]any{"path": "x", "value": "a", "unique": unique},
			"loop": []any{"1", "2"},
		}
		changes, err := Apply(t.Context(), states.Hibiscus, []Rule{{Actions: []map[string]any{action}}}, Subject{
			Node: NodeAttributes(nil), PluginData: map[string]any{"x": []any{"a"}},
		})
		require.NoError(t, err)
		require.Equal(t, want, changes.PluginData["x"], unique)
	}
}

func TestAPathBelowATextIsRefused(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"name/x/y": "name is no object", "name/x": "name is no object",
		"extra/a/b/c": "extra/a is no object", "extra/a/b": "extra/a is no object",
	} {
		action := map[string]any{"op": "set-attribute", "args": map[string]any{"path": path, "value": "v"}}
		_, err := Apply(t.Context(), states.Hibiscus, []Rule{{Actions: []map[string]any{action}}}, Subject{
			Node: NodeAttributes(map[string]any{"name": "n", "extra": map[string]any{"a": "text"}}),
		})
		require.EqualError(t, err, "Inspection rule action execution failed. Reason: Failed to set attribute "+path+" with value v: "+want)
	}
}

func TestRulesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	values := []any{json.Number("1"), "1"}
	rules := []Rule{
		{UUID: "low", Conditions: []map[string]any{{"op": "eq", "args": map[string]any{"values": values, "force_strings": true}}}},
		{UUID: "high", Priority: 1},
	}
	_, err := Apply(t.Context(), states.Flamingo, rules, Subject{Node: NodeAttributes(nil)})
	require.NoError(t, err)
	require.Equal(t, "low", rules[0].UUID)
	require.Equal(t, []any{json.Number("1"), "1"}, values)
}

func TestAnAddressMayBeANumber(t *testing.T) {
	t.Parallel()
	// 10.1.2.3, 10.2.2.3, 192.1.2.3
	for address, want := range map[json.Number]bool{"167838211": true, "167903747": false, "3221291523": false} {
		for _, subnet := range []string{"10.1.0.0/16", "10.1.2.3"} {
			condition := map[string]any{"op": "in-net", "args": map[string]any{"address": address, "subnet": subnet}}
			require.Equal(t, want, holds(t, states.Hibiscus, condition, nil), "%v in %v", address, subnet)
		}
	}
}

func TestValuesOfDifferentTypesHaveNoOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		op   string
		x, y any
		want string
	}{
		{"lt", "a", json.Number("1.5"), "'<' not supported between instances of 'str' and 'float'"},
		{"gt", "a", json.Number("1"), "'>' not supported between instances of 'str' and 'int'"},
		{"gt", json.Number("2"), nil, "'>' not supported between instances of 'int' and 'NoneType'"},
		{"lt", []any{"a", true}, []any{"a", "b"}, "'<' not supported between instances of 'bool' and 'str'"},
	} {
		rule := Rule{UUID: "r", Conditions: []map[string]any{{"op": test.op, "args": map[string]any{"values": []any{test.x, test.y}}}}}
		_, err := Apply(t.Context(), states.Hibiscus, []Rule{rule}, Subject{Node: NodeAttributes(map[string]any{"uuid": "u"})})
		require.EqualError(t, err, "Failed to apply rule r to node u: "+test.want)
	}
	for op, want := range map[string]bool{"lt": false, "gt": false, "eq": true} {
		condition := map[string]any{"op": op, "args": map[string]any{"values": []any{"a", "a"}}}
		require.Equal(t, want, holds(t, states.Hibiscus, condition, nil), op)
	}
}

func TestTheWordsOfConditions(t *testing.T) {
	t.Parallel()
	words := Operators()
	require.Len(t, words, 22)
	require.Equal(t, "eq", words[0])
	require.Equal(t, "!is-false", words[21])
}

func TestTheStoredFormOfAnOperation(t *testing.T) {
	t.Parallel()
	for _, args := range []any{[]any{"x", "v"}, map[string]any{"path": "x", "value": "v"}} {
		stored, err := CheckAction(map[string]any{"op": "set-plugin-data", "args": args})
		require.NoError(t, err)
		want := any([]any{"x", "v", map[string]any{}})
		if _, byName := args.(map[string]any); byName {
			want = map[string]any{"path": "x", "value": "v", "plugin_data": map[string]any{}}
		}
		require.Equal(t, want, stored["args"])
		changes, err := Apply(t.Context(), states.Hibiscus, []Rule{{Actions: []map[string]any{stored}}}, Subject{Node: NodeAttributes(nil)})
		require.NoError(t, err)
		require.Equal(t, map[string]any{"x": "v"}, changes.PluginData)
	}
	_, err := CheckAction(map[string]any{"op": "log", "args": map[string]any{"c": "1", "b": "1", "a": "1", "d": "1"}})
	require.EqualError(t, err, "missing required argument(s): msg; unexpected argument(s): a, b, c, d")
	_, err = CheckCondition(map[string]any{"op": "matches", "args": []any{"a", "(?=a)"}, "loop": []any{"x"}})
	require.NoError(t, err, "the text of the item may make it another expression")
}

func TestEachOperationHasItsFunction(t *testing.T) {
	for _, o := range operators {
		require.NotNil(t, o.decide, o.name)
	}
	for _, o := range actions {
		require.Equal(t, o.name == apiCall, o.do == nil, o.name)
	}
}

func TestARegularExpressionThatIsTooDeepIsRefused(t *testing.T) {
	for _, depth := range []int{900, 998, 999, 1000, 5000} {
		regex := strings.Repeat("(", depth) + "a+" + strings.Repeat(")", depth)
		for _, operator := range []string{"matches", "contains"} {
			_, refused := CheckCondition(map[string]any{"op": operator, "args": map[string]any{"value": "x", "regex": regex}})
			_, err := match(regex, "aa", operator == "matches")
			require.Equal(t, err != nil, refused != nil, "%s, %d", operator, depth)
			if refused != nil {
				require.ErrorIs(t, refused, ErrUnsupported)
			}
		}
	}
}
