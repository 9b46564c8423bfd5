package main

import (
	"cmp"
	"fmt"
	"go/format"
	"slices"
	"strings"
)

// Names in the code of a package that holds its mutants: the function, and the
// variables of the environment that it goes by.
const (
	switchName = "mutationAt"
	activeName = "MUTATION_ACTIVE"
	reachName  = "MUTATION_REACHED"
)

// switchCode is the file that is added to such a package. The function returns which
// mutant is active, 0 for none, and writes down each unit that is reached.
const switchCode = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutationActive, _  = strconv.Atoi(os.Getenv("` + activeName + `"))
	mutationReached, _ = os.OpenFile(os.Getenv("` + reachName + `"), os.O_APPEND|os.O_WRONLY, 0)
	mutationSeen       [%d]atomic.Bool
)

func ` + switchName + `(unit int) int {
	if mutationReached != nil && !mutationSeen[unit].Swap(true) {
		mutationReached.WriteString(strconv.Itoa(unit) + "\n")
	}
	return mutationActive
}
`

// unit is an expression or a statement with its mutants.
type unit struct {
	number   int
	from, to int
	kind     kind
	mutants  []int // indices
}

// units returns what can be switched in the files of a package, by the file. The
// number of a unit is its place among all of the package.
func units(mutants []mutant) map[string][]unit {
	type place struct {
		file     string
		from, to int
	}
	numbers := map[place]int{}
	byFile := map[string][]unit{}
	at := map[place]int{}
	for i, m := range mutants {
		if m.kind == alone {
			continue
		}
		p := place{m.file, m.unit.from, m.unit.to}
		if _, ok := numbers[p]; !ok {
			numbers[p] = len(numbers)
			at[p] = len(byFile[m.file])
			byFile[m.file] = append(byFile[m.file], unit{number: numbers[p], from: p.from, to: p.to, kind: m.kind})
		}
		u := &byFile[m.file][at[p]]
		u.mutants = append(u.mutants, i)
	}
	return byFile
}

// instrument returns a file in which every unit asks which mutant is active. Mutants
// are active by their index plus one.
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
	// Where several are in one place, what ends comes first, the inner unit before
	// the outer one; then what begins, the outer one before the inner.
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

// around returns what stands before and after a unit.
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
