// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// progress keeps a line below the log on a terminal that says on which nodes this process works and since when. It is
// safe for concurrent use.
type progress struct {
	out   io.Writer
	width func() int

	mu    sync.Mutex
	nodes map[string]atWork // by UUID
	shown bool
}

// atWork is a node at work.
type atWork struct {
	name     string
	state    states.State
	since    time.Time // the begin of the work, with its waits
	revision int64     // of the node's record
}

// newProgress returns the progress on a terminal, nil if out is none.
func newProgress(out io.Writer) *progress {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	width := func() int {
		columns, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 80
		}
		return columns
	}
	return &progress{out: out, width: width, nodes: map[string]atWork{}}
}

// observe is told each transition of this process.
func (p *progress) observe(t conductor.Transition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !t.To.InProgress() {
		delete(p.nodes, t.Node.UUID)
		return
	}
	before, works := p.nodes[t.Node.UUID]
	if !works {
		before.since = t.Time
	}
	p.nodes[t.Node.UUID] = atWork{cmp.Or(t.Node.Name, t.Node.UUID), t.To, before.since, t.Node.Revision}
}

// follow removes the nodes that are deleted, or whose work another conductor ends, until the changes end.
func (p *progress) follow(changes iter.Seq[conductor.NodeChange]) {
	for c := range changes {
		p.mu.Lock()
		known := p.nodes[c.UUID].revision // an older change is from before the work
		if c.Node == nil || c.Node.Revision > known && !c.Node.ProvisionState.InProgress() {
			delete(p.nodes, c.UUID)
		}
		p.mu.Unlock()
	}
}

// Write implements [io.Writer]. It writes lines of the log above the line.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	defer p.draw()
	return p.out.Write(b)
}

// run draws the line every second until the context ends.
func (p *progress) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.mu.Lock()
			defer p.mu.Unlock()
			p.clear()
			return
		case <-tick.C:
			_, _ = p.Write(nil)
		}
	}
}

func (p *progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
	}
	p.shown = false
}

func (p *progress) draw() {
	if line := progressLine(p.nodes, time.Now(), p.width()-1); line != "" {
		_, _ = io.WriteString(p.out, line)
		p.shown = true
	}
}

// progressLine returns the line for the nodes at work, the longest work first, cut off at a width. It is empty if there
// is no work.
func progressLine(nodes map[string]atWork, now time.Time, width int) string {
	if len(nodes) == 0 {
		return ""
	}
	work := make([]atWork, 0, len(nodes))
	for _, n := range nodes {
		work = append(work, n)
	}
	slices.SortFunc(work, func(a, b atWork) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.name, b.name)) })
	var line strings.Builder
	fmt.Fprintf(&line, "%d at work: ", len(work))
	for i, n := range work {
		if i > 0 {
			line.WriteString(", ")
		}
		fmt.Fprintf(&line, "%s %s %v", n.name, n.state, now.Sub(n.since).Truncate(time.Second))
	}
	text := []rune(line.String())
	if len(text) > width {
		return string(text[:max(width-1, 0)]) + "…"
	}
	return string(text)
}
