package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// reconciler brings a node to the goal of a wish.
type reconciler struct {
	ironic  *ironic
	name    string // the node's name or UUID
	wish    plan.Wish
	with    arguments
	poll    time.Duration
	backoff backoff
	report  *report

	table *states.Table // of the server's series; nil until it is known
	node  node          // the last answer of Ironic
}

// reconcile brings the node of the options to their goal. The error is the reason why
// the goal is not reached.
func reconcile(ctx context.Context, opts options, out io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, opts.timeout, fmt.Errorf("no end in %v", opts.timeout))
	defer cancel()
	ironic, err := newIronic(opts.endpoint)
	if err != nil {
		return err
	}
	defer ironic.close()

	r := &reconciler{
		ironic:  ironic,
		name:    opts.node,
		wish:    plan.Wish{Goal: opts.goal, Version: opts.version, Policy: opts.policy},
		with:    opts.with,
		poll:    opts.poll,
		backoff: opts.backoff,
		report:  &report{out: out, secret: opts.with.password, began: time.Now()},
	}
	if err := r.run(ctx); err != nil {
		return r.failure(ctx, err)
	}
	return nil
}

// run does one step after the other until the node is at its goal. After a temporary
// refusal it waits and then gets the node again: the node may have moved meanwhile, and
// may need another request.
func (r *reconciler) run(ctx context.Context) error {
	refusals := 0 // in a row
	for {
		step, err := r.step(ctx)
		if err == nil && step.Action == plan.Done {
			r.report.reached(r.name, r.wish)
			return nil
		}
		wait := r.poll
		if err == nil {
			refusals = 0
		} else {
			refusals++
			delay, final := r.backoff.delay(err, refusals)
			if final != nil {
				return final
			}
			r.report.refused(err, delay)
			wait = delay
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// step gets the node, computes the next step of the plan, and executes it.
func (r *reconciler) step(ctx context.Context) (plan.Step, error) {
	if r.table == nil {
		if err := r.negotiate(ctx); err != nil {
			return plan.Step{}, err
		}
	}
	node, err := r.ironic.node(ctx, r.name)
	if err != nil {
		return plan.Step{}, err
	}
	r.node, r.wish.Facts = node, node.facts
	step, err := plan.Next(r.table, node.Node, r.wish)
	if err != nil {
		return plan.Step{}, err
	}
	r.report.step(node, step)
	switch step.Action {
	case plan.Blocked:
		return plan.Step{}, &blockedError{step, node}
	case plan.Send:
		body, err := r.with.body(step)
		if err != nil {
			return plan.Step{}, err
		}
		if err := r.ironic.send(ctx, r.name, body); err != nil {
			return plan.Step{}, err
		}
		r.report.sent++
	}
	r.wish.Progress = step.Progress // only once Ironic has accepted the request
	return step, nil
}

// negotiate gets the server's API versions, and from them its series.
func (r *reconciler) negotiate(ctx context.Context) error {
	server, err := r.ironic.negotiate(ctx, r.wish.Version)
	if err != nil {
		return err
	}
	r.table, r.wish.Version = server.table, server.version
	r.report.begin(r.name, r.wish.Goal, server)
	return nil
}

// sleep waits, and returns the context's error if the context ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// failure returns an error with the goal, the node's state, and the cause.
func (r *reconciler) failure(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	where := ""
	if r.node.reported != (states.Reported{}) {
		where = fmt.Sprintf(" (last seen in %v)", r.node.reported)
	}
	text := fmt.Sprintf("%s has not come to %v%s: %v", r.name, r.wish.Goal, where, err)
	return &failure{text: r.report.clean(text), err: err}
}

// failure is an error with a cleaned text.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.err }

// blockedError is the error of a step that needs a person.
type blockedError struct {
	step plan.Step
	node node
}

func (e *blockedError) Error() string {
	text := e.step.String()
	switch e.step.Reason {
	case plan.NeedsRetry:
		text += "; look at the node, or see -retries"
	case plan.NeedsUnhold:
		text += "; let it go on, or see -may-abort"
	case plan.NeedsDestroy:
		text += "; see -may-destroy"
	case plan.NeedsVersion:
		text += "; see -api"
	case plan.Refused:
		if e.step.Field == "maintenance" && e.node.maintenanceReason != "" {
			text += "; the reason for it: " + e.node.maintenanceReason
		}
	case plan.NoRoute:
		if e.node.State != states.UnknownState {
			break
		}
		text += fmt.Sprintf(" out of %q: Ironic is newer than this program", e.node.reported)
	}
	return text
}
