// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// programs has the flags with which each program prints what its README shows.
var programs = map[string][]string{
	"embed": nil, "enroll": nil, "looplab": nil, "powersync": {"-nodes", "20", "-rounds", "4"}, "powersync-sqlite": nil, "properties": nil,
	"reconcile": nil,
}

func build(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	output, err := exec.Command("go", "build", "-o", program, "./"+name).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return program
}

// uncopied has the test files that serve this repository alone.
var uncopied = map[string]bool{"seed_test.go": true, "search_test.go": true}

func TestProgramsAreMadeToBeCopied(t *testing.T) {
	mains, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	require.Len(t, mains, len(programs))
	lines := map[string]int{}
	files, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	for _, file := range files {
		if uncopied[filepath.Base(file)] {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if !strings.HasSuffix(file, "_test.go") {
			lines[filepath.Dir(file)] += strings.Count(string(text), "\n") - 2 // the licence line and the next one
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		require.NoError(t, err)
		for _, imported := range parsed.Imports {
			require.NotContains(t, imported.Path.Value, "/internal/", file)
		}
	}
	for name, n := range lines {
		require.LessOrEqual(t, n, 150, "lines of %s", name)
	}
}

func TestREADMEsShowTheOutput(t *testing.T) {
	needs.Time(t)
	for name, flags := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, err := exec.Command(build(t, name), flags...).Output()
			require.NoError(t, err)
			text, err := os.ReadFile(filepath.Join(name, "README.md"))
			require.NoError(t, err)
			blocks := regexp.MustCompile("(?s)\n```\n(.*?)```\n").FindAllStringSubmatch(string(text), -1)
			require.Len(t, blocks, 1, "blocks of README.md without a language")
			require.Regexp(t, pattern(blocks[0][1]), masked(string(output)))
		})
	}
}

// varying matches parts of an output that differ from run to run: times of day, addresses
// on the loopback interface, durations.
var varying = regexp.MustCompile(`\d\d:\d\d:\d\d\.\d{3}|127\.0\.0\.1:\d+|\b\d+(\.\d+)?(ms|µs|s)\b`)

// masked returns a text with the varying parts masked, without spaces at the ends of lines.
func masked(text string) string {
	text = regexp.MustCompile(`(?m) +$`).ReplaceAllString(varying.ReplaceAllString(text, "VARIES"), "")
	return strings.TrimRight(text, "\n") + "\n"
}

// pattern returns a regular expression for a block, in which a line "..." stands for any
// number of lines, and "..." within a line for any text.
func pattern(block string) string {
	p := strings.ReplaceAll(regexp.QuoteMeta(masked(block)), "\n\\.\\.\\.\n", "\n(.*\n)*")
	return `\A` + strings.ReplaceAll(p, `\.\.\.`, `.*`) + `\z`
}

func TestABMCIsEnrolledByTheFlagsOfEnroll(t *testing.T) {
	needs.Time(t)
	program := build(t, "enroll")
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	port, ca := strconv.Itoa(server.Port), filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, server.CAPEM, 0o600))
	for name, test := range map[string]struct {
		password string
		flags    []string
		status   int
		says     string
	}{
		"the right password": {bmctest.DefaultPassword,
			[]string{"-bmc", server.Host, "-port", port, "-user", bmctest.DefaultUser, "-ca", ca}, 0, "manageable"},
		"a wrong password": {"wrong", []string{"-bmc", server.Host, "-port", port, "-user", bmctest.DefaultUser, "-ca", ca}, 1,
			"credentials refused"},
		"an unknown CA": {bmctest.DefaultPassword, []string{"-bmc", server.Host, "-port", port, "-user", bmctest.DefaultUser}, 1, "certificate"},
		"no file of a CA": {bmctest.DefaultPassword,
			[]string{"-bmc", server.Host, "-port", port, "-user", bmctest.DefaultUser, "-ca", ca + "2"}, 2, "no such file"},
		"no user": {bmctest.DefaultPassword, []string{"-bmc", server.Host, "-port", port}, 2, "the user is empty"},
		"no BMC":  {"", []string{"-user", bmctest.DefaultUser}, 2, "-bmc HOST"},
	} {
		command := exec.Command(program, test.flags...)
		command.Env = append(os.Environ(), "BMC_PASSWORD="+test.password)
		output, err := command.CombinedOutput()
		status := 0
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			status = exit.ExitCode()
		}
		require.Equal(t, test.status, status, "%s: %s", name, output)
		require.Contains(t, string(output), test.says, name)
		require.NotContains(t, string(output), bmctest.DefaultPassword, name)
	}
	require.Empty(t, server.Sessions(), "each session is closed")
}
