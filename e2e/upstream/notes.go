// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

//go:embed notes/*.txt
var noteFiles embed.FS

// A note is one line of a file in the folder notes, for one release note of the project that the file is named after:
//
//	SERIES NAME | what it is about | OURS
//
// The name is the name of the note's file without ".yaml". The series is the first one whose last release has the file,
// so that a fix which was backported belongs to the series that got it. OURS is one of these:
//
//	test PACKAGE TEST             the test shows the same behaviour
//	refused PACKAGE TEST REASON   the test shows that a request for it is refused
//	elsewhere WORD                it concerns a part of Ironic that this project does not replace
//	missing REASON                it is not here, or no test shows it
//
// PACKAGE is a folder below the root of the repository. The rows are in order of series and name.
type note struct {
	Series, Name, About string
	Kind                string // test, refused, elsewhere or missing
	Package, Test       string // of the kinds test and refused
	Reason              string // of refused and missing, the word of elsewhere
}

// places are the words of notes of the kind elsewhere: what the project does not replace. "agent" is Ironic's own
// agent, "conversion" what the conductor does with copies of images, "drivers" are hardware types and interfaces of
// others, and "TFTP" are the files of the operator's DHCP and TFTP servers.
var places = []string{
	"agent", "Cinder", "conversion", "database", "docs", "drivers", "Glance", "inspector", "Keystone", "Neutron", "Nova",
	"notifications", "packaging", "prelude", "Python", "RPC", "Swift", "TFTP", "tests",
}

// project has what is particular to the notes of one project.
type project struct {
	file  string              // the rows
	base  string              // the release with the last notes that have no row
	last  func(string) string // the last release of a series, "" if there is none
	about string              // its name in texts
}

// sushyReleases are the last releases of sushy for each series, from the branches of its repository; for 2026.1 it is
// the last one in the clone from which the rows were made.
var sushyReleases = map[string]string{
	"2023.2": "4.5.2", "2024.1": "5.0.1", "2024.2": "5.2.1", "2025.1": "5.5.0", "2025.2": "5.7.1", "2026.1": "5.8.0",
}

func ironicNotes(all document) project {
	return project{"notes/ironic.txt", all.Series["2023.1"].Tag, func(series string) string { return all.Series[series].Tag }, "Ironic"}
}

func sushyNotes() project {
	return project{"notes/sushy.txt", "4.4.3", func(series string) string { return sushyReleases[series] }, "sushy"}
}

const notesFolder = "releasenotes/notes/"

// readNotes reads the rows of a project.
func readNotes(file string) ([]note, error) {
	text, err := noteFiles.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var rows []note
	for line := range strings.Lines(string(text)) {
		n, err := parseNote(strings.TrimSuffix(line, "\n"))
		if last := len(rows) - 1; err == nil && last >= 0 && !rows[last].before(n) {
			err = fmt.Errorf("%s belongs before %s", n.Name, rows[last].Name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, len(rows)+1, err)
		}
		rows = append(rows, n)
	}
	return rows, nil
}

func (n note) before(m note) bool {
	return n.Series < m.Series || n.Series == m.Series && n.Name < m.Name
}

var errNoRow = errors.New(`want "SERIES NAME | what it is about | OURS"`)

func parseNote(line string) (note, error) {
	parts := strings.Split(line, " | ")
	if len(parts) != 3 || parts[1] == "" || parts[1] != strings.TrimSpace(parts[1]) {
		return note{}, errNoRow
	}
	series, name, ok := strings.Cut(parts[0], " ")
	if !ok || name == "" || strings.Contains(name, " ") {
		return note{}, errNoRow
	}
	if s, err := states.ParseSeries(series); err != nil || s.String() != series {
		return note{}, fmt.Errorf("no series %q", series)
	}
	kind, rest, _ := strings.Cut(parts[2], " ")
	n := note{Series: series, Name: name, About: parts[1], Kind: kind}
	switch kind {
	case "test", "refused":
		words := strings.SplitN(rest, " ", 3)
		if len(words) < 2 || (len(words) == 3) != (kind == "refused") {
			return note{}, fmt.Errorf("%s %q has not its folder and test, and for refused a reason", kind, rest)
		}
		n.Package, n.Test = words[0], words[1]
		if kind == "refused" {
			n.Reason = words[2]
		}
	case "elsewhere":
		if n.Reason = rest; !slices.Contains(places, rest) {
			return note{}, fmt.Errorf("elsewhere %q is none of %q", rest, places)
		}
	case "missing":
		if n.Reason = rest; rest == "" {
			return note{}, errors.New("missing without a reason")
		}
	default:
		return note{}, fmt.Errorf("%q is neither test, refused, elsewhere nor missing", kind)
	}
	return n, nil
}

// listNotes prints a line for each note of a clone that has no row, with the series that has it first, and one for each
// row without a note.
func listNotes(ctx context.Context, dir string, p project, out io.Writer) error {
	return try.Catch(func() {
		rows := try.Get(readNotes(p.file))
		names := map[string][]string{}
		for s := range states.AllSeries() {
			if release := p.last(s.String()); release != "" && s > states.Antelope {
				var err error
				if names[s.String()], err = notesOf(ctx, dir, release); !errors.Is(err, errNoRevision) { // the clone may be older
					try.OK(err)
				}
			}
		}
		newest, base := try.Get(notesOf(ctx, dir, "HEAD")), try.Get(notesOf(ctx, dir, p.base))
		for _, line := range lacking(rows, newest, base, names) {
			fmt.Fprintln(out, line)
		}
	})
}

// lacking returns the lines of listNotes: newest are the notes of a clone, base the notes without rows, and names the
// notes in the last release of each series.
func lacking(rows []note, newest, base []string, names map[string][]string) []string {
	known := map[string]bool{}
	for _, n := range rows {
		known[n.Name] = true
	}
	var lines []string
	for _, name := range newest {
		if known[name] || slices.Contains(base, name) {
			delete(known, name)
			continue
		}
		first := states.Latest().String()
		for _, series := range slices.Sorted(maps.Keys(names)) {
			if slices.Contains(names[series], name) {
				first = series
				break
			}
		}
		lines = append(lines, first+" "+name+" | | ")
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		lines = append(lines, name+" is in no note")
	}
	return lines
}

var errNoRevision = errors.New("no such revision")

// notesOf returns the names of the notes at a revision of a repository, sorted.
func notesOf(ctx context.Context, dir, revision string) ([]string, error) {
	if _, err := command(ctx, nil, "git", "-C", dir, "rev-parse", "--verify", "--quiet", revision+"^{commit}"); err != nil {
		return nil, fmt.Errorf("%s has %w %s", dir, errNoRevision, revision)
	}
	listed, err := command(ctx, nil, "git", "-C", dir, "ls-tree", "--full-tree", "--name-only", revision, notesFolder)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(listed)) {
		names = append(names, strings.TrimSuffix(path.Base(strings.TrimSpace(line)), ".yaml"))
	}
	slices.Sort(names)
	return names, nil
}

const (
	reference = "cmd/ironstate/REFERENCE.md"
	tableHead = "<!-- e2e/upstream -missing writes the table that follows -->\n\n"
)

// missingTable returns the table of the rows of the kind missing, for operators: one line for each reason.
func missingTable() (string, error) {
	type line struct{ series, about, reason string }
	var lines []line
	for _, file := range []string{ironicNotes(document{}).file, sushyNotes().file} {
		rows, err := readNotes(file)
		if err != nil {
			return "", err
		}
		for _, n := range rows {
			if n.Kind != "missing" {
				continue
			}
			i := slices.IndexFunc(lines, func(l line) bool { return l.reason == n.Reason })
			if i < 0 {
				lines = append(lines, line{n.Series, n.About, n.Reason})
				continue
			}
			lines[i].about += "; " + n.About
			lines[i].series = min(lines[i].series, n.Series)
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return strings.Compare(a.series, b.series) })
	var b strings.Builder
	b.WriteString("| since | what Ironic has changed | here |\n| --- | --- | --- |\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.series, l.about, l.reason)
	}
	return b.String(), nil
}

// replaceTable returns the text with the table after its head.
func replaceTable(text []byte, table string) ([]byte, error) {
	before, after, ok := bytes.Cut(text, []byte(tableHead))
	if !ok {
		return nil, fmt.Errorf("%s has no line %q", reference, strings.TrimSpace(tableHead))
	}
	for len(after) > 0 && after[0] == '|' {
		_, after, _ = bytes.Cut(after, []byte("\n"))
	}
	return slices.Concat(before, []byte(tableHead), []byte(table), after), nil
}

// writeMissing writes the table into the reference.
func writeMissing() error {
	return try.Catch(func() {
		text := try.Get(replaceTable(try.Get(os.ReadFile(reference)), try.Get(missingTable())))
		try.OK(os.WriteFile(reference, text, 0o644))
	})
}
