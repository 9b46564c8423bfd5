// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/pmezard/go-difflib/difflib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/sleep"
)

// cliFolder has the scenarios of the command line client and the files that their
// commands read. Each scenario has its own nodes.
const cliFolder = "testdata/cli"

// cli runs the scenarios that the pattern selects, one after the other.
func cli(ctx context.Context, t *testing.T, pattern string, side side, known map[string]string) []Result {
	return cliBeside(ctx, t, pattern, side, nil, known)
}

// A side is a client and its server.
type side struct {
	Debian
	endpoint string
}

// cliBeside is cli with a second server. Its outputs are expected, instead of those in the scenarios, unless it is nil.
func cliBeside(ctx context.Context, t *testing.T, pattern string, side side, beside *side, known map[string]string) []Result {
	files, err := filepath.Glob(filepath.Join(cliFolder, pattern+".txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	baremetal := startClient(ctx, t, side)
	defer func() { assert.NoError(t, baremetal.Close()) }()
	var other *client
	if beside != nil {
		other = startClient(ctx, t, *beside)
		defer func() { assert.NoError(t, other.Close()) }()
	}
	var results []Result
	for _, file := range files {
		s := scenario{
			ctx:      ctx,
			client:   baremetal,
			beside:   other,
			name:     strings.TrimSuffix(filepath.Base(file), ".txt"),
			known:    known,
			patience: patience,
			times:    map[string]int{},
		}
		baremetal.values = map[string]string{}
		if other != nil {
			other.values = map[string]string{}
		}
		datadriven.RunTest(t, file, s.run)
		results = append(results, s.results...)
	}
	return results
}

// A client is baremetal for one server.
type client struct {
	*Baremetal
	output string            // of the last command
	values map[string]string // the outputs named with as=NAME, by name
}

func startClient(ctx context.Context, t *testing.T, s side) *client {
	baremetal, err := s.StartBaremetal(ctx, s.endpoint, cliFolder)
	installed(t, err)
	require.NoError(t, err)
	return &client{Baremetal: baremetal}
}

// run runs a command and returns its output as a scenario has it.
func (c *client) run(command string) string {
	output, err := c.Run(os.Expand(command, func(name string) string { return c.values[name] }))
	if err != nil {
		return err.Error()
	}
	c.output = strings.TrimSpace(output.Stdout)
	return written(output)
}

// patience bounds the wait for an expected output with -rewrite, which may replace it. shortPatience is the bound once
// a command of the scenario has failed.
const patience, shortPatience = time.Minute, time.Second

// besidePatience bounds the wait for the output of the scenario on two servers. Clients of another version may never
// have it.
const besidePatience = 20 * time.Second

// scenario is a text file of commands, each with its expected output: standard output,
// then standard error, then the exit status unless that is 0. In the expectation "..."
// stands for any text.
//
//	baremetal          run the command once
//	baremetal as=NAME  the same; $NAME in later commands stands for its output
//	eventually         repeat the command until its output is the expected one; once if it is known not to become so
//
// All commands are run, even after one has failed. With the flag -rewrite, an output
// that differs becomes the new expectation, unless the difference is known.
type scenario struct {
	ctx      context.Context
	client   *client
	beside   *client // nil, or a client whose outputs are expected
	name     string
	known    map[string]string
	results  []Result
	patience time.Duration
	times    map[string]int // the number of occurrences of a command, by its text
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	name := s.unique(strings.Join(strings.Fields(d.Input), " "))
	_, isKnown := s.known[name]
	rewrite := flag.Lookup("rewrite").Value.String() == "true"
	repeating, cancel := context.WithCancel(s.ctx)
	defer cancel()
	switch {
	case d.Cmd == "eventually" && s.beside != nil:
		repeating, cancel = context.WithTimeout(s.ctx, min(s.patience, besidePatience))
		defer cancel()
	case d.Cmd == "eventually" && !isKnown && rewrite:
		repeating, cancel = context.WithTimeout(s.ctx, s.patience)
		defer cancel()
	case d.Cmd == "eventually" && !isKnown:
	case d.Cmd == "eventually", d.Cmd == "baremetal":
		cancel() // once
	default:
		d.Fatalf(t, "%q is neither baremetal nor eventually", d.Cmd)
	}
	got, want, met := s.try(repeating, d)
	if !met && !isKnown && d.Cmd == "eventually" {
		s.patience = shortPatience // later commands are likely to fail too
	}
	s.results = append(s.results, Result{Name: name, Passed: met, Output: d.Pos + "\n" + difference(want, got)})
	var variable string
	if d.MaybeScanArgs(t, "as", &variable) {
		s.client.values[variable] = s.client.output
		if s.beside != nil {
			s.beside.values[variable] = s.beside.output
		}
	}
	if rewrite && s.beside == nil && !met && !isKnown {
		return got
	}
	return d.Expected // so that the scenario continues
}

// try repeats a command until its output is the expected one or the context has ended. The output of another server
// is expected at once, but a repeated command ends early only with the scenario's output.
func (s *scenario) try(ctx context.Context, d *datadriven.TestData) (got, want string, met bool) {
	text := expectation(d.Expected)
	if s.beside == nil {
		for {
			got = s.client.run(d.Input)
			if met = text.MatchString(got); met || ctx.Err() != nil {
				return got, d.Expected, met
			}
			sleep.For(ctx, 100*time.Millisecond)
		}
	}
	for {
		got, want = s.client.run(d.Input), s.beside.run(d.Input)
		if text.MatchString(got) && text.MatchString(want) || ctx.Err() != nil {
			return got, want, got == want || strings.Contains(d.Input, "-f yaml") && sameLines(got, want)
		}
		sleep.For(ctx, 100*time.Millisecond)
	}
}

// sameLines reports whether two texts have the same lines in any order: the order of an object's keys is not compared,
// which later clients print as the server sends it.
func sameLines(a, b string) bool {
	return slices.Equal(slices.Sorted(strings.Lines(a)), slices.Sorted(strings.Lines(b)))
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

// written returns a command's output and its exit status. It masks the parts that differ
// from run to run: the digits of times, random UUIDs, and the order of the keys of JSON
// objects.
func written(output Output) string {
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
