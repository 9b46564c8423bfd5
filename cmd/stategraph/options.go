// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/graph/render"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// options holds the checked flags.
type options struct {
	diagram graph.Diagram
	format  writer
	file    string
	splice  string // the file to splice the output into
}

// A writer writes a diagram in one format.
type writer func(context.Context, io.Writer, graph.Diagram) error

// formats holds the formats in the order of their names. A file may have the name as its extension, too.
var formats = []struct {
	name, extension string
	write           writer
}{
	{"dot", "gv", plain(graph.Diagram.WriteDOT)},
	{"html", "html", render.HTML},
	{"json", "json", plain(graph.Diagram.WriteJSON)},
	{"markdown", "md", plain(graph.Diagram.WriteMarkdown)},
	{"mermaid", "mmd", plain(graph.Diagram.WriteMermaid)},
	{"png", "png", render.PNG},
	{"svg", "svg", render.SVG},
	{"xstate", "xstate", plain(graph.Diagram.WriteXState)},
}

// formatNames returns the names of the formats.
func formatNames() (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// plain returns the writer of a format that needs no context.
func plain(write func(graph.Diagram, io.Writer) error) writer {
	return func(_ context.Context, w io.Writer, d graph.Diagram) error { return write(d, w) }
}

// values holds the flags as parsed.
type values struct {
	format, file  string
	splice        string
	series, since states.Series
	from, current states.State
	path, only    string
	part          string
	goal          string
	link          string
	extension     render.Extension
	direction     string
	theme         string
	diagram       graph.Diagram
}

// flags returns the flags, which set the values.
func (v *values) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("stategraph", flag.ContinueOnError)
	fs.StringVar(&v.format, "format", "",
		"`format`: "+strings.Join(formatNames(), ", ")+" (default svg, or by the extension of -o)")
	fs.StringVar(&v.file, "o", "", "write to this `file` (default standard output)")
	fs.StringVar(&v.splice, "splice", "",
		"put the Markdown page, without its title, or the Mermaid diagrams into this `file`,\nbetween a line "+
			beginMark+" and a line "+endMark)
	v.series = states.Latest()
	fs.TextVar(&v.series, "series", v.series, "`series` of OpenStack whose machine to draw")
	fs.TextVar(&v.since, "diff", v.since, "show what changed since this older `series`")
	fs.TextVar(&v.from, "from", v.from, "leave out what cannot be reached from this `state`")
	fs.StringVar(&v.only, "only", "", "leave out all but these `states`, as in enroll,verifying")
	fs.StringVar(&v.part, "part", "", "leave out all but this `part` of a node's life and the states next to it, as in cleaning")
	fs.TextVar(&v.current, "current", v.current, "highlight this `state` (default the last one of -path)")
	fs.StringVar(&v.path, "path", "", "highlight the path through these `states`, as in enroll,verifying")
	fs.StringVar(&v.goal, "goal", "", "highlight the planned path from -current to this `goal`, as in active or deletable")
	fs.BoolVar(&v.diagram.RequestsOnly, "requests", false, "leave out what only the conductor does")
	fs.StringVar(&v.link, "link", "", "link each state to this `URL`, in which {state} stands for its word")
	fs.StringVar(&v.extension.Script, "script", "", "in HTML, load this script's `URL` from the page's server")
	fs.StringVar(&v.extension.Style, "style", "", "in HTML, load this style sheet's `URL` from the page's server")
	fs.StringVar(&v.diagram.Picture, "picture", "", "in Markdown, link the picture at this `URL` instead of a Mermaid diagram")
	fs.StringVar(&v.diagram.Title, "title", "", "`text` above the diagram")
	fs.StringVar(&v.diagram.Description, "description", "", "`text` for readers who do not see the diagram")
	fs.StringVar(&v.direction, "direction", "TB", "`direction`: TB or LR")
	fs.StringVar(&v.theme, "theme", "light", "`theme`: light or dark")
	fs.BoolVar(&v.diagram.NoLegend, "no-legend", false, "leave out the legend")
	return fs
}

// parse parses the arguments. For -h or -help it writes the usage to help and returns [flag.ErrHelp]. It returns the
// errors of [program.Parse], and errors about invalid values.
func parse(args []string, help io.Writer) (*options, error) {
	var v values
	if err := program.Parse(v.flags(), args, help); err != nil {
		return nil, err
	}
	return v.options()
}

// isSecond reports whether a flag has the second of its two values, in lower or upper
// case. A value that is neither is an error.
func isSecond(flag, value, first, second string) (bool, error) {
	switch {
	case strings.EqualFold(value, first):
		return false, nil
	case strings.EqualFold(value, second):
		return true, nil
	default:
		return false, &states.UnknownError{Kind: flag, Word: value, Known: []string{first, second}}
	}
}

// options checks the values and returns what they stand for.
func (v *values) options() (*options, error) {
	if v.series == states.NoSeries {
		return nil, errors.New("there is no machine of series none: name one, as in -series zed")
	}
	d := v.diagram
	d.Table, d.Since = v.series.Table(), v.since.Table()
	d.From, d.Current = v.from, v.current
	var err error
	if d.LeftToRight, err = isSecond("direction", v.direction, "TB", "LR"); err != nil {
		return nil, err
	}
	if d.Dark, err = isSecond("theme", v.theme, "light", "dark"); err != nil {
		return nil, err
	}
	if v.only != "" {
		only, err := parseStates(v.only)
		if err != nil {
			return nil, err
		}
		d.Only = states.SetOf(only...)
	}
	d.Part = graph.Part(v.part)
	for part := range graph.AllParts() {
		if strings.EqualFold(string(part), v.part) {
			d.Part = part
		}
	}
	if err := v.highlight(&d); err != nil {
		return nil, err
	}
	if v.link != "" {
		d.Link = func(s states.State) string {
			return strings.ReplaceAll(v.link, "{state}", url.PathEscape(s.String()))
		}
	}
	// An error of the diagram is returned by each writer.
	if shown, err := d.States(); err == nil && shown.Len() == 0 {
		return nil, errors.New("the diagram has no states: -from, -only, -part and -series leave none")
	}
	format, err := v.writer()
	return &options{diagram: d, format: format, file: v.file, splice: v.splice}, err
}

// highlight sets the diagram's Path. Current is then the first state of a planned path, and
// by default the last state of a path that is given.
func (v *values) highlight(d *graph.Diagram) error {
	if v.goal != "" {
		goal, err := plan.ParseGoal(v.goal)
		switch {
		case err != nil:
			return err
		case v.path != "" || d.Current == states.NoState:
			return errors.New("-goal needs -current and excludes -path")
		case !d.Table.States().Has(d.Current):
			return &machine.StateError{Series: d.Table.Series(), State: d.Current}
		}
		path, err := pathTo(d.Table, d.Current, goal)
		if err == nil {
			d.Path, err = graph.Through(d.Table, path...)
		}
		return err
	}
	if v.path == "" {
		return nil
	}
	path, err := parseStates(v.path)
	if err != nil {
		return err
	}
	d.Current = cmp.Or(d.Current, path[len(path)-1])
	d.Path, err = graph.Through(d.Table, path...)
	return err
}

// parseStates returns the states of a list of words with commas between them. It returns at least one.
func parseStates(list string) ([]states.State, error) {
	var all []states.State
	for word := range strings.SplitSeq(list, ",") {
		s, err := states.Parse(strings.TrimSpace(word))
		if err == nil && s == states.NoState {
			unknown := &states.UnknownError{Kind: "state", Word: word}
			for known := range states.AllStates() {
				unknown.Known = append(unknown.Known, known.String())
			}
			err = unknown
		}
		if err != nil {
			return nil, fmt.Errorf("list of states: %w", err)
		}
		all = append(all, s)
	}
	return all, nil
}

// writer returns the writer of the format that the flags name or, without -format, of
// the format that the file's extension names.
func (v *values) writer() (writer, error) {
	format := strings.ToLower(v.format)
	switch {
	case v.splice != "" && v.file != "":
		return nil, errors.New("-splice and -o: name one file to write")
	case v.splice != "" && format == "":
		format = "markdown"
	case format == "":
		format = formatOf(v.file)
	}
	if v.diagram.Picture != "" && format != "markdown" {
		return nil, errors.New("-picture is for the format markdown")
	}
	if v.splice != "" {
		return v.spliced(format)
	}
	i := slices.Index(formatNames(), format)
	switch {
	case i < 0:
		return nil, &states.UnknownError{Kind: "format", Word: format, Known: formatNames()}
	case v.extension == (render.Extension{}):
		return formats[i].write, nil
	case format != "html":
		return nil, errors.New("-script and -style are for the format html")
	}
	return func(ctx context.Context, w io.Writer, d graph.Diagram) error {
		return render.ExtendedHTML(ctx, w, d, v.extension)
	}, nil
}

// formatOf returns the format of a file by its extension, which may be unknown, in lower or upper case.
func formatOf(file string) string {
	extension := strings.ToLower(strings.TrimPrefix(filepath.Ext(file), "."))
	for _, f := range formats {
		if f.extension == extension {
			return f.name
		}
	}
	return cmp.Or(extension, "svg")
}
