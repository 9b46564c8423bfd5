// SPDX-License-Identifier: Apache-2.0

package inspectionrules

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// What a client writes into a rule costs no more than an inspection may.
func TestARuleThatCostsTooMuchFailsTheInspection(t *testing.T) {
	loop := make([]any, 9000)
	for i := range loop {
		loop[i] = json.Number("0")
	}
	members := map[string]any{}
	for i := range 100 {
		members[strconv.Itoa(i)] = nil
	}
	long := strings.Repeat("x", 500_000)
	action := func(op string, args map[string]any) map[string]any { return map[string]any{"op": op, "args": args} }
	looped := func(op string, args map[string]any) map[string]any {
		a := action(op, args)
		a["loop"] = loop
		return a
	}
	for name, c := range map[string]struct {
		action map[string]any
		want   string
	}{
		"copies of a text":    {looped("extend-attribute", map[string]any{"path": "extra/a", "value": long}), "more than 4194304 bytes"},
		"copies in the log":   {looped("log", map[string]any{"msg": long}), "more than 4194304 bytes"},
		"a failure each time": {looped("log", map[string]any{"msg": long + "{nothing}"}), "more than 4194304 bytes"},
		"copies of a list": {looped("extend-plugin-data", map[string]any{"path": "x", "value": loop, "plugin_data": nil}),
			"more than 4194304 bytes"},
		"copies of a list's texts": {looped("extend-attribute", map[string]any{"path": "extra/a", "value": []any{long}}),
			"more than 4194304 bytes"},
		"copies of an object": {looped("extend-attribute", map[string]any{"path": "extra/a", "value": members}), "more than 4194304 bytes"},
		"copies of a key": {looped("extend-attribute", map[string]any{"path": "extra/a", "value": map[string]any{long: nil}}),
			"more than 4194304 bytes"},
		"many fields": {
			action("log", map[string]any{"msg": strings.Repeat("{inventory[a]}", 10_001)}), "more than 10000 replacement fields",
		},
		"a long path": {
			action("set-attribute", map[string]any{"path": "extra" + strings.Repeat("/a", 25), "value": "x"}), "more than 25 parts",
		},
		"a long plugin path": {
			action("set-plugin-data", map[string]any{"path": strings.Repeat("a.", 25) + "a", "value": "x", "plugin_data": nil}),
			"more than 25 parts",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Apply(t.Context(), states.Latest(), []Rule{{Actions: []map[string]any{c.action}}}, Subject{
				Node: map[string]any{"extra": map[string]any{"a": []any{}}}, Inventory: map[string]any{"a": ""}, PluginData: map[string]any{},
			})
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTheRulesEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rule := Rule{Actions: []map[string]any{{"op": "set-attribute", "args": []any{"name", "n"}}}}
	changes, err := Apply(ctx, states.Latest(), []Rule{rule}, Subject{Node: NodeAttributes(nil)})
	require.ErrorContains(t, err, context.Canceled.Error())
	require.Empty(t, changes.Node)
}

func TestFieldsInFormatSpecificationsAreTwoDeepAtMost(t *testing.T) {
	f := formatter{&application{left: maxText, inventory: map[string]any{"n": json.Number("7"), "w": json.Number("3")}}, nil, false}
	text, err := f.expand("{inventory[n]:{inventory[w]}}", false, 0)
	require.NoError(t, err)
	require.Equal(t, "  7", text)
	for _, depth := range []int{3, 100_000} {
		_, err := f.expand(strings.Repeat("{inventory[n]:", depth)+strings.Repeat("}", depth), false, 0)
		require.ErrorIs(t, err, errNoField)
	}
}

func TestALargeRegularExpressionIsRefused(t *testing.T) {
	for regex, refused := range map[string]bool{
		"(?:" + strings.Repeat("x", 3300) + "){1000}": true, strings.Repeat("x", 10_001): true,
		strings.Repeat("(?:a{1000}){1}", 20): true, "[0-9a-f]{1,64}": false, "(a|b){100}": false, strings.Repeat("x", 5000): false,
	} {
		_, err := CheckCondition(map[string]any{"op": "matches", "args": map[string]any{"value": "x", "regex": regex}})
		require.Equal(t, refused, err != nil, "%.20s", regex)
		_, err = match(regex, "x", false)
		require.Equal(t, refused, err != nil, "%.20s", regex)
	}
}
