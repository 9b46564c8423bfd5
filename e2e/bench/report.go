// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
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

// measure runs all benchmarks count times in turns, so that load on the machine affects
// all contenders, and returns the medians in the order of suite.
func measure(count int) ([]figures, error) {
	medians := make([]figures, len(suite))
	runs := make([][numContenders][]testing.BenchmarkResult, len(suite))
	for range count {
		for i, c := range suite {
			for who, run := range c.run {
				if run != nil {
					runs[i][who] = append(runs[i][who], testing.Benchmark(run))
				}
			}
		}
	}
	for i := range suite {
		for who, results := range runs[i] {
			if len(results) == 0 {
				continue
			}
			medians[i][who] = median(results)
			if medians[i][who].ns == 0 {
				return nil, fmt.Errorf("%s of %s failed", suite[i].name, names[who])
			}
		}
	}
	return medians, nil
}

func median(results []testing.BenchmarkResult) figure {
	var all []figure
	for _, r := range results {
		if r.N == 0 {
			return figure{}
		}
		f := figure{float64(r.T) / float64(r.N), r.AllocedBytesPerOp(), r.AllocsPerOp()}
		if ns, ok := r.Extra[perEvent]; ok {
			f = figure{ns, f.bytes / int64(len(round)), f.allocs / int64(len(round))}
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b figure) int { return cmp.Compare(a.ns, b.ns) })
	return all[len(all)/2]
}

var page = template.Must(template.New("").Parse(`| | machine | looplab/fsm {{.Looplab}} | qmuntal/stateless {{.Stateless}} | the same, immediate | times faster |
| --- | --- | --- | --- | --- | --- |
{{range .Rows}}| {{.}} |
{{end}}
Measured on {{.Date}} with {{.Go}} on {{.CPU}} ({{.Cores}} cores), median of {{.Count}}: one event of a node's
life, or the making of a machine. "Times faster" is against the faster of looplab and stateless as its
NewStateMachine makes it, which both take concurrent events one at a time; stateless in immediate mode
leaves that to the caller. Apply is compared with the peers' Fire. The peers do not read the clock for a
transition; a Machine with hooks does, and its clock stands still except in the third row.
A Node is {{.Node}} bytes, a Machine without hooks {{.Machine}}.
`))

// report prints the figures of the suite.
func report(out io.Writer, count int, benchtime string) error {
	if err := flag.Set("test.benchtime", benchtime); err != nil {
		return program.Usagef("-benchtime: %w", err)
	}
	m, err := measure(count)
	if err != nil {
		return err
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
