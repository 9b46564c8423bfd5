package render

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"text/template"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

// HTML writes a page in which a reader explores the machine of every series at every
// API version: what each state means, which requests the API takes from it and where
// they lead, the way from a state to a goal as package plan finds it, and what
// changed between two series. The page is one file, and loads nothing. Its address
// holds the reader's choice, as in "#series=zed&state=enroll".
//
// The page opens with the diagram's series, its Since beside it, its Current state,
// its Path and its RequestsOnly. Its texts, links and direction are the diagram's
// too. It follows the reader's preference for dark colours; Dark asks for them
// always. NoLegend has no effect, and From and Only are an error, because the reader
// chooses. The other errors are those of [SVG].
func HTML(ctx context.Context, w io.Writer, d graph.Diagram) error {
	switch {
	case ctx == nil:
		return errNoContext
	case w == nil:
		return errNoWriter
	}
	title, description, err := d.Caption()
	if err != nil {
		return err
	}
	if d.Title == "" { // the Caption's would name the series, which the reader changes
		title = "Ironic provisioning states"
	}
	if d.From != states.NoState || d.Only.Len() > 0 {
		return errFiltered
	}
	all := allSeries(d)
	drawn, err := draw(ctx, all)
	if err != nil {
		return err
	}
	data, err := newExplorer(d, all)
	if err != nil {
		return err
	}
	page, err := explorerPage(title, description, d.Dark, drawn, data)
	if err != nil {
		return err
	}
	_, err = w.Write(page)
	return err
}

var errFiltered = errors.New("html has every state: leave out From and Only")

// allSeries returns the diagram of what any series has, with the texts, links and
// direction of another. The newest series and the oldest have together all that any
// series has.
func allSeries(d graph.Diagram) graph.Diagram {
	return graph.Diagram{
		Table:       states.Latest().Table(),
		Since:       states.Kilo.Table(),
		Describe:    d.Describe,
		Link:        d.Link,
		LeftToRight: d.LeftToRight,
		NoLegend:    true,
	}
}

// The parts of the page.
var (
	//go:embed explorer/page.html
	pageHTML string
	//go:embed explorer/style.css
	styleCSS string
	//go:embed explorer/model.js
	modelJS string
	//go:embed explorer/view.js
	viewJS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

func explorerPage(title, description string, dark bool, drawn *drawing, data *explorer) ([]byte, error) {
	text, err := json.Marshal(data) // without the signs that end a script
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = pageTemplate.Execute(&page, map[string]any{
		"Title":       escape(title),
		"Description": escape(description),
		"Dark":        dark,
		"Drawing":     drawn.explorerSVG(),
		"Data":        string(text),
		"Style":       styleCSS,
		"Script":      modelJS + viewJS,
	})
	return page.Bytes(), err
}
