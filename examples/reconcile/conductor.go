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
			f.move(f.reported())
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
	return f.table.Unstable().Has(f.node.State) || f.table.Waiting().Has(f.node.State)
}

// move moves the node; f.mu is held. What has no row in the table moves nothing:
// a request came first.
func (f *fake) move(in machine.Input) {
	node, err := f.node.Apply(f.table, in)
	if err != nil {
		return
	}
	f.node = node
	select {
	case <-f.shown:
	default:
	}
}

// requested is what an accepted request comes to.
func requested(from machine.Node, event states.Event) machine.Input {
	in := machine.Input{Event: event, Work: true}
	switch event {
	case states.EventManage:
		in.Work = from.State == states.Enroll
	case states.EventClean:
		in.Target = states.Manageable
	case states.EventAdopt:
		in.Target = states.Active
	case states.EventAbort:
		in.LastError = "aborted by request"
		in.Target = manual(from)
	}
	return in
}

// reported is the conductor's next report: what the script says, otherwise that
// the work has succeeded.
func (f *fake) reported() machine.Input {
	in := machine.Input{Event: f.success(), Target: manual(f.node)}
	if script := f.script[f.node.State]; len(script) > 0 {
		in.Event, f.script[f.node.State] = script[0], script[1:]
	}
	switch in.Event {
	case states.EventFail:
		in.LastError = "the agent on the node reports: no space left on device"
	case states.EventManage, states.EventDone:
		in.Target = states.NoState
	}
	return in
}

func (f *fake) success() states.Event {
	switch {
	case f.table.Waiting().Has(f.node.State):
		return states.EventResume
	case f.node.State == states.Deleting:
		return states.EventClean
	case manual(f.node) != states.NoState:
		return states.EventManage
	default:
		return states.EventDone
	}
}

// manual is the target that goes with the events of a manual cleaning, NoState
// where the node is in none.
func manual(n machine.Node) states.State {
	switch n.State {
	case states.Cleaning, states.CleanWait, states.CleanHold:
		if n.Target == states.Manageable {
			return n.Target
		}
	}
	return states.NoState
}
