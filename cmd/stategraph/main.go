// SPDX-License-Identifier: Apache-2.0

// Stategraph draws Ironic's provisioning state machine, with nothing to install.
//
// Without flags it writes the newest series' machine as SVG to standard output:
//
//	stategraph > states.svg
//	stategraph -theme dark -o states-dark.svg
//	stategraph -format mermaid -series yoga -part cleaning
//	stategraph -diff zed -o news.png
//	stategraph -path "enroll,verifying,manageable" -o node.svg
//	stategraph -current manageable -goal active -o plan.svg
//	stategraph -o states.md
//	stategraph -format xstate -o machine.json
//	stategraph -o explorer.html
//
// With -o and without -format, the file's extension selects the format. The file is
// replaced atomically: on an error it keeps its old content.
//
// The format html is a page in which a reader explores the machine of every series;
// it opens with the series and states that the flags name. The format markdown is a
// page about the states, and xstate a machine for XState and Stately's viewer.
//
// A Mermaid diagram of the whole machine is too wide to be read on a page 1000 pixels wide: the Markdown page and
// -splice have one for each part of a node's life, and -part selects one.
//
// With -splice the command replaces the text between two marker lines in an existing Markdown file:
//
//	<!-- stategraph begin -->
//	<!-- stategraph end -->
//
// A go:generate directive keeps the file up to date:
//
//	//go:generate go run github.com/ironstate/ironstate/cmd/stategraph -splice states.md
//
// The exit status is 0 on success, 2 for invalid flags and for a file of -splice that cannot be used, 1 if drawing or
// writing fails, and 130 or 143 after SIGINT or SIGTERM. The reason is one line on standard error.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/ironstate/ironstate/graph/render"
	"github.com/ironstate/ironstate/internal/program"
)

func main() { program.Main("stategraph", run) }

// run draws a diagram. An error is about the flags unless the diagram could not be drawn or written.
func run(ctx context.Context, args []string, stdout, _ io.Writer) error {
	err := draw(ctx, args, stdout)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errWrite), errors.Is(err, render.ErrLayout), errors.Is(err, program.ErrVersion):
		return err
	default:
		return program.Usagef("%s", strings.Join(strings.Fields(err.Error()), " "))
	}
}

// draw writes the diagram that the flags describe. It renders the whole diagram before it writes any of it.
func draw(ctx context.Context, args []string, stdout io.Writer) error {
	var out bytes.Buffer
	o, err := parse(args, &out)
	if errors.Is(err, flag.ErrHelp) {
		return save(ctx, "", out.Bytes(), stdout)
	}
	if err != nil {
		return err
	}
	if err := o.format(ctx, &out, o.diagram); err != nil {
		return err
	}
	if o.splice != "" {
		return spliceInto(ctx, o.splice, out.Bytes())
	}
	return save(ctx, o.file, out.Bytes(), stdout)
}
