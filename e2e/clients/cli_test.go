// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/pmezard/go-difflib/difflib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/clients"
)

// cliFolder has the scenarios of the command line client and the files that their
// commands read. Each scenario has its own nodes.
const cliFolder = "testdata/cli"

// cli runs the scenarios, one after the other.
func cli(ctx context.Context, t *testing.T, endpoint string, known map[string]string) []clients.Result {
	baremetal, err := clients.StartBaremetal(ctx, endpoint, cliFolder)
	installed(t, err)
	require.NoError(t, err)
	defer func() { assert.NoError(t, baremetal.Close()) }()
	files, err := filepath.Glob(filepath.Join(cliFolder, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var results []clients.Result
	for _, file := range files {
		s := scenario{
			baremetal: baremetal,
			name:      strings.TrimSuffix(filepath.Base(file), ".txt"),
			known:     known,
			patience:  patience,
			values:    map[string]string{},
			times:     map[string]int{},
		}
		datadriven.RunTest(t, file, s.run)
		results = append(results, s.results...)
	}
	return results
}

// patience bounds the wait for an expected output. shortPatience is the bound once a
// command of the scenario has failed.
const patience, shortPatience = 20 * time.Second, time.Second

// scenario is a text file of commands, each with its expected output: standard output,
// then standard error, then the exit status unless that is 0. In the expectation "..."
// stands for any text.
//
//	baremetal          run the command once
//	baremetal as=NAME  the same; $NAME in later commands stands for its output
//	eventually         repeat the command until its output is the expected one
//
// All commands are run, even after one has failed. With the flag -rewrite, an output
// that differs becomes the new expectation, unless the difference is known.
type scenario struct {
	baremetal *clients.Baremetal
	name      string
	known     map[string]string
	results   []clients.Result
	patience  time.Duration
	written   string            // the output of the last command
	values    map[string]string // the outputs named with as=NAME, by name
	times     map[string]int    // the number of occurrences of a command, by its text
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	name := s.unique(strings.Join(strings.Fields(d.Input), " "))
	_, isKnown := s.known[name]
	deadline := time.Now()
	switch {
	case d.Cmd == "eventually" && isKnown:
		deadline = deadline.Add(shortPatience)
	case d.Cmd == "eventually":
		deadline = deadline.Add(s.patience)
	case d.Cmd != "baremetal":
		d.Fatalf(t, "%q is neither baremetal nor eventually", d.Cmd)
	}
	got, met := s.try(d, deadline)
	if !met && !isKnown && d.Cmd == "eventually" {
		s.patience = shortPatience // later commands are likely to fail too
	}
	s.results = append(s.results, clients.Result{Name: name, Passed: met, Output: d.Pos + "\n" + difference(d.Expected, got)})
	var variable string
	if d.MaybeScanArgs(t, "as", &variable) {
		s.values[variable] = s.written
	}
	rewrite := flag.Lookup("rewrite").Value.String() == "true"
	if rewrite && !met && !isKnown {
		return got
	}
	return d.Expected // so that the scenario continues
}

// try repeats a command until its output is the expected one or the time is over.
func (s *scenario) try(d *datadriven.TestData, deadline time.Time) (got string, met bool) {
	for {
		output, err := s.baremetal.Run(os.Expand(d.Input, s.value))
		if err != nil {
			return err.Error(), false
		}
		got = written(output)
		s.written = strings.TrimSpace(output.Stdout)
		if met = expectation(d.Expected).MatchString(got); met || time.Now().After(deadline) {
			return got, met
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// unique returns a unique name for an occurrence of a command: the second and later
// occurrences get a number.
func (s *scenario) unique(command string) string {
	s.times[command]++
	if n := s.times[command]; n > 1 {
		command += fmt.Sprintf(" #%d", n)
	}
	return s.name + "/" + command
}

func (s *scenario) value(name string) string { return s.values[name] }

// written returns a command's output and its exit status. It masks the parts that differ
// from run to run: the digits of times, random UUIDs, and the order of the keys of JSON
// objects.
func written(output clients.Output) string {
	text := sortedKeys(output.Stdout) + output.Stderr
	if output.Status != 0 {
		text += fmt.Sprintln("exit", output.Status)
	}
	text = times.ReplaceAllStringFunc(text, func(time string) string { return digits.ReplaceAllString(time, "0") })
	text = randomUUIDs.ReplaceAllString(text, "ffffffff-ffff-4fff-8fff-ffffffffffff")
	return strings.Trim(trailing.ReplaceAllString(text, "\n"), "\n") + "\n"
}

// sortedKeys sorts the keys of objects in a text that is JSON.
func sortedKeys(text string) string {
	if !json.Valid([]byte(text)) {
		return text
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var sorted strings.Builder
	encoder := json.NewEncoder(&sorted)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if decoder.Decode(&value) != nil || encoder.Encode(value) != nil {
		return text
	}
	return sorted.String()
}

var (
	times       = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}`)
	digits      = regexp.MustCompile(`\d`)
	randomUUIDs = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	trailing    = regexp.MustCompile(`[ \t]+\n`)
)

func expectation(text string) *regexp.Regexp {
	if text == "" {
		text = "\n"
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(text), `\.\.\.`, `(?s:.*)`)
	return regexp.MustCompile(`^` + pattern + `$`)
}

func difference(want, got string) string {
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(want), B: difflib.SplitLines(got), FromFile: "want", ToFile: "got", Context: 3,
	})
	if err != nil {
		return err.Error()
	}
	return text
}
