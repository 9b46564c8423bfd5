package render

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/ironstate/ironstate/graph"
)

// HTML writes a diagram as a page of its own: the SVG and nothing to load. The
// errors are those of [SVG].
func HTML(ctx context.Context, w io.Writer, d graph.Diagram) error {
	return write(ctx, w, d, (*drawing).html)
}

func (d *drawing) html() ([]byte, error) {
	image, err := d.svg()
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>
body{margin:0;background:%s}
svg{display:block;margin:0 auto;max-width:100%%;height:auto}
</style>
</head>
<body>
<main>
%s</main>
</body>
</html>
`, escape(d.title), d.page.get("fill"), image)
	return page.Bytes(), nil
}
