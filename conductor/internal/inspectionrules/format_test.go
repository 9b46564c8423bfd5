// SPDX-License-Identifier: Apache-2.0

package inspectionrules

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// formatted returns what a rule makes of a text: the attribute extra/x that it sets to it.
func formatted(text string, inventory map[string]any) (any, error) {
	changes, err := Apply(context.Background(), states.Hibiscus, []Rule{{Actions: []map[string]any{
		{"op": "set-attribute", "args": map[string]any{"path": "extra/x", "value": text}},
	}}}, Subject{Node: NodeAttributes(map[string]any{"uuid": "u"}), Inventory: inventory})
	if err != nil {
		return nil, err
	}
	return changes.Node["extra"].(map[string]any)["x"], nil
}

func TestReplacementFieldsBehaveAsInPython(t *testing.T) {
	t.Parallel()
	inventory := map[string]any{
		"a": map[string]any{"b": "nested"}, "a:b": "colon", "a}b": "brace", "one": []any{"first"}, "word": "ab",
		"minus": json.Number("-3"), "n": json.Number("255"), "f": json.Number("1.5"), "true": true,
	}
	for text, want := range map[string]any{ // in Python 3
		"{inventory[a:b]}": "colon", "{inventory[a}b]}": "brace", "{inventory[one][0]}": "first", "{inventory[word][1]}": "b",
		"{inventory[one][1]}": "{inventory[one][1]}", "{inventory[word][2]}": "{inventory[word][2]}",
		"{inventory!": "{inventory!", "{inventory!x}": "{inventory!x}", "{inventory[a}": "{inventory[a}", "{inventory[]}": "{inventory[]}",
		"{inventory[a]b]}": "{inventory[a]b]}", "{inventory[a][b]}": "nested",
		"{inventory[word]:4}|": "ab  |", "{inventory[word]:>4}|": "  ab|", "{inventory[word]:^5}|": " ab  |", "{inventory[word]:.1}": "a",
		"{inventory[n]:5}|": "  255|", "{inventory[n]:<5}|": "255  |", "{inventory[minus]:05}": "-0003", "{inventory[minus]:5}": "   -3",
		"{inventory[n]:X}": "FF", "{inventory[n]:x}": "ff", "{inventory[n]:b}": "11111111", "{inventory[n]:+}": "+255",
		"{inventory[f]:.2f}": "1.50", "{inventory[f]:x}": "{inventory[f]:x}", "{inventory[true]:d}": "1",
		"{node.}": "{node.}", "{node..uuid}": "{node..uuid}", "{node.uuid}": "u", "{node[uuid]}": "u",
	} {
		got, err := formatted(text, inventory)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, kind := range map[string]string{"{inventory[f]:g}": "g", "{inventory[f]:.2}": "", "{inventory[n]:n}": "n"} { // Python has them
		_, err := formatted(text, inventory)
		require.EqualError(t, err, `Inspection rule execution failed. Reason: numbers of the format "`+kind+`" are not supported`, text)
	}
}

func TestReplacementFieldsMayMakeAsMuchAsTheBound(t *testing.T) {
	t.Parallel()
	for more, want := range map[int]bool{0: true, 1: false} {
		whole := strings.Repeat("x", maxText+more)
		got, err := formatted("{inventory[x]}", map[string]any{"x": whole})
		require.Equal(t, want, err == nil, more)
		require.Equal(t, want, got == whole, more)
	}
}

// TestAMissingKeyIsEmptySince2026_1 has texts whose fields name a missing key, also after the fields of a loop's item
// were replaced, and others.
func TestAMissingKeyIsEmptySince2026_1(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value string
		loop  []any
		empty bool // since 2026.1
	}{
		{"{inventory[none]}", nil, true},
		{"{item}", []any{"{inventory[none]}"}, true},
		{"{.x}", nil, false},
		{"{inventory[one][none]}", nil, false},
		{"{item}", []any{"{.x}"}, false},
	} {
		for series, empty := range map[states.Series]bool{states.Flamingo: false, states.Gazpacho: test.empty, states.Hibiscus: test.empty} {
			condition := map[string]any{"op": "is-empty", "args": map[string]any{"value": test.value}}
			if test.loop != nil {
				condition["loop"] = test.loop
			}
			require.Equal(t, empty, holds(t, series, condition, map[string]any{"one": []any{}}), "%v in %v", test, series)
		}
	}
}

// holds reports whether a condition holds for an inventory.
func holds(t *testing.T, series states.Series, condition, inventory map[string]any) bool {
	t.Helper()
	rule := Rule{
		Conditions: []map[string]any{condition},
		Actions:    []map[string]any{{"op": "add-trait", "args": map[string]any{"name": "CUSTOM_A"}}},
	}
	changes, err := Apply(t.Context(), series, []Rule{rule}, Subject{Node: NodeAttributes(nil), Inventory: inventory})
	require.NoError(t, err)
	return changes.Traits != nil
}
