// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"
	"unsafe"

	"github.com/ironstate/ironstate/internal/host"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine"
)

// A figure holds the medians of a contender's benchmark.
type figure struct {
	ns            float64
	bytes, allocs int64
}

func (f figure) String() string {
	if f.ns == 0 {
		return "-"
	}
	return fmt.Sprintf("%s, %d B, %d allocs", duration(f.ns), f.bytes, f.allocs)
}

func duration(ns float64) string {
	switch {
	case ns < 100:
		return fmt.Sprintf("%.1f ns", ns)
	case ns < 10_000:
		return fmt.Sprintf("%.0f ns", ns)
	default:
		return fmt.Sprintf("%.1f µs", ns/1000)
	}
}

type figures [numContenders]figure

// ratio returns the time of the fastest peer divided by the time of this module.
func (f figures) ratio(peers ...figure) string {
	fastest := slices.MinFunc(peers, func(a, b figure) int { return cmp.Compare(a.ns, b.ns) })
	return fmt.Sprintf("%.1f", fastest.ns/f[ours].ns)
}

// A bench is one benchmark of a contender or a rival.
type bench struct {
	name string
	run  func(*testing.B)
}

// measure runs all benchmarks count times in turns, so that load on the machine affects
// all of them, and returns their medians.
func measure(count int, benches []bench) ([]figure, error) {
	runs := make([][]testing.BenchmarkResult, len(benches))
	for range count {
		for i, b := range benches {
			runs[i] = append(runs[i], testing.Benchmark(b.run))
		}
	}
	medians := make([]figure, len(benches))
	for i, results := range runs {
		if medians[i] = median(results); medians[i].ns == 0 {
			return nil, fmt.Errorf("%s failed", benches[i].name)
		}
	}
	return medians, nil
}

// measureAll returns the figures of suite and of rivals, in their order.
func measureAll(count int) ([]figures, []figure, error) {
	var benches []bench
	var places []*figure
	contests, others := make([]figures, len(suite)), make([]figure, len(rivals))
	for i, c := range suite {
		for who, run := range c.run {
			if run != nil {
				benches, places = append(benches, bench{c.name + " of " + names[who], run}), append(places, &contests[i][who])
			}
		}
	}
	for i, r := range rivals {
		benches, places = append(benches, bench{r.name, r.bench}), append(places, &others[i])
	}
	medians, err := measure(count, benches)
	for i := range medians {
		*places[i] = medians[i]
	}
	return contests, others, err
}

func median(results []testing.BenchmarkResult) figure {
	var all []figure
	for _, r := range results {
		if r.N == 0 {
			return figure{}
		}
		events := int64(r.Extra[perOperation])
		all = append(all, figure{r.Extra[perEvent], r.AllocedBytesPerOp() / events, r.AllocsPerOp() / events})
	}
	slices.SortFunc(all, func(a, b figure) int { return cmp.Compare(a.ns, b.ns) })
	return all[len(all)/2]
}

//go:embed report.tmpl
var pageText string

var page = template.Must(template.New("").Parse(pageText))

// report prints the figures of the suite.
func report(out io.Writer, count int, benchtime string) error {
	if err := flag.Set("test.benchtime", benchtime); err != nil {
		return program.Usagef("-benchtime: %w", err)
	}
	m, others, err := measureAll(count)
	if err != nil {
		return err
	}
	order := make([]int, len(rivals))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(others[a].ns, others[b].ns) })
	var rows []string
	for _, i := range order {
		rows = append(rows, strings.Join([]string{rivals[i].title(), others[i].String(), rivals[i].note}, " | "))
	}
	fire, hooks, timed, apply, made := m[0], m[1], m[2], m[3], m[4]
	return page.Execute(out, map[string]any{
		"Rows": []string{
			row("Fire", fire, fire.ratio(fire[looplabs], fire[queued])),
			row("Fire, exit and enter hooks", hooks, hooks.ratio(hooks[looplabs], hooks[queued])),
			row("the same, with the time of each", timed, timed.ratio(hooks[looplabs], hooks[queued])),
			row("Apply", apply, apply.ratio(fire[looplabs], fire[queued])),
			row("New", made, made.ratio(made[looplabs], made[queued])),
		},
		"Rivals":    rows,
		"Looplab":   version("github.com/looplab/fsm"),
		"Stateless": version("github.com/qmuntal/stateless"),
		"Date":      time.Now().Format(time.DateOnly),
		"Go":        runtime.Version(),
		"CPU":       host.CPU(),
		"Cores":     runtime.NumCPU(),
		"Count":     count,
		"Node":      unsafe.Sizeof(machine.Node{}),
		"Machine":   made[ours].bytes,
	})
}

func row(name string, f figures, ratio string) string {
	cells := []string{name}
	for _, figure := range f {
		cells = append(cells, figure.String())
	}
	return strings.Join(append(cells, ratio), " | ")
}

// version returns the version of a module that this program is built with.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return dep.Version
			}
		}
	}
	return "(unknown version)"
}
