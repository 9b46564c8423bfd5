// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/template"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

// HTML writes a page in which a reader explores the machine of every series at every API version: the meaning of each
// state, the requests that the API accepts in it and the states that they lead to, the plan from a state to a goal as
// package plan computes it, the changes between two series, and a simulation: a node that the reader walks through the
// states by requests, with the API's answers, and by reports of the conductor. The page is one file and loads nothing
// else. Its address holds the reader's choice, as in "#series=zed&state=enroll", and the walk.
//
// The page opens with the diagram's series, compared with its Since, and with its Current, Path and RequestsOnly. Its
// texts, links and direction are the diagram's too. Its colours follow the reader's preference for light or dark; Dark
// makes them always dark. NoLegend has no effect, and From, Only and Part are an error, because the reader selects the
// states. It also returns the errors of [SVG].
//
// HTML has the parameters of [SVG] and [PNG], so that a program can have the three in one list of formats, as the
// command stategraph does. [ExtendedHTML] has one more, which few need.
func HTML(ctx context.Context, w io.Writer, d graph.Diagram) error {
	return ExtendedHTML(ctx, w, d, Extension{})
}

// Extension is a server's addition to the page of [HTML], for instance its nodes. The zero value adds nothing.
type Extension struct {
	// Style and Script are the addresses of a style sheet and a script that the page
	// loads from its own server, as in "live/page.js"; empty for none.
	Style, Script string
}

// ExtendedHTML writes the page of [HTML] for a server that extends it. The page may send
// requests to that server and to no other: the Content-Security-Policy in its meta
// element enforces this, and names the page's own scripts by their hashes.
//
// The extension's script runs after the page's own. The page offers it window.explorer: data and model, with all
// series; choice, the reader's choice, and choose, which changes parts of it; element, which creates an element;
// stateButton, which creates a button for a state's name; states and edges, with the groups of the diagram by "enroll"
// and "enroll verifying". The script calls explorer.extend, again after each change, with three arguments: the series
// for the page to show, empty for the reader's choice; the names of the values that the script adds to the choice, and
// so to the address; and a function that the page calls whenever it has shown a choice.
func ExtendedHTML(ctx context.Context, w io.Writer, d graph.Diagram, x Extension) error {
	title, description, err := d.Caption()
	if err != nil {
		return err
	}
	if d.Title == "" { // Caption's default names a series, and the reader selects that
		title = "Ironic provisioning states"
	}
	if d.From != states.NoState || d.Only.Len() > 0 || d.Part != "" {
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
	drawn.title, drawn.description = title, description
	page, err := drawn.explorerPage(data, d.Dark, x)
	if err != nil {
		return err
	}
	_, err = w.Write(page)
	return err
}

var errFiltered = errors.New("html has every state: leave out From, Only and Part")

// allSeries returns a diagram of the states and transitions of all series, with the texts, links and direction of
// another diagram. The newest and the oldest series together have every state and transition.
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
	//go:embed explorer/simulation.js
	simulationJS string
	//go:embed explorer/walk.js
	walkJS string
	//go:embed explorer/view.js
	viewJS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// explorerPage returns the page of the drawing with the data of all series.
func (d *drawing) explorerPage(data *explorer, dark bool, x Extension) ([]byte, error) {
	text, err := json.Marshal(data) // Marshal escapes <, so the text cannot end the script
	if err != nil {
		return nil, err
	}
	style, script := "\n"+styleCSS, "\n"+modelJS+simulationJS+walkJS+viewJS
	var page bytes.Buffer
	err = pageTemplate.Execute(&page, map[string]any{
		"Title":       escape(d.title),
		"Description": escape(d.description),
		"Dark":        dark,
		"Policy":      x.policy(style, script),
		"Drawing":     d.explorerSVG(),
		"Data":        string(text),
		"Style":       style,
		"Script":      script,
		"MoreStyle":   escape(x.Style),
		"MoreScript":  escape(x.Script),
	})
	return page.Bytes(), err
}

// policy returns the Content-Security-Policy of the page: it permits the page's own
// style and script and, for an extended page, its server's.
func (x Extension) policy(style, script string) string {
	own, connect := "", "'none'"
	if x != (Extension{}) {
		own, connect = " 'self'", "'self'"
	}
	return fmt.Sprintf("default-src 'none'; style-src %s%s; script-src %s%s; connect-src %s; "+
		"img-src data:; base-uri 'none'; form-action 'none'",
		hashed(style), own, hashed(script), own, connect)
}

// hashed returns the source expression of a text in a Content-Security-Policy.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
