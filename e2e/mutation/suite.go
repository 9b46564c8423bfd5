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
)

// suite is a package's test binary, which holds the mutants, and its tests.
type suite struct {
	target target
	folder string            // the package's folder
	files  map[string][]byte // the package's original code, by path from the root
	binary string
	tests  []test
	slots  map[string]slot // by the mutant's String
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

// newSuite builds the tests of a package and runs each separately, to measure its time
// and record the units that it reaches.
func (l *lab) newSuite(ctx context.Context, t target, name string) (*suite, error) {
	files, err := sources(l.root, t.folder)
	if err != nil {
		return nil, err
	}
	mutants, err := findIn(files)
	if err != nil {
		return nil, err
	}
	s := &suite{target: t, folder: filepath.Join(l.root, filepath.FromSlash(t.folder)), files: files, slots: map[string]slot{}}
	byFile, numbers := units(mutants)
	for i, m := range mutants {
		s.slots[m.String()] = slot{fmt.Sprint(i + 1), fmt.Sprint(numbers[i])}
	}
	changed := map[string][]byte{}
	for file, source := range files {
		if changed[file], err = instrument(source, byFile[file], mutants); err != nil {
			return nil, err
		}
	}
	changed[path.Join(t.folder, "mutation_switch.go")] = fmt.Appendf(nil, switchCode, path.Base(t.folder), len(mutants)+1)
	if s.binary, err = l.build(ctx, t, name, changed); err != nil {
		return nil, err
	}
	return s, s.observe(ctx, filepath.Join(l.scratch, "reached"))
}

// observe runs each test separately and fills in s.tests, the fastest first.
func (s *suite) observe(ctx context.Context, reached string) error {
	list, err := exec.CommandContext(ctx, s.binary, "-test.list", "^(Test|Example|Fuzz)").Output()
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(string(list)) {
		if err := os.WriteFile(reached, nil, 0o644); err != nil {
			return err
		}
		start := time.Now()
		if output, err := s.run(ctx, s.binary, []test{{name: name}}, 10*time.Minute, reachName+"="+reached); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, output)
		}
		t := test{name: name, took: time.Since(start), reaches: map[string]bool{}}
		numbers, err := os.ReadFile(reached)
		if err != nil {
			return err
		}
		for _, number := range strings.Fields(string(numbers)) {
			t.reaches[number] = true
		}
		s.tests = append(s.tests, t)
	}
	slices.SortStableFunc(s.tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	return nil
}

// trySwitched tries a mutant in the suite's binary: first with the tests that reach its
// unit, then with all tests, because another run may reach the unit with other tests.
func (s *suite) trySwitched(ctx context.Context, m mutant) (outcome, error) {
	at := s.slots[m.String()]
	var reaching []test
	for _, t := range s.tests {
		if t.reaches[at.unit] {
			reaching = append(reaching, t)
		}
	}
	active := activeName + "=" + at.active
	result, err := s.tryTests(ctx, s.binary, reaching, active)
	if err != nil || result != lived {
		return result, err
	}
	result, err = s.tryTests(ctx, s.binary, s.tests, active)
	if result == lived && len(reaching) == 0 {
		return uncovered, err
	}
	return result, err
}

// tryTests runs tests: the fast ones together first, then the others.
func (s *suite) tryTests(ctx context.Context, binary string, tests []test, env ...string) (outcome, error) {
	const quick = 50 * time.Millisecond
	n, _ := slices.BinarySearchFunc(tests, quick, func(t test, d time.Duration) int { return cmp.Compare(t.took, d) })
	for _, some := range [][]test{tests[:n], tests[n:]} {
		if len(some) == 0 {
			continue
		}
		limit := 5 * time.Second
		for _, t := range some {
			limit += 5 * t.took
		}
		output, err := s.run(ctx, binary, some, limit, env...)
		var failed *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err == nil:
		case errors.Is(err, exec.ErrWaitDelay), bytes.Contains(output, []byte("panic: test timed out")):
			return timedOut, nil
		case errors.As(err, &failed):
			return killed, nil
		default:
			return "", err
		}
	}
	return lived, nil
}

// run runs tests until the first failure. The limit on memory stops a loop that allocates
// endlessly.
func (s *suite) run(ctx context.Context, binary string, tests []test, limit time.Duration, env ...string) ([]byte, error) {
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = regexp.QuoteMeta(t.name)
	}
	const limited = `ulimit -v 4000000; exec "$0" "$@"`
	args := []string{"-c", limited, binary, "-test.failfast",
		"-test.run", "^(" + strings.Join(names, "|") + ")$", "-test.timeout", limit.String()}
	ctx, cancel := context.WithTimeout(ctx, limit+limit/2)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", append(args, s.target.args...)...)
	command.Dir = s.folder
	command.Env = append(os.Environ(), env...)
	command.WaitDelay = time.Second
	return command.CombinedOutput()
}
