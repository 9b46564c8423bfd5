package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ironstate/ironstate/powersync"
)

// progress shows the progress of a round. On a terminal it redraws one line; elsewhere
// it prints a few lines.
type progress struct {
	out      io.Writer
	terminal bool
	syncer   *powersync.Syncer
	nodes    int
}

const (
	redraw    = 100 * time.Millisecond
	plainLine = 2 * time.Second
	eraseLine = "\r\x1b[K"
)

// round does a round, shows its progress, and prints its report.
func (p *progress) round(ctx context.Context, name string, do func(context.Context) (powersync.Report, error)) error {
	before := p.syncer.Stats()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		p.draw(name, before, stop)
	}()
	report, err := do(ctx)
	close(stop)
	<-stopped
	fmt.Fprintf(p.out, "[%s] %v\n", name, report)
	return err
}

func (p *progress) draw(name string, before powersync.Stats, stop <-chan struct{}) {
	every := plainLine
	if p.terminal {
		every = redraw
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-stop:
			if p.terminal {
				fmt.Fprint(p.out, eraseLine)
			}
			return
		}
		now := p.syncer.Stats()
		line := fmt.Sprintf("[%s] %d of %d nodes, %d failed", name,
			now.Seen-before.Seen, p.nodes, now.Failed-before.Failed)
		if p.terminal {
			fmt.Fprint(p.out, eraseLine, line)
		} else {
			fmt.Fprintln(p.out, line)
		}
	}
}
