// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// powerRounds implements [powersync.Handler]: it handles the nodes in the rounds of the power sync
// by the rules of package powersync.
type powerRounds struct{ engine *engine }

// newSyncer returns the loop of the power sync.
func newSyncer(e *engine) (*powersync.Syncer, error) {
	config := e.config.Power
	config.Handler, config.Name, config.Logger = powerRounds{e}, e.config.Name, e.config.Log
	return powersync.New(config)
}

// A round pauses for syncPause after each syncBatch nodes, which limits it to 25,600 nodes a
// second. Without the pauses a round over hardware that answers at once would occupy all
// processors and delay clients. A round over BMCs is slower than the limit anyway.
const (
	syncBatch = 256
	syncPause = 10 * time.Millisecond
)

// Records implements [powersync.Handler]. It yields the nodes that this conductor owns, or an error if it has lost its
// membership, so that its nodes keep their failures.
func (p powerRounds) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		nodes, err := p.engine.fleet.listNodes(ctx)
		if err != nil {
			yield(powersync.Record{}, err)
			return
		}
		p.engine.forgetReads()
		before := p.engine.sessions.wasMember()
		s, err := p.engine.sessions.current()
		if err != nil {
			if before && ctx.Err() == nil {
				yield(powersync.Record{}, err)
			}
			return // not a member: other conductors own the nodes
		}
		for i, n := range nodes {
			if i%syncBatch == syncBatch-1 {
				sleep.For(ctx, syncPause)
			}
			if s.owns(n) && !yield(powerRecord(n), nil) {
				return
			}
		}
	}
}

// Sync implements [powersync.Handler].
func (p powerRounds) Sync(ctx context.Context, id string, past powersync.Failures) (powersync.Action, error) {
	return p.handle(ctx, id, past, p.syncNode)
}

// Recover implements [powersync.Handler].
func (p powerRounds) Recover(ctx context.Context, id string, past powersync.Failures) (powersync.Action, error) {
	return p.handle(ctx, id, past, p.recoverNode)
}

// handle loads a node for a round and decides about it.
func (p powerRounds) handle(
	ctx context.Context, id string, past powersync.Failures,
	decide func(context.Context, *session, *Node, powersync.Failures) (powersync.Action, error),
) (powersync.Action, error) {
	s, err := p.engine.sessions.current()
	if err != nil {
		return powerAttempt(id, powersync.Interrupted, err, past), nil
	}
	ctx, cancel := context.WithCancelCause(ctx) // a round outlives the membership
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	var a powersync.Action
	n, err := p.engine.fleet.node(ctx, id)
	if err == nil {
		if !s.owns(n) {
			return powerAttempt(id, powersync.SkippedReservation, nil, powersync.Failures{}), nil // another conductor's
		}
		a, err = decide(ctx, s, n, past)
	}
	failure := err
	if err == nil {
		a.ID, failure = id, a.Err
	}
	if failure == nil || ctx.Err() == nil {
		return a, err
	}
	return powerAttempt(id, powersync.Interrupted, failure, past), nil
}

// powerAttempt returns the action of an attempt that does not count.
func powerAttempt(id string, outcome powersync.Outcome, err error, past powersync.Failures) powersync.Action {
	return powersync.Action{Event: powersync.Event{ID: id, Outcome: outcome, Err: err}, Failures: past}
}

// reading validates a node, if wanted, and reads its power state.
func (p powerRounds) reading(ctx context.Context, n *Node, validate bool) powersync.Reading {
	hardware, err := p.engine.types.of(n)
	if err != nil {
		return powersync.Reading{Err: err}
	}
	if validate {
		if err := p.engine.types.validate(ctx, hardware, n)["power"]; err != nil {
			return powersync.Reading{Invalid: err}
		}
	}
	return p.engine.readPower(ctx, hardware, n)
}

// syncNode handles a node in a sync round. The error comes from the store.
func (p powerRounds) syncNode(ctx context.Context, s *session, n *Node, past powersync.Failures) (powersync.Action, error) {
	r, policy := powerRecord(n), p.engine.config.Power.Policy
	if powersync.SkipSync(r) != "" {
		_, a := powersync.Decide(r, powersync.Reading{}, past, policy)
		return a, nil
	}
	reading := p.reading(ctx, n, r.Power == states.NoPower)
	if force := p.engine.config.Power.CanForce; force != nil && !force(n.UUID) {
		policy.RecordOnly = true
	}
	after, a := powersync.Decide(r, reading, past, policy)
	if a.Outcome == powersync.Forced {
		return p.force(ctx, s, n, after, a, past)
	}
	n, err := p.store(ctx, n, r, after, a.Event)
	if err == nil && reading.Err == nil && reading.Invalid == nil {
		p.observe(ctx, n)
	}
	return a, err
}

// recoverNode handles a node in a recovery round. The error comes from the store.
func (p powerRounds) recoverNode(ctx context.Context, _ *session, n *Node, past powersync.Failures) (powersync.Action, error) {
	r := powerRecord(n)
	if powersync.SkipRecovery(r) != "" {
		_, a := powersync.DecideRecovery(r, powersync.Reading{}, past)
		return a, nil
	}
	after, a := powersync.DecideRecovery(r, p.reading(ctx, n, true), past)
	_, err := p.store(ctx, n, r, after, a.Event)
	return a, err
}

// store stores a decision about a node that nobody has changed since, and its event in the node's history. It returns
// the node.
func (p powerRounds) store(ctx context.Context, n *Node, r, after powersync.Record, e powersync.Event) (_ *Node, err error) {
	if r != after {
		changed := n.Clone()
		changed.setPower(after)
		if n, err = p.engine.fleet.save(ctx, changed); err != nil {
			return nil, err
		}
	}
	e.ID = n.UUID
	p.engine.history.power(ctx, e)
	return n, nil
}

// force reserves a node, sets its hardware to the recorded power state and stores what came of it.
func (p powerRounds) force(
	ctx context.Context, s *session, n *Node, held powersync.Record, a powersync.Action, past powersync.Failures,
) (powersync.Action, error) {
	if !p.engine.pool.TryTakeSpare(n.UUID) {
		return powerAttempt(n.UUID, powersync.SkippedReservation, nil, past), nil
	}
	defer p.engine.pool.Free(n.UUID)
	undo, ok := p.engine.syncer.AllowForce()
	if !ok {
		return powerAttempt(n.UUID, powersync.ForceLimited, nil, past), nil
	}
	reserved := n.Clone()
	reserved.setPower(held)
	p.engine.reserve(reserved, s.id)
	reserved, err := p.engine.fleet.save(ctx, reserved)
	if err != nil {
		undo()
		return a, err
	}
	t := p.engine.task(reserved)
	asked, failure := relatives{t}.setPower(ctx, a.Asked, 0)
	if failure == nil {
		failure = t.forgetBefore(ctx, a.Asked)
	}
	switch {
	case failure == nil:
		failure = t.askPower(ctx, a.Asked)
	case !asked:
		undo() // no hardware was asked
	}
	interrupted := failure != nil && ctx.Err() != nil
	forced := a
	err = t.record.persist(ctx, func(n *Node) error {
		settled := powerRecord(n)
		settled.TargetPower = states.NoPower
		if !interrupted {
			settled, a = powersync.Settle(powerRecord(n), forced, failure)
		}
		n.setPower(settled)
		n.drop()
		return nil
	})
	switch {
	case err != nil:
		return powerAttempt(n.UUID, powersync.StoreFailed, errors.Join(failure, err), past), nil
	case interrupted:
		return powerAttempt(n.UUID, powersync.Interrupted, failure, past), nil
	default:
		a.ID = n.UUID
		p.engine.history.power(ctx, a.Event)
		return a, nil
	}
}

// callPower calls an operation of a node's hardware within a timeout. A call that does not return is abandoned; until
// it returns, the node's calls for the same purpose fail, such as "for the power".
func callPower[T any](
	ctx context.Context, e *engine, timeout time.Duration, o Operation, purpose string, f func(context.Context) (T, error),
) (result T, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	result, err = callHardware(ctx, e.types, o.Node, purpose, func(ctx context.Context) (result T, err error) {
		err = e.config.traced(ctx, o, func(ctx context.Context) (err error) {
			result, err = f(ctx)
			return err
		})
		return result, err
	})
	if errors.As(err, new(*boundedcall.AbandonedError)) {
		e.counters.powerAbandoned.Add(1)
	}
	return result, err
}
