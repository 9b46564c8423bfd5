// SPDX-License-Identifier: Apache-2.0

package differ

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// A field is a field of objects that clients set.
type field struct {
	name  string
	since states.APIVersion // 0 for a field of 2023.1
	value *template         // nil for a field that no client sets
}

// share is a share of the changes of an object, which some fields have together.
type share struct {
	weight int
	of     []field
}

// table has the fields of the objects of a path.
type table struct {
	object template // of the request that creates one
	fields []string // in 2023.1
	shares []share  // of the fields of 2023.1 that clients set
	later  []field
}

//go:embed fields.txt
var fieldsText string

// tables are the tables in fields.txt by the path of the list of objects.
var tables = parseTables(fieldsText)

// parseTables parses fields.txt. It panics for a malformed line.
func parseTables(text string) map[string]*table {
	all := map[string]*table{}
	var t *table
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "" || word == "#":
		case word[0] == '/':
			t = &table{}
			all[word] = t
		case word == "object":
			t.object = mustTemplate(rest)
		case word == "fields":
			t.fields = append(t.fields, strings.Fields(rest)...)
		default:
			name, values, _ := strings.Cut(rest, " ")
			f := field{name: name}
			if values != "" {
				value := mustTemplate(values)
				if s, err := selectionFrom(value, true); err == nil {
					value.value = s
				}
				f.value = &value
			}
			t.add(word, f)
		}
	}
	return all
}

// add adds a field that clients set, by the first word of its line. It panics for a malformed one.
func (t *table) add(word string, f field) {
	version, notVersion := states.ParseAPIVersion(word)
	weight, notNumber := strconv.Atoi(word)
	switch {
	case notVersion == nil:
		f.since = version
		t.later = append(t.later, f)
	case notNumber == nil:
		t.shares = append(t.shares, share{weight, []field{f}})
	case word == "+":
		last := &t.shares[len(t.shares)-1]
		last.of = append(last.of, f)
	default:
		panic("differ: neither a share nor a version: " + word)
	}
}

// fieldsOf returns the fields of the objects of a path in the series.
func (g *generator) fieldsOf(path string) []string {
	t := tables[path]
	fields := t.fields[:len(t.fields):len(t.fields)]
	for _, f := range t.later {
		if f.since <= g.series.MaxAPIVersion() {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// valueOf returns the name of a field of the objects of a path that a client may set, and a value. In a few cases it
// is a later field than 2023.1's. In 2023.1, which has none, it takes no random number for that.
func (g *generator) valueOf(path string) (name string, value any) {
	t := tables[path]
	later := slices.DeleteFunc(slices.Clone(t.later), func(f field) bool { return f.value == nil || f.since > g.series.MaxAPIVersion() })
	var f field
	switch {
	case len(later) > 0 && g.chance(20):
		f = pick(g, later...)
	case len(t.shares) == 0: // a series before runbooks
		return "public", true
	default:
		one := pickBy(g, t.shares, func(s share) int { return s.weight })
		if f = one.of[0]; len(one.of) > 1 {
			f = pick(g, one.of...)
		}
	}
	return f.name, g.eval(*f.value)
}
