// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/graph/render"
	"github.com/ironstate/ironstate/states"
)

// PNG is for pages that do not accept SVG.
func ExamplePNG() {
	var picture bytes.Buffer
	err := render.PNG(context.Background(), &picture, graph.Diagram{
		Table: states.Latest().Table(),
		Only:  states.SetOf(states.Enroll, states.Verifying, states.Manageable),
	})
	if err != nil {
		panic(err)
	}
	size, err := png.DecodeConfig(&picture)
	fmt.Println(size.Width > 400, size.Height > 400, err)
	// Output: true true <nil>
}
