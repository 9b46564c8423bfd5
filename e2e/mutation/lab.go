// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ironstate/ironstate/internal/try"
)

// outcome is the result of a mutant's tests.
type outcome string

const (
	killed    outcome = "killed"
	timedOut  outcome = "timed out" // counts as killed: the original code needs a fraction of the time
	lived     outcome = "lived"
	uncovered outcome = "not covered" // lived, and no test reaches it
	unviable  outcome = "not viable"  // does not compile
)

func (o outcome) isAlive() bool { return o == lived || o == uncovered }

// lab tries mutants. It does not change the working tree: the go command gets the
// changed files as an overlay.
type lab struct {
	root    string
	scratch string            // a folder
	suites  map[string]*suite // by the folder of the changed code
	slower  time.Duration     // the factor of the time that tests may take
}

// newLab returns a lab for mutants of these packages. The workers prepare the targets concurrently. It returns an error
// if a package's tests fail without a mutant.
func newLab(ctx context.Context, root string, targets []target, workers int) (_ *lab, err error) {
	l := &lab{suites: map[string]*suite{}, slower: 1}
	if l.root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if l.scratch, err = os.MkdirTemp("", "mutation"); err != nil {
		return nil, err
	}
	suites, group := make([]*suite, len(targets)), new(errgroup.Group)
	group.SetLimit(workers)
	for i, t := range targets {
		group.Go(func() error {
			return try.Catch(func() { suites[i] = l.newSuite(ctx, t, fmt.Sprint("suite", i)) })
		})
	}
	if err := group.Wait(); err != nil {
		l.close()
		return nil, err
	}
	for i, t := range targets {
		for _, folder := range t.code {
			l.suites[folder] = suites[i]
		}
	}
	return l, nil
}

func (l *lab) close() { os.RemoveAll(l.scratch) }

// tryAll tries mutants with concurrent workers and calls add with each outcome, one call
// at a time.
func (l *lab) tryAll(ctx context.Context, mutants []mutant, workers int, add func(mutant, outcome)) error {
	var mu sync.Mutex
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, m := range mutants {
		if within.Err() != nil {
			break
		}
		group.Go(func() error {
			result, err := l.try(within, fmt.Sprint("mutant", i), m)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			add(m, result)
			return nil
		})
	}
	return cmp.Or(group.Wait(), context.Cause(ctx))
}

// tryListed is tryAll with a list of mutants that have to live. If one of these times out, which a busy machine can
// cause, it is tried again after the others, alone and with ten times the time, and that outcome counts.
func (l *lab) tryListed(ctx context.Context, mutants []mutant, workers int, listed map[string]string, add func(mutant, outcome)) error {
	var again []mutant
	err := l.tryAll(ctx, mutants, workers, func(m mutant, o outcome) {
		if listed[m.String()] != "" && o == timedOut {
			again = append(again, m)
			return
		}
		add(m, o)
	})
	if err != nil {
		return err
	}
	l.slower = 10
	defer func() { l.slower = 1 }()
	return l.tryAll(ctx, again, 1, add)
}

// try tries one mutant; name is the name of a folder for it alone.
func (l *lab) try(ctx context.Context, name string, m mutant) (outcome, error) {
	s := l.suites[path.Dir(m.file)]
	if m.kind != alone {
		return s.trySwitched(ctx, m, l.slower)
	}
	defer os.RemoveAll(filepath.Join(l.scratch, name))
	files := map[string][]byte{m.file: m.apply(s.files[m.file])}
	for _, b := range s.binaries {
		if !b.contains[path.Dir(m.file)] {
			continue
		}
		changed := *b
		err := try.Catch(func() { changed.file = l.build(ctx, b.folder, name, files) })
		var failed *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case errors.As(err, &failed):
			return unviable, nil
		case err != nil:
			return "", err
		}
		if result, err := changed.tryTests(ctx, b.all, l.slower); err != nil || result != lived {
			return result, err
		}
	}
	return lived, nil
}

// apply returns the file with the change.
func (m mutant) apply(source []byte) []byte {
	return bytes.Join([][]byte{source[:m.edit.from], []byte(m.edit.text), source[m.edit.to:]}, nil)
}

// build builds the test binary of the package in folder, in the folder name, with files in place of the
// originals, and returns the path of the binary.
func (l *lab) build(ctx context.Context, folder, name string, files map[string][]byte) string {
	name = filepath.Join(l.scratch, name)
	try.OK(os.MkdirAll(name, 0o755))
	replace := map[string]string{}
	for file, text := range files {
		to := filepath.Join(name, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(l.root, filepath.FromSlash(file))] = to
		try.OK(os.WriteFile(to, text, 0o644))
	}
	overlay, binary := filepath.Join(name, "overlay.json"), filepath.Join(name, strings.ReplaceAll(folder, "/", "_")+".test")
	try.OK(os.WriteFile(overlay, try.Get(json.Marshal(map[string]any{"Replace": replace})), 0o644))
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "./"+folder)
	command.Dir = l.root
	if output, err := command.CombinedOutput(); err != nil {
		try.Failf("%w\n%s", err, output)
	}
	return binary
}
