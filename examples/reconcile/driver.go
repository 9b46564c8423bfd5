package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// driver brings a node to what is wished for.
type driver struct {
	client   *client
	table    *states.Table
	wish     plan.Wish
	poll     time.Duration
	patience patience
	report   *report
	node     seen // as it was last seen
}

// drive returns once the node is at the goal, or cannot come there.
func (d *driver) drive(ctx context.Context) error {
	if err := d.persist(ctx, d.meet); err != nil {
		return err
	}
	var step plan.Step
	for {
		err := d.persist(ctx, func(ctx context.Context) (err error) {
			step, err = d.turn(ctx)
			return err
		})
		if err != nil {
			return err
		}
		if step.Action == plan.Done {
			d.report.reached(d.client.node, d.wish.Goal, d.wish.Progress)
			return nil
		}
		if err := sleep(ctx, d.poll); err != nil {
			return err
		}
	}
}

// meet learns what Ironic speaks.
func (d *driver) meet(ctx context.Context) error {
	s, err := d.client.negotiate(ctx, d.wish.Version)
	if err != nil {
		return err
	}
	d.table, d.wish.Version = s.table, s.version
	d.report.begin(d.client.node, d.wish.Goal, s)
	return nil
}

// persist does a thing, and does it again when Ironic refuses for now.
func (d *driver) persist(ctx context.Context, do func(context.Context) error) error {
	for row := 1; ; row++ {
		err := do(ctx)
		if err == nil {
			return nil
		}
		wait, final := d.patience.wait(err, row)
		if final != nil {
			return final
		}
		d.report.refused(err, wait)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// turn looks at the node and does what the plan says. When a request is refused
// the wish stays as it was: the next turn looks again, for the node may have
// moved, and may send another verb.
func (d *driver) turn(ctx context.Context) (plan.Step, error) {
	node, err := d.client.look(ctx)
	if err != nil {
		return plan.Step{}, err
	}
	d.node, d.wish.Facts = node, node.facts
	step, err := plan.Next(d.table, d.node.Node, d.wish)
	if err != nil {
		return plan.Step{}, err
	}
	d.report.step(d.node, step)
	switch step.Action {
	case plan.Blocked:
		return plan.Step{}, &blockedError{step, d.node}
	case plan.Send:
		if err := d.client.with.lack(step.With); err != nil {
			return plan.Step{}, fmt.Errorf("%v needs %w", step.Verb, err)
		}
		if err := d.client.send(ctx, step); err != nil {
			return plan.Step{}, err
		}
	}
	d.wish.Progress = step.Progress
	return step, nil
}

// failure says what has not been reached, where the node is, and why.
func (d *driver) failure(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	where := ""
	if d.node.State != states.NoState {
		where = fmt.Sprintf(" (last seen in %s)", d.node.stateWord())
	}
	text := fmt.Sprintf("%s has not come to %v%s: %v", d.client.node, d.wish.Goal, where, err)
	return &failure{text: d.report.clean(text), err: err}
}

// failure is an error with a text that may be shown.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.err }

// blockedError is a step of the plan that needs a person.
type blockedError struct {
	step plan.Step
	node seen
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
	case plan.InMaintenance:
		if e.node.reason != "" {
			text += "; the reason for it: " + e.node.reason
		}
	case plan.UnknownState:
		text += fmt.Sprintf(" %q: Ironic is newer than this program", e.node.word)
	}
	return text
}
