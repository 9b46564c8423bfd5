// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// listOf returns a document whose list has n elements.
func listOf(n int) map[string]any {
	return map[string]any{"extra": map[string]any{"list": slices.Repeat([]any{"x"}, n)}}
}

// asItIs shows each field as it is.
func asItIs(_ string, value any) any { return value }

// moved applies the operations to a document and returns the elements of lists that they moved.
func moved(document map[string]any, operations ...Operation) (int, string) {
	a := applier{}
	var patched any = document
	for _, op := range operations {
		var reason string
		if patched, reason = a.apply(op, patched, strings.Split(op.Path[1:], "/")); reason != "" {
			return a.moved, reason
		}
	}
	return a.moved, ""
}

func TestAPatchIsAppliedAgainAfterAConflict(t *testing.T) {
	p := Patch{
		{Op: "add", Path: "/extra/m", Field: "extra", value: map[string]any{"a": json.Number("1")}, has: true},
		{Op: "remove", Path: "/extra/m/a", Field: "extra"},
		{Op: "add", Path: "/extra/l", Field: "extra", value: []any{"x", "y", "z"}, has: true},
		{Op: "remove", Path: "/extra/l/0", Field: "extra"},
	}
	for range 3 {
		document := map[string]any{"extra": map[string]any{}}
		patched, err := p.Apply(document, asItIs)
		require.NoError(t, err)
		require.Equal(t, map[string]any{"extra": map[string]any{"m": map[string]any{}, "l": []any{"y", "z"}}}, patched)
		require.Equal(t, map[string]any{"extra": map[string]any{}}, document)
	}
}

func TestAPatchMovesABoundedNumberOfElements(t *testing.T) {
	for _, c := range []struct {
		name    string
		list    int
		op      Operation
		refused bool
	}{
		{"inserts into a list of usual size", 100, Operation{Op: "add", Path: "/extra/list/0"}, false},
		{"inserts into a long list", 100_000, Operation{Op: "add", Path: "/extra/list/0"}, true},
		{"removals from a long list", 100_000, Operation{Op: "remove", Path: "/extra/list/0"}, true},
		{"appends to a long list", 100_000, Operation{Op: "add", Path: "/extra/list/-"}, false},
		{"replacements in a long list", 100_000, Operation{Op: "replace", Path: "/extra/list/0"}, false},
		{"removals from the end of a long list", 100_000, Operation{Op: "remove", Path: "/extra/list/99000"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, reason := moved(listOf(c.list), slices.Repeat([]Operation{c.op}, maxOperations)...)
			require.Equal(t, c.refused, reason == tooMuchMoved, "%d moved: %s", n, reason)
			require.LessOrEqual(t, n, maxMoved+c.list, "the operation that is refused is only counted")

			p := slices.Repeat(Patch{c.op}, maxOperations)
			for i := range p {
				p[i].Field, p[i].has = "extra", true
			}
			_, err := p.Apply(listOf(c.list), asItIs)
			require.Equal(t, c.refused, err != nil, "%v", err)
		})
	}
}

// operation returns an operation with a value, nil for none.
func operation(op, path string, value any) Operation {
	field, _, _ := strings.Cut(path[1:], "/")
	return Operation{Op: op, Path: path, Field: field, value: value, has: value != nil}
}

func TestAPatchChangesElementsOfLists(t *testing.T) {
	t.Parallel()
	const member = "Couldn't apply patch '{'op': '%s', 'path': '%s'%s}'. Reason: %s"
	for _, c := range []struct {
		op, path string
		value    any
		want     []any
		reason   string
	}{
		{"add", "/list/0", "x", []any{"x", "a", map[string]any{}}, ""},
		{"add", "/list/1", "x", []any{"a", "x", map[string]any{}}, ""},
		{"add", "/list/2", "x", []any{"a", map[string]any{}, "x"}, ""},
		{"add", "/list/-", "x", []any{"a", map[string]any{}, "x"}, ""},
		{"add", "/list/1/b", "x", []any{"a", map[string]any{"b": "x"}}, ""},
		{"replace", "/list/0", "x", []any{"x", map[string]any{}}, ""},
		{"replace", "/list/1", "x", []any{"a", "x"}, ""},
		{"remove", "/list/0", nil, []any{map[string]any{}}, ""},
		{"remove", "/list/1", nil, []any{"a"}, ""},
		{"add", "/list/3", "x", nil, "can't insert outside of list"},
		{"add", "/list/01", "x", []any{"a", "x", map[string]any{}}, ""},
		{"add", "/list/0x", "x", nil, "'0x' is not a valid sequence index"},
		{"add", "/list/+1", "x", nil, "'+1' is not a valid sequence index"},
		{"add", "/list/-1", "x", nil, "'-1' is not a valid sequence index"},
		{"add", "/list/x", "x", nil, "'x' is not a valid sequence index"},
		{"add", "/list/2/b", "x", nil, "index '2' is out of bounds"},
		{"add", "/list/0/b", "x", nil, "'b' is not a valid sequence index"},
		{"replace", "/list/2", "x", nil, "can't replace outside of list"},
		{"replace", "/list/-", "x", nil, "'path' with '-' can't be applied to 'replace' operation"},
		{"remove", "/list/2", nil, nil, "can't remove a non-existent object '2'"},
		{"remove", "/list/-", nil, nil, "'-' is not a valid sequence index"},
	} {
		patched, err := Patch{operation(c.op, c.path, c.value)}.Apply(map[string]any{"list": []any{"a", map[string]any{}}}, asItIs)
		if c.reason == "" {
			require.NoError(t, err, "%s %s", c.op, c.path)
			require.Equal(t, map[string]any{"list": c.want}, patched, "%s %s", c.op, c.path)
			continue
		}
		value := ""
		if c.value != nil {
			value = ", 'value': 'x'"
		}
		require.ErrorContains(t, err, fmt.Sprintf(member, c.op, c.path, value, c.reason))
	}
}

func TestAPatchAddsNoField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ op, path, reason string }{
		{"add", "/b", "Adding a new attribute (/b) to the root of the resource is not allowed"},
		{"add", "/b/c", "Reason: member 'b' not found"},
		{"replace", "/b", "Reason: can't replace a non-existent object 'b'"},
	} {
		_, err := Patch{operation(c.op, c.path, "x")}.Apply(map[string]any{"a": nil}, asItIs)
		require.ErrorContains(t, err, c.reason)
	}
}

func TestAFaultRepeatsTheObjectWithoutTheMemberAsResponsesShowIt(t *testing.T) {
	t.Parallel()
	document := map[string]any{
		"open": map[string]any{"l": []any{0, map[string]any{"a": "b"}}}, "closed": map[string]any{"key": "hidden"},
		"partly": map[string]any{"shown": map[string]any{"c": "d"}, "gone": map[string]any{"key": "hidden"}},
	}
	shown := func(field string, value any) any {
		switch object := value.(map[string]any); field {
		case "open":
			return value
		case "partly":
			return map[string]any{"shown": object["shown"], "gone": "******"}
		}
		return nil
	}
	remove, add := operation("remove", "/open", nil), func(path string) Operation { return operation("add", path, "v") }
	for _, c := range []struct {
		patch Patch
		want  string
	}{
		{Patch{add("/open/x/y")}, "member 'x' not found in {'l': [0, {'a': 'b'}]}"},
		{Patch{add("/open/l/1/x/y")}, "member 'x' not found in {'a': 'b'}"},
		{Patch{add("/open/n"), add("/open/x/y")}, "member 'x' not found in {'l': [0, {'a': 'b'}], 'n': 'v'}"},
		{Patch{remove, add("/open/x/y")}, "member 'open' not found"},
		{Patch{add("/closed/x/y")}, "member 'x' not found"},
		{Patch{add("/partly/x/y")}, "member 'x' not found in {'gone': '******', 'shown': {'c': 'd'}}"},
		{Patch{add("/partly/shown/x/y")}, "member 'x' not found in {'c': 'd'}"},
		{Patch{add("/partly/gone/x/y")}, "member 'x' not found"},
		{Patch{add("/none/x")}, "member 'none' not found"},
	} {
		_, err := c.patch.Apply(document, shown)
		require.Error(t, err)
		_, reason, _ := strings.Cut(err.Error(), "Reason: ")
		require.Equal(t, c.want, reason, "%v", c.patch)
	}
}

func TestAPatchReplacesAFieldThatItSetsOrOfWhichItRemovesAPart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		op, path string
		want     bool
	}{
		{"add", "/a", true},
		{"replace", "/a", true},
		{"remove", "/a", true},
		{"remove", "/a/b", true},
		{"add", "/a/b", false},
		{"replace", "/a/b", false},
		{"remove", "/ab/c", false},
		{"remove", "/b/a", false},
		{"add", "/b", false},
	} {
		require.Equal(t, c.want, Patch{operation(c.op, c.path, nil)}.Replaces("a"), "%s %s", c.op, c.path)
	}
}

func TestAPatchedDocumentSharesNothingWithTheDocument(t *testing.T) {
	t.Parallel()
	document := map[string]any{"list": []string{"a"}, "deep": map[string]any{"list": []any{"b"}}, "lists": []any{[]any{"c"}}}
	patched, err := Patch{operation("add", "/list/0", "x"), operation("add", "/deep/list/-", "y"),
		operation("add", "/lists/0/-", "z")}.Apply(document, asItIs)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"list": []any{"x", "a"}, "deep": map[string]any{"list": []any{"b", "y"}},
		"lists": []any{[]any{"c", "z"}}}, patched)
	require.Equal(t, map[string]any{"list": []string{"a"}, "deep": map[string]any{"list": []any{"b"}}, "lists": []any{[]any{"c"}}}, document)

	for _, unfit := range []any{make(chan int), []any{make(chan int)}, map[string]any{"a": make(chan int)}} {
		_, err := Patch{}.Apply(map[string]any{"a": unfit}, asItIs)
		require.ErrorContains(t, err, "unsupported type", "%T has no JSON form", unfit)
	}
}

func TestAnInsertMovesTheElementsBehindItOrAllIfTheListGrows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ length, capacity, index, more, moved int }{
		{3, 4, 1, 1, 2},
		{3, 3, 1, 1, 3},
		{3, 3, 1, 0, 2},
		{3, 8, 3, 1, 0},
		{3, 3, 3, 1, 3},
	} {
		a := applier{moved: maxMoved - c.moved}
		require.True(t, a.move(make([]any, c.length, c.capacity), c.index, c.more), "%+v: as many as permitted", c)
		require.Equal(t, maxMoved, a.moved, "%+v", c)
		a = applier{moved: maxMoved - c.moved + 1}
		require.False(t, a.move(make([]any, c.length, c.capacity), c.index, c.more), "%+v: one more", c)
	}
}

// FuzzWork applies patches and bounds the elements that they move and the memory that they need, in place of their
// time.
func FuzzWork(f *testing.F) {
	f.Add(3, []byte{0, 1, 2, 3, 4, 5, 250, 0, 0, 0})
	f.Add(30_000, slices.Repeat([]byte{0}, maxOperations))
	f.Add(30_000, slices.Repeat([]byte{1}, maxOperations))
	f.Add(0, slices.Repeat([]byte{2, 3, 4, 5}, 100))
	f.Fuzz(func(t *testing.T, length int, choices []byte) {
		length = max(0, length) % 50_000
		choices = choices[:min(len(choices), maxOperations)]
		var operations []Operation
		for i, c := range choices {
			path := []string{"/extra/list/0", "/extra/list/-", fmt.Sprintf("/extra/list/%d", i), "/extra/list", "/extra/list/0/a",
				"/extra/other"}[int(c)/3%6]
			operations = append(operations, Operation{Op: []string{"add", "remove", "replace"}[c%3], Path: path, value: []any{json.Number("1")}})
		}
		n, reason := moved(listOf(length), operations...)
		require.LessOrEqual(t, n, maxMoved+length+len(operations))
		if reason == tooMuchMoved {
			require.Greater(t, n, maxMoved)
		}
		if n <= maxMoved {
			allocated := testing.AllocsPerRun(1, func() { moved(listOf(length), operations...) })
			require.LessOrEqual(t, allocated, float64(100+20*len(operations)))
		}
	})
}

func BenchmarkThousandInserts(b *testing.B) {
	p := slices.Repeat(Patch{{Op: "add", Path: "/extra/list/0", Field: "extra", value: json.Number("1"), has: true}}, maxOperations)
	for b.Loop() {
		_, _ = p.Apply(listOf(3000), asItIs)
	}
}
