// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/states"
)

// execute runs the command and returns what it wrote and its status.
func execute(args ...string) (stdout, stderr string, code int) {
	var out, problems bytes.Buffer
	code = program.Run("stategraph", args, &out, &problems, run)
	return out.String(), problems.String(), code
}

func TestWhatIsWritten(t *testing.T) {
	for name, c := range map[string]struct {
		args string
		want []string
	}{
		"no flags": {"", []string{"<svg ", "Ironic provisioning states: 2026.2", ">enroll</text>"}},
		"dot":      {"-format dot", []string{"digraph provisioning {", `label="enroll"`}},
		"mermaid":  {"-format mermaid", []string{"stateDiagram-v2", "enroll --> verifying : manage (via API)"}},
		"markdown": {"-format markdown",
			[]string{"# Ironic provisioning states: 2026.2\n", "```mermaid", "### <a id=\"state-enroll\"></a>enroll"}},
		"picture": {"-format markdown -picture a.svg", []string{`<img src="a.svg"`}},
		"json":    {"-format json", []string{`"series": "2026.2"`}},
		"xstate":  {"-format xstate", []string{`"initial": "enroll"`}},
		"html":    {"-format html", []string{"<!DOCTYPE html>", "<svg "}},
		"extended": {"-format html -script x.js -style x.css",
			[]string{`<script src="x.js"></script>`, `<link rel="stylesheet" href="x.css">`}},
		"series":      {"-format json -series xena", []string{`"series": "xena"`, `"api_version": "1.78"`}},
		"code name":   {"-format json -series epoxy", []string{`"series": "2025.1"`}},
		"capitals":    {"-format JSON -series Zed", []string{`"series": "zed"`}},
		"diff":        {"-format json -diff Zed", []string{`"since": "zed"`, `"change": "added"`}},
		"removed":     {"-format json -series stein -diff rocky", []string{`"change": "removed"`}},
		"from":        {"-format mermaid -from active", []string{"active --> rescuing"}},
		"only":        {"-format mermaid -only enroll,verifying", []string{"verifying --> enroll : fail"}},
		"part":        {"-format json -part CLEANING", []string{`2026.2, cleaning`, `"clean hold"`}},
		"path":        {"-format json -path enroll,verifying", []string{`"taken": true`, `"current": true`}},
		"current":     {"-format json -current error", []string{`"current": true`}},
		"requests":    {"-format mermaid -requests", []string{"(via API)"}},
		"link":        {"-link /states/{state}.html", []string{`href="/states/wait%20call-back.html"`}},
		"title":       {"-title A&B", []string{"<title>A&amp;B</title>"}},
		"description": {"-description <it>", []string{"<desc>&lt;it&gt;</desc>"}},
		"direction":   {"-format dot -direction lr", []string{`rankdir="LR"`}},
		"theme":       {"-theme dark", []string{"#0d1117"}},
		"no legend":   {"-format dot -no-legend", []string{"digraph"}},
		"stdout":      {"-format dot -o -", []string{"digraph"}},
	} {
		stdout, stderr, code := execute(strings.Fields(c.args)...)
		require.Zero(t, code, "%s: %s", name, stderr)
		require.Empty(t, stderr, name)
		for _, want := range c.want {
			require.Contains(t, stdout, want, name)
		}
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	for args, without := range map[string]string{
		"-format mermaid -from active":    "enroll",
		"-format mermaid -requests":       ": done",
		"-format mermaid -only enroll":    "verifying",
		"-format dot -no-legend":          "unstable",
		"-format mermaid -series liberty": "rescue",
	} {
		stdout, stderr, code := execute(strings.Fields(args)...)
		require.Zero(t, code, stderr)
		require.NotContains(t, stdout, without, args)
	}
}

func TestMisuseIsOneLineAndStatus2(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-format", "gif"}, `unknown format "gif"; known: dot, html, json, markdown, mermaid, png, svg, xstate`},
		{[]string{"-o", "x.jpg"}, `unknown format "jpg"; known: dot, html, json, markdown, mermaid, png, svg, xstate`},
		{[]string{"-picture", "x.png", "-o", "x.svg"}, "-picture is for the format markdown"},
		{[]string{"-picture", "x.png", "-splice", "x.md", "-format", "mermaid"}, "-picture is for the format markdown"},
		{[]string{"-only", "enroll", "-from", "active"}, "the diagram has no states: -from, -only, -part and -series leave none"},
		{[]string{"-part", "service", "-series", "zed", "-format", "xstate"}, "the diagram has no states"},
		{[]string{"-script", "x.js"}, "-script and -style are for the format html"},
		{[]string{"-format", "html", "-only", "enroll"}, "html has every state: leave out From, Only and Part"},
		{[]string{"-splice", "x.md", "-o", "y.md"}, "-splice and -o: name one file to write"},
		{[]string{"-splice", "x.md", "-format", "png"}, `unknown format for -splice "png"; known: markdown, mermaid`},
		{[]string{"-splice", "/nowhere/x.md"}, "splice into /nowhere/x.md: no such file or directory"},
		{[]string{"-format", "markdown", "-picture", "javascript:x"}, `invalid picture: "javascript:x"`},
		{[]string{"-series", "bexar"}, `unknown series "bexar"; known: kilo`},
		{[]string{"-series", "none"}, "no machine of series none: name one, as in -series zed"},
		{[]string{"-series", "zed", "-diff", "2026.2"}, "what changed since 2026.2 cannot be shown in zed; exchange the two"},
		{[]string{"-diff", "2030.1"}, `unknown series "2030.1"`},
		{[]string{"-from", "ready"}, `unknown state "ready"; known: enroll`},
		{[]string{"-from", "deleted"}, `state "deleted" is not one of 2026.2's`},
		{[]string{"-current", "enroll", "-series", "kilo"}, `state "enroll" is not one of kilo's`},
		{[]string{"-path", "enroll,active"}, `no such transition: from "enroll" to "active" in 2026.2`},
		{[]string{"-path", "enroll,,active"}, `list of states: unknown state ""`},
		{[]string{"-only", "x"}, `list of states: unknown state "x"`},
		{[]string{"-part", "cooking"}, `unknown part "cooking"; known: Enrolment`},
		{[]string{"-path", "none"}, `list of states: unknown state "none"`},
		{[]string{"-direction", "up"}, `unknown direction "up"; known: TB, LR`},
		{[]string{"-theme", "blue"}, `unknown theme "blue"; known: light, dark`},
		{[]string{"-link", "javascript:{state}"}, "links are paths or http and https URLs"},
		{[]string{"-no\nsuch"}, "flag provided but not defined"},
		{[]string{"-series"}, "flag needs an argument"},
		{[]string{"states.svg"}, `unexpected argument "states.svg"`},
	} {
		stdout, stderr, code := execute(c.args...)
		require.Equal(t, 2, code, "%q", c.args)
		require.Empty(t, stdout, "%q", c.args)
		require.Contains(t, stderr, c.want, "%q", c.args)
		require.True(t, strings.HasPrefix(stderr, "stategraph: "), stderr)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

func TestHelpIsNoError(t *testing.T) {
	stdout, stderr, code := execute("-h")
	require.Zero(t, code)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "usage of stategraph:\n")
	require.Contains(t, stdout, "-path states")
}

func TestFailureToWriteIsStatus1AndNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	nowhere := filepath.Join(dir, "none", "x.dot")
	for _, c := range []struct{ file, reason string }{
		{nowhere, "no such file or directory"},
		{dir, "is a directory"},
		{filepath.Join(os.DevNull, "x.dot"), "not a directory"},
	} {
		stdout, stderr, code := execute("-format", "dot", "-o", c.file)
		require.Equal(t, 1, code)
		require.Empty(t, stdout)
		require.Equal(t, "stategraph: write "+c.file+": "+c.reason+"\n", stderr)
	}
}

func TestAnInterruptedCommandWritesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	file := filepath.Join(dir, "old.dot")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	for _, args := range [][]string{nil, {"-format", "dot"}, {"-o", file}} {
		var out bytes.Buffer
		require.ErrorIs(t, run(ctx, args, &out, nil), context.Canceled)
		require.Zero(t, out.Len())
	}
	require.ErrorIs(t, replace(ctx, file, []byte("new")), context.Canceled, "interrupted in the middle")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "old", string(data))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestFilesAreReplacedWhole(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "states.png")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))

	_, stderr, code := execute("-o", file, "-path", "enroll,active")
	require.Equal(t, 2, code, stderr)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "old", string(data), "nothing is written when the flags do not fit")

	_, stderr, code = execute("-o", file, "-series", "kilo")
	require.Zero(t, code, stderr)
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	_, err = png.Decode(f)
	require.NoError(t, err, "the extension says the format")

	info, err := f.Stat()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "the file's mode stays")

	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "no file is left beside it")
}

func TestASymbolicLinkStays(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "deep", "folder"), 0o755))
	for link, to := range map[string]string{
		"deep/link.dot": "../link-2.dot", "link-2.dot": "folder/../states.dot", "folder": "deep/folder", // deep/states.dot in the end
		"whole.dot": filepath.Join(dir, "states.dot"), "nowhere.dot": "none/states.dot", "loop.dot": "loop.dot",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	for link, file := range map[string]string{"deep/link.dot": "deep/states.dot", "whole.dot": "states.dot"} {
		for range 2 { // to no file, and to a file
			_, stderr, code := execute("-o", filepath.Join(dir, link))
			require.Zero(t, code, stderr)
			data, err := os.ReadFile(filepath.Join(dir, file))
			require.NoError(t, err)
			require.Contains(t, string(data), "digraph")
		}
	}
	for link, want := range map[string]string{"nowhere.dot": "no such file or directory", "loop.dot": "too many"} {
		_, stderr, code := execute("-o", filepath.Join(dir, link))
		require.Equal(t, 1, code)
		require.Contains(t, stderr, want)
	}
	for _, link := range []string{"deep/link.dot", "link-2.dot", "folder", "whole.dot", "nowhere.dot", "loop.dot"} {
		_, err := os.Readlink(filepath.Join(dir, link))
		require.NoError(t, err)
	}
}

func TestADeviceIsWrittenTo(t *testing.T) {
	_, stderr, code := execute("-format", "dot", "-o", os.DevNull)
	require.Zero(t, code, stderr)
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.False(t, info.Mode().IsRegular())
}

func TestFormatOfFile(t *testing.T) {
	for file, format := range map[string]string{
		"":           "svg",
		"-":          "svg",
		"states":     "svg",
		"a.b/states": "svg",
		"x.gv":       "dot",
		"x.dot":      "dot",
		"x.mmd":      "mermaid",
		"x.md":       "markdown",
		"x.png":      "png",
		"X.SVG":      "svg",
		"README.MD":  "markdown",
	} {
		require.Equal(t, format, formatOf(file), file)
	}
}

// pageWith returns a page with a text between the marker lines.
func pageWith(text string) string {
	return "# Mine\n\nabove\n" + beginMark + "\n" + text + endMark + "\nbelow\n"
}

func TestSplicePutsThePageBetweenTheMarks(t *testing.T) {
	for format, opening := range map[string]string{"markdown": "30 states and 93 transitions.", "mermaid": "```mermaid\n---\ntitle:"} {
		file := filepath.Join(t.TempDir(), "page.md")
		require.NoError(t, os.WriteFile(file, []byte(pageWith("(replaced)\n")), 0o600))
		for range 2 { // the second time changes nothing
			stdout, stderr, code := execute("-splice", file, "-format", format)
			require.Zero(t, code, stderr)
			require.Empty(t, stdout)
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			inside, ok := strings.CutPrefix(string(data), "# Mine\n\nabove\n"+beginMark+"\n\n"+opening)
			require.True(t, ok, string(data[:200]))
			inside, ok = strings.CutSuffix(inside, "\n\n"+endMark+"\nbelow\n")
			require.True(t, ok)
			require.NotContains(t, inside, "(replaced)")
			require.NotContains(t, inside, "# Ironic provisioning states", "the page has a title of its own")
			require.NotContains(t, inside, "stategraph")
		}
		page, _, _ := execute("-format", format)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		_, rest, _ := strings.Cut(page, "\n\n")
		require.Contains(t, string(data), strings.TrimSpace(rest))
	}
}

func TestAPageWithoutBothMarksIsLeftAlone(t *testing.T) {
	for name, page := range map[string]string{
		"no marks":    "# Mine\n",
		"no end":      beginMark + "\n",
		"no begin":    endMark + "\n",
		"twice":       pageWith(beginMark + "\n"),
		"end first":   endMark + "\n" + beginMark + "\n",
		"within text": "see " + beginMark + " and " + endMark + "\n",
	} {
		file := filepath.Join(t.TempDir(), "page.md")
		require.NoError(t, os.WriteFile(file, []byte(page), 0o600))
		_, stderr, code := execute("-splice", file)
		require.Equal(t, 2, code, name)
		require.Contains(t, stderr, "splice into "+file, name)
		require.Contains(t, stderr, endMark, name)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, page, string(data), name)
	}
}

func TestSpliceKeepsThePagesLineEnds(t *testing.T) {
	page := strings.ReplaceAll(pageWith("old\n"), "\n", "\r\n")
	spliced, err := splice([]byte(page), []byte("new\ntext\n"))
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(pageWith("\nnew\ntext\n\n"), "\n", "\r\n"), string(spliced))
}

// FuzzSplice checks that a splice changes nothing outside of the marker lines, and
// that splicing the old text in again restores the page.
func FuzzSplice(f *testing.F) {
	f.Add([]byte(pageWith("old\n")))
	f.Add([]byte(endMark + "\n" + beginMark))
	f.Add([]byte(" " + beginMark + "\r\n\t" + endMark))
	f.Fuzz(func(t *testing.T, page []byte) {
		first, err := splice(page, []byte("first\n"))
		if err != nil {
			return
		}
		second, err := splice(first, []byte("second\n"))
		require.NoError(t, err)
		again, err := splice(second, []byte("first\n"))
		require.NoError(t, err)
		require.Equal(t, first, again)
		before, _, _ := bytes.Cut(page, []byte(beginMark))
		require.True(t, bytes.HasPrefix(second, before))
	})
}

// The drawings and the page in the repository equal the output of go generate. The
// test reads the flags from the go:generate directives.
func TestKeptDrawingsAreUpToDate(t *testing.T) {
	for folder, want := range map[string]int{"../../graph": 2, "../ironstate/explorer": 1} {
		source, err := os.ReadFile(filepath.Join(folder, "doc.go"))
		require.NoError(t, err)
		kept := 0
		for line := range strings.Lines(string(source)) {
			_, flags, ok := strings.Cut(line, "/stategraph ")
			if !ok || !strings.HasPrefix(line, "//go:generate go run ") {
				continue
			}
			rest, file, ok := strings.Cut(strings.TrimSpace(flags), "-o ")
			require.True(t, ok, line)
			want, err := os.ReadFile(filepath.Join(folder, file))
			require.NoError(t, err)
			stdout, stderr, code := execute(strings.Fields(rest)...)
			require.Zero(t, code, stderr)
			require.True(t, string(want) == stdout, "%s is out of date: run go generate, see CONTRIBUTING.md", file)
			kept++
		}
		require.Equal(t, want, kept, folder)
	}
}

func FuzzParseStates(f *testing.F) {
	for _, list := range []string{"enroll", "enroll, verifying", ",", "", "none", "wait call-back,deploying", "Enroll"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		path, err := parseStates(list)
		if err != nil {
			require.ErrorAs(t, err, new(*states.UnknownError))
			require.NotContains(t, err.Error(), "\n")
			return
		}
		words := make([]string, len(path))
		for i, s := range path {
			words[i] = s.String()
		}
		again, err := parseStates(strings.Join(words, " , "))
		require.NoError(t, err)
		require.Equal(t, path, again)
	})
}
