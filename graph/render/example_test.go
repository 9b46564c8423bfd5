// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/graph/render"
	"github.com/ironstate/ironstate/states"
)

// A page's script and style sheet find states and edges by ID and class.
func ExampleSVG() {
	var image strings.Builder
	err := render.SVG(context.Background(), &image, graph.Diagram{
		Table: states.Latest().Table(),
		Only:  states.SetOf(states.Enroll, states.Verifying),
	})
	if err != nil {
		fmt.Println(err)
	}
	for line := range strings.Lines(image.String()) {
		if id, class, ok := strings.Cut(line, `" class="`); ok && strings.HasPrefix(id, `<g id="`) {
			class, _, _ = strings.Cut(class, `"`)
			fmt.Println(strings.TrimPrefix(id, `<g id="`)+":", class)
		}
	}
	// Output:
	// part-enrolment: part
	// edge-enroll-verifying: edge request spine
	// edge-verifying-enroll: edge conductor
	// state-enroll: state stable
	// state-verifying: state working
}

// The page opens with the newest series, compared with zed.
func ExampleHTML() {
	var page strings.Builder
	err := render.HTML(context.Background(), &page, graph.Diagram{
		Table: states.Latest().Table(),
		Since: states.Zed.Table(),
		Title: "Our nodes",
	})
	fmt.Println(err, strings.Contains(page.String(), "<title>Our nodes</title>"))
	// Output: <nil> true
}
