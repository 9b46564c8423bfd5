// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/try"
)

// suite is a target with its mutants, and the test binaries that hold them.
type suite struct {
	files    map[string][]byte // the original code, by path from the root
	slots    map[string]slot   // by the mutant's String
	binaries []*binary
}

// binary is the test binary of one package.
type binary struct {
	tests
	file     string          // the binary's path
	workDir  string          // the package's folder
	all      []test          // the fastest first
	contains map[string]bool // the folders of the changed packages that the tests import
	killers  *killers
}

// slot identifies a mutant in the binary: the number that activates the mutant, and the
// number of its unit.
type slot struct{ active, unit string }

// test is one test function.
type test struct {
	name    string
	took    time.Duration
	reaches map[string]bool // numbers of units
}

// newSuite builds the tests of a target and runs each separately, to measure its time
// and record the units that it reaches.
func (l *lab) newSuite(ctx context.Context, t target, name string) *suite {
	files := sources(l.root, t.code...)
	mutants := findIn(files)
	s := &suite{files: files, slots: map[string]slot{}}
	byFile, numbers := units(mutants)
	for i, m := range mutants {
		s.slots[m.String()] = slot{fmt.Sprint(i + 1), fmt.Sprint(numbers[i])}
	}
	changed := map[string][]byte{}
	for file, source := range files {
		changed[file] = try.Get(instrument(source, byFile[file], mutants))
	}
	for _, folder := range t.code {
		changed[path.Join(folder, "mutation_switch.go")] = fmt.Appendf(nil, switchCode, path.Base(folder), len(mutants)+1)
	}
	for _, tests := range t.tests {
		b := &binary{tests: tests, workDir: filepath.Join(l.root, filepath.FromSlash(tests.folder)), contains: map[string]bool{},
			killers: &killers{}}
		try.Within(fmt.Sprintf("the tests of %s without a mutant", tests.folder), func() {
			b.file = l.build(ctx, tests.folder, name, changed)
			b.observe(ctx, filepath.Join(l.scratch, name, "reached"))
		})
		for i, m := range mutants {
			if slices.ContainsFunc(b.all, func(t test) bool { return t.reaches[fmt.Sprint(numbers[i])] }) {
				b.contains[path.Dir(m.file)] = true
			}
		}
		s.binaries = append(s.binaries, b)
	}
	return s
}

// observe runs each test separately and fills in b.all.
func (b *binary) observe(ctx context.Context, reached string) {
	list := try.Get(exec.CommandContext(ctx, b.file, "-test.list", "^(Test|Example|Fuzz)").Output())
	skip := try.Get(regexp.Compile(cmp.Or(b.skip, "^$")))
	for _, name := range strings.Fields(string(list)) {
		if skip.MatchString(name) {
			continue
		}
		try.OK(os.WriteFile(reached, nil, 0o644))
		start := time.Now()
		if output, err := b.run(ctx, []test{{name: name}}, 10*time.Minute, reachName+"="+reached); err != nil {
			try.Failf("%s: %w\n%s", name, err, output)
		}
		t := test{name: name, took: time.Since(start), reaches: map[string]bool{}}
		for _, number := range strings.Fields(string(try.Get(os.ReadFile(reached)))) {
			t.reaches[number] = true
		}
		b.all = append(b.all, t)
	}
	slices.SortStableFunc(b.all, func(a, b test) int { return cmp.Compare(a.took, b.took) })
}

// trySwitched tries a mutant in the suite's binaries with the tests that reach its unit. Until a test reaches the unit,
// the mutant behaves as the original code does.
func (s *suite) trySwitched(ctx context.Context, m mutant, slower time.Duration) (outcome, error) {
	at := s.slots[m.String()]
	active := activeName + "=" + at.active
	result := uncovered
	for _, b := range s.binaries {
		reaching := slices.DeleteFunc(slices.Clone(b.all), func(t test) bool { return !t.reaches[at.unit] })
		if len(reaching) == 0 {
			continue
		}
		var err error
		if result, err = b.tryTests(ctx, reaching, slower, active); err != nil || result != lived {
			return result, err
		}
	}
	return result, nil
}

// tryTests runs tests: those that killed the mutants before this one first, then the others in
// groups, the fastest first. Their time limit is multiplied by slower.
func (b *binary) tryTests(ctx context.Context, tests []test, slower time.Duration, env ...string) (outcome, error) {
	for _, some := range b.killers.first(tests) {
		limit := 5 * time.Second
		for _, t := range some {
			limit += 5 * t.took
		}
		output, err := b.run(ctx, some, slower*limit, env...)
		var failed *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err == nil:
		case errors.Is(err, exec.ErrWaitDelay), bytes.Contains(output, []byte("panic: test timed out")):
			return timedOut, nil
		case errors.As(err, &failed):
			b.killers.add(output)
			return killed, nil
		default:
			return "", err
		}
	}
	return lived, nil
}

// run runs tests until the first failure. The limit on memory stops a loop that allocates
// endlessly.
func (b *binary) run(ctx context.Context, tests []test, limit time.Duration, env ...string) ([]byte, error) {
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = regexp.QuoteMeta(t.name)
	}
	const limited = `ulimit -d 4000000; exec "$0" "$@"` // not -v: etcd maps its database into 10 GiB of addresses
	args := []string{"-c", limited, b.file, "-test.failfast",
		"-test.run", "^(" + strings.Join(names, "|") + ")$", "-test.timeout", limit.String()}
	ctx, cancel := context.WithTimeout(ctx, limit+limit/2)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", append(args, b.args...)...)
	command.Dir = b.workDir
	command.Env = append(append(os.Environ(), needs.Variable+"="), env...) // the quick tests
	command.WaitDelay = time.Second
	return command.CombinedOutput()
}
