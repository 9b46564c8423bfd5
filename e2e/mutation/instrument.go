// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"go/format"
	"slices"
	"strings"
)

// Names in switchCode: the switch function, and the environment variables that it reads.
const (
	switchName = "mutationAt"
	activeName = "MUTATION_ACTIVE"
	reachName  = "MUTATION_REACHED"
)

// switchCode is the file that is added to such a package. Its function returns the number
// of the active mutant, 0 for none, and records each reached unit.
//
//go:embed switch.txt
var switchCode string

// unit is an expression or a statement with its mutants.
type unit struct {
	number   int // among the package's, from 1
	from, to int
	kind     kind
	mutants  []int // indices
}

// units returns the switchable units of a package's files, by file, and the number of
// each mutant's unit. A mutant that needs a separate binary has none.
func units(mutants []mutant) (byFile map[string][]unit, numbers []int) {
	byFile = map[string][]unit{}
	number := 0
	for i, m := range mutants {
		numbers = append(numbers, 0)
		if m.kind == alone {
			continue
		}
		all := byFile[m.file]
		n := slices.IndexFunc(all, func(u unit) bool { return u.from == m.unit.from && u.to == m.unit.to })
		if n < 0 {
			n, number = len(all), number+1
			all = append(all, unit{number: number, from: m.unit.from, to: m.unit.to, kind: m.kind})
		}
		all[n].mutants = append(all[n].mutants, i)
		byFile[m.file], numbers[i] = all, all[n].number
	}
	return byFile, numbers
}

// instrument returns a file in which every unit calls the switch function. A mutant is
// identified by its index plus one.
func instrument(source []byte, units []unit, mutants []mutant) ([]byte, error) {
	type insertion struct {
		at, other int // other is the unit's other end
		text      string
	}
	var insertions []insertion
	for _, u := range units {
		before, after := u.around(mutants)
		insertions = append(insertions, insertion{u.from, u.to, before}, insertion{u.to, u.from, after})
	}
	// At equal offsets the ends of units come before the beginnings; the inner unit ends
	// before the outer one, and the outer unit begins before the inner one.
	slices.SortStableFunc(insertions, func(a, b insertion) int {
		switch aBegins, bBegins := a.other > a.at, b.other > b.at; {
		case a.at == b.at && aBegins == bBegins:
			return cmp.Compare(b.other, a.other)
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case aBegins:
			return 1
		default:
			return -1
		}
	})
	var out strings.Builder
	last := 0
	for _, i := range insertions {
		out.Write(source[last:i.at])
		out.WriteString(i.text)
		last = i.at
	}
	out.Write(source[last:])
	return format.Source([]byte(out.String()))
}

// around returns the code to insert before and after a unit.
func (u unit) around(mutants []mutant) (before, after string) {
	var text strings.Builder
	fmt.Fprintf(&text, "switch %s(%d) {\n", switchName, u.number)
	for _, i := range u.mutants {
		fmt.Fprintf(&text, "case %d:\n", i+1)
		if u.kind == condition {
			text.WriteString("return ")
		}
		text.WriteString(mutants[i].unit.text + "\n")
	}
	switch u.kind {
	case condition:
		return "func() bool { " + text.String() + "}\nreturn ", " }()"
	case simple:
		return "func() { " + text.String() + "default:\n", "\n} }()"
	default:
		return text.String() + "default:\n", "\n}"
	}
}
