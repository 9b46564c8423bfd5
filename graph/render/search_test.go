// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

// BenchmarkLayouts searches for better layouts than those in layouts.json of package graph, by as many random changes
// of each as there are iterations, and prints the hints that differ, in the words of DOT:
//
//	go test ./graph/render -run '^$' -bench Layouts/topDown -benchtime 5000x
//
// A change is kept if the drawings that have the layout cost no more in all. A person looks at the result, and writes
// it into layouts.json. An iteration takes up to a second.
func BenchmarkLayouts(b *testing.B) {
	for name, fits := range layouts {
		b.Run(name, func(b *testing.B) {
			var dots []string
			for _, d := range drawingsOf(fits) {
				dots = append(dots, dotOf(b, d))
			}
			random := rand.New(rand.NewPCG(1, 1))
			best := readHints(dots[0])
			for _, dot := range dots { // a series may lack states
				maps.Copy(best, readHints(dot))
			}
			least, err := best.cost(b.Context(), dots, 1<<60)
			require.NoError(b, err)
			first, before := best, least
			for b.Loop() {
				next := best.changed(random)
				sum, err := next.cost(b.Context(), dots, least)
				require.NoError(b, err)
				if sum <= least {
					best, least = next, sum
				}
			}
			b.ReportMetric(float64(before), "cost-before")
			b.ReportMetric(float64(least), "cost-after")
			for _, id := range slices.Sorted(maps.Keys(best)) {
				if one := best[id]; !reflect.DeepEqual(first[id], one) {
					fmt.Println(name, id, one.place, one.attributes)
				}
			}
		})
	}
}

// layouts says which diagrams have a layout of package graph.
var layouts = map[string]func(graph.Diagram) bool{
	"topDown": func(d graph.Diagram) bool { return !d.LeftToRight && d.Table.Series() >= states.Flamingo },
	"middle": func(d graph.Diagram) bool {
		s := d.Table.Series()
		return !d.LeftToRight && s >= states.Bobcat && s < states.Flamingo
	},
	"early":       func(d graph.Diagram) bool { return !d.LeftToRight && d.Table.Series() < states.Bobcat },
	"leftToRight": func(d graph.Diagram) bool { return d.LeftToRight },
}

// drawingsOf returns the diagrams for which a layout is made: of all machines, whole and with their requests alone, of
// the newest also in comparison with Kilo, and from left to right of the newest alone.
func drawingsOf(fits func(graph.Diagram) bool) []graph.Diagram {
	latest := states.Latest().Table()
	all := []graph.Diagram{
		{Table: latest, Since: states.Kilo.Table()}, {Table: latest, LeftToRight: true}, {Table: latest, LeftToRight: true, RequestsOnly: true},
	}
	for table := range distinct {
		all = append(all, graph.Diagram{Table: table}, graph.Diagram{Table: table, RequestsOnly: true})
	}
	return slices.DeleteFunc(all, func(d graph.Diagram) bool { return !fits(d) })
}

func dotOf(t testing.TB, d graph.Diagram) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, d.WriteDOT(&text))
	return text.String()
}

// hints are the layout hints of lines of DOT, by the ID of the part, state or edge.
type hints map[string]hint

type hint struct {
	part       string            // of a state
	place      int               // among the parts, or among the states of the part
	attributes map[string]string // its attributes among hintNames
}

var (
	ids       = regexp.MustCompile(`id="((?:part|state)-[^"]*)"`)
	hintNames = regexp.MustCompile(`(labeljust|labelloc|constraint|minlen|weight)="?(\w+)"?[,;]?`)
)

// between is the ID of the states between parts, which have no box.
const between = "part-"

// split returns the lines before the parts, the lines of each part, the lines of edges, and the rest.
func split(dot string) (head []string, parts [][]string, edges, rest []string) {
	for line := range strings.Lines(dot) {
		switch {
		case strings.HasPrefix(line, "\tsubgraph"):
			parts = append(parts, []string{line})
		case strings.HasPrefix(line, "\t\t"), line == "\t}\n":
			parts[len(parts)-1] = append(parts[len(parts)-1], line)
		case len(parts) == 0:
			head = append(head, line)
		case strings.Contains(line, "->"):
			edges = append(edges, line)
		default:
			rest = append(rest, line)
		}
	}
	return head, parts, edges, rest
}

// idOf returns the ID in a line of a part, as package graph writes it.
func idOf(line string) string {
	if found := ids.FindStringSubmatch(line); found != nil {
		return found[1]
	}
	return between
}

func isState(line string) bool { return strings.HasPrefix(idOf(line), "state-") }

// partOf returns the ID of a part, of which the second line has its attributes.
func partOf(part []string) string {
	if isState(part[1]) {
		return between
	}
	return idOf(part[1])
}

// nodes returns the words of states, as in IDs, by their names in DOT.
func nodes(parts [][]string) map[string]string {
	byName := make(map[string]string)
	for _, line := range slices.Concat(parts...) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), "["); isState(line) {
			byName[name] = strings.TrimPrefix(idOf(line), "state-")
		}
	}
	return byName
}

// ends returns the names of the states of an edge in DOT.
func ends(line string) (from, to string) {
	from, to, _ = strings.Cut(strings.TrimSpace(line), "->")
	to, _, _ = strings.Cut(to, "[")
	return from, to
}

// edgeID returns the ID of an edge, which an invisible one does not have in DOT.
func edgeID(byName map[string]string, line string) string {
	from, to := ends(line)
	return "edge-" + byName[from] + "-" + byName[to]
}

// readHints returns the hints in a text of DOT.
func readHints(dot string) hints {
	all := make(hints)
	add := func(id, line, part string, place int) {
		h := hint{part, place, map[string]string{}}
		for _, found := range hintNames.FindAllStringSubmatch(line, -1) {
			h.attributes[found[1]] = found[2]
		}
		all[id] = h
	}
	_, parts, edges, _ := split(dot)
	for n, part := range parts {
		add(partOf(part), part[1], "", n)
		for place, line := range part {
			if isState(line) {
				add(idOf(line), line, partOf(part), place)
			}
		}
	}
	for _, line := range edges {
		add(edgeID(nodes(parts), line), line, "", 0)
	}
	return all
}

// apply returns a text of DOT with the hints in place of its own. The lines are in the order in which package graph
// writes them.
func (h hints) apply(dot string) string {
	head, parts, edges, rest := split(dot)
	slices.SortStableFunc(parts, func(a, b []string) int { return cmp.Compare(h[partOf(a)].place, h[partOf(b)].place) })
	number := make(map[string]int) // of states, by their names in DOT
	for _, part := range parts {
		slices.SortStableFunc(part, func(a, b string) int {
			if !isState(a) || !isState(b) {
				return 0
			}
			return cmp.Compare(h[idOf(a)].place, h[idOf(b)].place)
		})
		for n, line := range part {
			name, _, _ := strings.Cut(strings.TrimSpace(line), "[")
			number[name] = len(number)
			if id := idOf(line); id != between {
				part[n] = h[id].line(line)
			}
		}
	}
	slices.SortStableFunc(edges, func(a, b string) int {
		first, _ := ends(a)
		second, _ := ends(b)
		return cmp.Compare(number[first], number[second])
	})
	byName := nodes(parts)
	for n, line := range edges {
		edges[n] = h[edgeID(byName, line)].line(line)
	}
	return strings.Join(slices.Concat(head, slices.Concat(parts...), edges, rest), "")
}

// line returns a line of DOT with the hint in place of its own.
func (h hint) line(line string) string {
	line = hintNames.ReplaceAllString(line, "")
	for _, name := range slices.Sorted(maps.Keys(h.attributes)) {
		value := fmt.Sprintf("%s=%q", name, h.attributes[name])
		if strings.Contains(line, "[") {
			line = strings.Replace(line, "[", "["+value+",", 1)
		} else {
			line = strings.Replace(line, "\t\t", "\t\t"+value+";", 1)
		}
	}
	return line
}

// changed returns hints with one random change.
func (h hints) changed(random *rand.Rand) hints {
	next := maps.Clone(h)
	keys := slices.Sorted(maps.Keys(h))
	id, other := keys[random.IntN(len(keys))], keys[random.IntN(len(keys))]
	one, two := h[id], h[other]
	one.attributes = maps.Clone(one.attributes)
	kind, _, _ := strings.Cut(id, "-")
	switch {
	case kind == "edge" && one.attributes["weight"] != "": // of the spine
		one.attributes["minlen"] = fmt.Sprint(1 + random.IntN(4))
	case kind == "edge" && one.attributes["constraint"] != "":
		delete(one.attributes, "constraint")
	case kind == "edge":
		one.attributes["constraint"] = "false"
	case kind == "part" && id != between && random.IntN(2) == 0:
		one.attributes["labeljust"] = string("lr"[random.IntN(2)])
		one.attributes["labelloc"] = string("tb"[random.IntN(2)])
	case id != other && strings.HasPrefix(other, kind+"-") && one.part == two.part:
		one.place, two.place = two.place, one.place
		next[other] = two
	}
	next[id] = one
	return next
}

// cost returns how hard drawings with the hints are to read, in all. It stops once that is more than a limit.
func (h hints) cost(ctx context.Context, dots []string, limit int) (sum int, err error) {
	for _, dot := range dots {
		answer, err := runGraphviz(ctx, h.apply(dot), variant{})
		if err != nil {
			return 0, err
		}
		drawn, err := readDrawing(answer)
		if err != nil {
			return 0, err
		}
		if err := drawn.fit(); err != nil {
			return 0, err
		}
		p, err := newPlane(drawn.items)
		if err != nil {
			return 0, err
		}
		p.placeTitles()
		if sum += p.cost(); sum > limit {
			break
		}
	}
	return sum, nil
}

// cost returns how hard a drawing is to read: first by its faults, then by the crossings and the length of its lines,
// and by its size.
func (p *plane) cost() int {
	all, length, crossings := noBox(), 0, 0
	drawn := make(map[point]int) // the edge that was drawn last at a place
	for e, line := range p.lines {
		all = all.union(p.outlines[e]).union(p.words[e])
		length += len(line)
		for _, at := range line {
			place := point{float64(int(at.x / 2)), float64(int(at.y / 2))}
			if last, ok := drawn[place]; ok && last != e {
				crossings++
			}
			drawn[place] = e
		}
	}
	return 2000*p.faults() + 20*crossings + length/10 + int(all.right-all.left+all.bottom-all.top)
}

// The search begins with the layouts that package graph has.
func TestASearchForLayoutsBeginsWithPackageGraphs(t *testing.T) {
	for name, fits := range layouts {
		d := drawingsOf(fits)[0]
		dot := dotOf(t, d)
		plain, err := runGraphviz(t.Context(), dot, variant{})
		require.NoError(t, err)
		h := readHints(dot)
		again, err := runGraphviz(t.Context(), h.apply(dot), variant{})
		require.NoError(t, err)
		require.Equal(t, plain, again, name)
		require.Equal(t, h, readHints(h.apply(dot)), name)
		random := rand.New(rand.NewPCG(1, 1))
		for range 20 {
			h = h.changed(random)
		}
		changed, err := runGraphviz(t.Context(), h.apply(dot), variant{})
		require.NoError(t, err)
		require.NotEqual(t, plain, changed, name)
	}
}
