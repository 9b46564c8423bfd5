// SPDX-License-Identifier: Apache-2.0

package differ

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// A field is a field of objects that clients set.
type field struct {
	name  string
	since states.APIVersion // 0 for a field of 2023.1
	share int               // of the changes of an object; 0 for a field that has the share of the field before
	value *template         // nil for a field that no client sets
}

// table has the fields of the objects of a path.
type table struct {
	object template // of the request that creates one
	fields []string // in 2023.1
	set    []field
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
			f := field{}
			name, values, _ := strings.Cut(rest, " ")
			f.name = name
			if v, err := states.ParseAPIVersion(word); err == nil {
				f.since = v
			} else if f.share, err = strconv.Atoi(word); err != nil && word != "+" {
				panic("differ: neither a share nor a version: " + line)
			}
			if values != "" {
				value := mustTemplate(values)
				if s, err := selectionFrom(value, true); err == nil {
					value.value = s
				}
				f.value = &value
			}
			t.set = append(t.set, f)
		}
	}
	return all
}

// fieldsOf returns the fields of the objects of a path in the series.
func (g *generator) fieldsOf(path string) []string {
	t := tables[path]
	fields := t.fields[:len(t.fields):len(t.fields)]
	for _, f := range t.set {
		if f.since != 0 && f.since <= g.series.MaxAPIVersion() {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// valueOf returns the name of a field of the objects of a path that a client may set, and a value. In a few cases it
// is a later field than 2023.1's. In 2023.1, which has none, it takes no random number for that.
func (g *generator) valueOf(path string) (name string, value any) {
	var later []field
	var groups [][]field
	var shares []int
	for _, f := range tables[path].set {
		switch {
		case f.since != 0:
			if f.since <= g.series.MaxAPIVersion() && f.value != nil {
				later = append(later, f)
			}
		case f.share == 0:
			groups[len(groups)-1] = append(groups[len(groups)-1], f)
		default:
			groups, shares = append(groups, []field{f}), append(shares, f.share)
		}
	}
	from := later
	if len(later) == 0 || !g.chance(20) {
		if len(groups) == 0 { // a series before runbooks
			return "public", true
		}
		from = groups[g.weighted(shares)]
	}
	f := from[0]
	if len(from) > 1 || from[0].since != 0 {
		f = pick(g, from...)
	}
	return f.name, g.eval(*f.value)
}

// weighted returns the index of one of the weights.
func (g *generator) weighted(weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := g.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	panic("unreachable")
}
