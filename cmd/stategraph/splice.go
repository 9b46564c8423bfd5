// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

// The lines between which -splice puts its output.
const (
	beginMark = "<!-- stategraph begin -->"
	endMark   = "<!-- stategraph end -->"
)

// spliced returns the writer of a format whose output goes into a Markdown file.
func (v *values) spliced(format string) (writer, error) {
	switch format {
	case "markdown":
		return untitled, nil
	case "mermaid":
		return fenced, nil
	default:
		return nil, &states.UnknownError{Kind: "format for -splice", Word: format, Known: []string{"markdown", "mermaid"}}
	}
}

// untitled writes a page without its title: the file has its own.
func untitled(_ context.Context, w io.Writer, d graph.Diagram) error {
	var page strings.Builder
	if err := d.WriteMarkdown(&page); err != nil {
		return err
	}
	_, rest, _ := strings.Cut(page.String(), "\n\n")
	_, err := io.WriteString(w, rest)
	return err
}

// fenced writes Mermaid diagrams as fenced code blocks of Markdown: for the whole machine one for each part.
func fenced(_ context.Context, w io.Writer, d graph.Diagram) error {
	var blocks []string
	for _, one := range d.Split() {
		var diagram strings.Builder
		if err := one.WriteMermaid(&diagram); err != nil {
			return err
		}
		blocks = append(blocks, "```mermaid\n"+diagram.String()+"```\n")
	}
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}

// spliceInto replaces the text between a file's marker lines.
func spliceInto(ctx context.Context, file string, text []byte) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("splice into %s: %w", file, reason(err))
	}
	spliced, err := splice(page, text)
	if err != nil {
		return fmt.Errorf("splice into %s: %w", file, err)
	}
	return save(ctx, file, spliced, nil)
}

// splice returns a page with the text between its marker lines replaced. The new text gets the page's line endings.
func splice(page, text []byte) ([]byte, error) {
	begin, err := markedLine(page, beginMark)
	if err != nil {
		return nil, err
	}
	end, err := markedLine(page, endMark)
	if err != nil {
		return nil, err
	}
	if end.start < begin.end {
		return nil, fmt.Errorf("the line %q comes before the line %q", endMark, beginMark)
	}
	text = append(append([]byte("\n"), text...), '\n')
	if bytes.HasSuffix(page[begin.start:begin.end], []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return bytes.Join([][]byte{page[:begin.end], text, page[end.start:]}, nil), nil
}

// A span is a range of bytes in a text.
type span struct{ start, end int }

// markedLine returns the only line of a page that equals a mark, with its line ending.
func markedLine(page []byte, mark string) (span, error) {
	var found []span
	at := 0
	for line := range bytes.Lines(page) {
		if string(bytes.TrimSpace(line)) == mark {
			found = append(found, span{at, at + len(line)})
		}
		at += len(line)
	}
	if len(found) != 1 {
		return span{}, fmt.Errorf("%d lines are %q: there must be one, and a line %q before a line %q", len(found), mark, beginMark, endMark)
	}
	return found[0], nil
}
