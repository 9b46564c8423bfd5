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
			_, err := p.Apply(listOf(c.list))
			require.Equal(t, c.refused, err != nil, "%v", err)
		})
	}
}

// FuzzWork applies patches and bounds the elements that they move and the memory that they need, in place of their time.
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
			path := []string{"/extra/list/0", "/extra/list/-", fmt.Sprintf("/extra/list/%d", i), "/extra/list", "/extra/list/0/a", "/extra/other"}[int(c)/3%6]
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
		_, _ = p.Apply(listOf(3000))
	}
}
