package clients_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/clients"
)

// cliFolder has the scenarios of the command line client, each with nodes of its own,
// and the files that its commands read.
const cliFolder = "testdata/cli"

// cli runs the scenarios, one after the other.
func cli(ctx context.Context, t *testing.T, endpoint string, known map[string]string) []clients.Result {
	baremetal, err := clients.StartBaremetal(ctx, endpoint, cliFolder)
	installed(t, err)
	require.NoError(t, err)
	defer func() { require.NoError(t, baremetal.Close()) }()
	files, err := filepath.Glob(filepath.Join(cliFolder, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var results []clients.Result
	for _, file := range files {
		s := scenario{
			baremetal: baremetal,
			name:      strings.TrimSuffix(filepath.Base(file), ".txt"),
			known:     known,
			values:    map[string]string{},
			times:     map[string]int{},
		}
		datadriven.RunTest(t, file, s.run)
		results = append(results, s.results...)
	}
	return results
}

// scenario is a text file of commands, each with what it writes: first to its output,
// then to its errors, then its exit status unless that is 0. In the expectation "..."
// stands for any text.
//
//	baremetal          the command is run once
//	baremetal as=NAME  and $NAME in later commands stands for what it wrote
//	eventually         the command is run again until it writes what is expected
//
// All commands are run whether or not one before has failed. With the flag -rewrite,
// what is not met is written as the new expectation, unless it is known.
type scenario struct {
	baremetal *clients.Baremetal
	name      string
	known     map[string]string
	results   []clients.Result
	values    map[string]string // by the name given to each
	times     map[string]int    // that a command was run, by its text
}

// eventually bounds the time in which work on fake hardware ends.
const eventually = 20 * time.Second

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	deadline := time.Now()
	switch d.Cmd {
	case "baremetal":
	case "eventually":
		deadline = deadline.Add(eventually)
	default:
		d.Fatalf(t, "%q is neither baremetal nor eventually", d.Cmd)
	}
	command, expected := os.Expand(d.Input, s.value), expectation(d.Expected)
	output := s.output(t, command)
	got := written(output)
	for !expected.MatchString(got) && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
		output = s.output(t, command)
		got = written(output)
	}
	result := clients.Result{
		Name:   s.unique(strings.Join(strings.Fields(d.Input), " ")),
		Passed: expected.MatchString(got),
		Output: d.Pos + "\nwant:\n" + d.Expected + "\ngot:\n" + got,
	}
	s.results = append(s.results, result)
	var name string
	if d.MaybeScanArgs(t, "as", &name) {
		s.values[name] = strings.TrimSpace(output.Stdout)
	}
	rewrite := flag.Lookup("rewrite").Value.String() == "true"
	if _, isKnown := s.known[result.Name]; rewrite && !result.Passed && !isKnown {
		return got
	}
	return d.Expected // so that the scenario goes on
}

// unique names a command: one that is there several times has a number, from the
// second on.
func (s *scenario) unique(command string) string {
	s.times[command]++
	if n := s.times[command]; n > 1 {
		command += fmt.Sprintf(" #%d", n)
	}
	return s.name + "/" + command
}

func (s *scenario) value(name string) string { return s.values[name] }

func (s *scenario) output(t *testing.T, command string) clients.Output {
	output, err := s.baremetal.Run(command)
	require.NoError(t, err)
	return output
}

// written is what a command wrote and its exit status, with what differs from run to
// run made the same: the digits of times, and UUIDs made at random.
func written(output clients.Output) string {
	text := output.Stdout + output.Stderr
	if output.Status != 0 {
		text += fmt.Sprintln("exit", output.Status)
	}
	text = times.ReplaceAllStringFunc(text, func(time string) string { return digits.ReplaceAllString(time, "0") })
	text = randomUUIDs.ReplaceAllString(text, "ffffffff-ffff-4fff-8fff-ffffffffffff")
	return strings.Trim(trailing.ReplaceAllString(text, "\n"), "\n") + "\n"
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
