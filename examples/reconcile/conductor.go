package main

import (
	"context"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// conduct starts the fake's conductor. It does the work of each state in which
// the conductor is at work, or waits for a call, and reports how it went.
func (f *fake) conduct() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for f.awaitWork(ctx) {
			f.mu.Lock()
			f.report()
			f.mu.Unlock()
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// awaitWork returns once there is work and it is over, false where the context
// ends first. Work is not over before a client has seen it, so that what a client
// sees does not depend on how busy the computer is.
func (f *fake) awaitWork(ctx context.Context) bool {
	for !f.works() {
		select {
		case <-ctx.Done():
			return false
		case <-f.moved:
		}
	}
	select {
	case <-ctx.Done():
		return false
	case <-f.shown:
	}
	return sleep(ctx, f.delay) == nil
}

func (f *fake) works() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.table.Unstable().Has(f.node.State)
}

// report has the conductor report how the work went: as the script says, otherwise
// that it succeeded; f.mu is held. When a request came first there is nothing to
// report any more.
func (f *fake) report() {
	event, text := states.EventDone, ""
	if f.table.Phase(f.node.State) == states.PhaseWaiting {
		event = states.EventResume
	}
	if script := f.script[f.node.State]; len(script) > 0 {
		event, f.script[f.node.State] = script[0], script[1:]
	}
	if event == states.EventFail {
		text = "the agent on the node reports: no space left on device"
	}
	if node, err := f.node.Report(f.table, event, text); err == nil {
		f.move(node)
	}
}

// move moves the node; f.mu is held.
func (f *fake) move(node machine.Node) {
	f.node = node
	select {
	case <-f.shown:
	default:
	}
}
