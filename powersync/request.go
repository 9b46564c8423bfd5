// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// Set carries out a power request: PowerOn, PowerOff, PowerRebooting, PowerSoftOff or
// PowerSoftRebooting. It reserves the node, sets its target power state, clears its
// last error, sets the hardware, waits until the hardware has reached the power state,
// and records it. Hardware that is already in that power state is not set, and a
// machine that is off is switched on instead of restarted. Hardware that lacks a restart is
// switched off and on, see [Perform]. A restart cannot be
// observed: it counts as done when the machine is on. The timeout bounds the wait for
// the power state, as the timeout of Ironic's API does; 0 or less stands for [Config.Timeout],
// or [Config.SoftTimeout] for a soft request.
//
// The node is unchanged if the error is a [*RefusedError] (in cleaning and clean wait,
// if the node forbids power off, or for any other value of power), [ErrNotFound],
// [ErrLocked], or an error of the Driver's [Validator] or of the store. After any other
// error, such as [ErrNotReached], the request has failed: the recorded power state is
// unchanged, the last error has the cause, and the node is not put into maintenance. An
// error that also matches [ErrNotSaved] says that this could not be stored yet.
//
// A request also fails if its context ends; the hardware may still carry out a request
// that it has accepted by then.
func (s *Syncer) Set(ctx context.Context, id string, power states.Power, timeout time.Duration) error {
	finish, err := s.Begin(ctx, id, power, timeout)
	if err != nil {
		return err
	}
	return finish(ctx)
}

// Begin is the first half of [Syncer.Set], for a service that answers its client
// with "accepted" at once: it returns once the node is reserved and its target power
// state is stored, and refuses the same requests as Set. finish is the second half: it
// sets the hardware, waits, and returns Set's other errors.
//
// No goroutine works on the request in between. The caller must call finish, in a
// goroutine that it waits for before the program ends, with a context that outlives the
// client's; until then the node stays reserved. If that context has ended, finish
// abandons the request. A second call does nothing and returns the error of the first.
func (s *Syncer) Begin(
	ctx context.Context, id string, power states.Power, timeout time.Duration,
) (finish func(context.Context) error, err error) {
	if s.fleet == nil {
		return nil, errHandled
	}
	return s.fleet.begin(ctx, id, power, timeout)
}

func (f *fleet) begin(
	ctx context.Context, id string, power states.Power, timeout time.Duration,
) (finish func(context.Context) error, err error) {
	before, err := f.take(ctx, id, power)
	if err != nil {
		return nil, err
	}
	accepted := Event{ID: id, Outcome: PowerRequested, Recorded: before.Power, Asked: power, ClearedError: before.LastError}
	f.reporter.emit(ctx, accepted)
	var once sync.Once
	return func(ctx context.Context) error {
		once.Do(func() {
			failure := f.reach(ctx, before, power, timeout)
			e, _ := f.release(ctx, id, func(r Record) (Record, Event) { return SettleRequest(r, power, failure) })
			f.reporter.emit(ctx, e)
			err = e.Err
		})
		return err
	}, nil
}

// take reserves the node of a request and returns the record that it had before.
func (f *fleet) take(ctx context.Context, id string, power states.Power) (Record, error) {
	for range maxReloads {
		r, err := f.loadFree(ctx, id)
		if err != nil {
			return r, fmt.Errorf("node %s: %w", id, err)
		}
		reserved, err := Accept(r, power)
		if err != nil {
			return r, err
		}
		if err := f.driver.validate(ctx, id); err != nil {
			return r, fmt.Errorf("node %s: %w", id, err)
		}
		if !f.claim(id) {
			return r, fmt.Errorf("node %s: %w by %s", id, ErrLocked, f.config.Name)
		}
		switch err := f.reserve(ctx, r, reserved); {
		case err == nil:
			return r, nil
		case !errors.Is(err, ErrConflict):
			return r, fmt.Errorf("node %s: %w", id, err)
		}
	}
	return Record{}, fmt.Errorf("node %s: %w: its record keeps changing", id, ErrLocked)
}

// reach makes the hardware carry a request out for a node, unless it is in the power state already.
func (f *fleet) reach(ctx context.Context, r Record, power states.Power, timeout time.Duration) error {
	power, err := DecideRequest(power, f.driver.read(ctx, r.ID, false))
	if err != nil || power == states.NoPower {
		return err
	}
	return Perform(r, power, func(power states.Power) error { return f.ask(ctx, r.ID, power, timeout) })
}

// ask asks the hardware for a power state, and polls until it has it. A read that fails does not fail the request,
// because a BMC may be busy then.
func (f *fleet) ask(ctx context.Context, id string, power states.Power, timeout time.Duration) error {
	if err := f.driver.set(ctx, id, power); err != nil {
		return err
	}
	if timeout <= 0 {
		timeout = f.config.RequestTimeout(power)
	}
	wait, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	target := power.Target()
	seen := error(nil)
	for {
		now, err := f.driver.read(wait, id, false).known()
		switch {
		case err == nil && now == target:
			return nil
		case verify.LoginRefused(err):
			return err
		case err == nil:
			seen = fmt.Errorf("it is in %q", now)
		case wait.Err() == nil || seen == nil:
			seen = err
		}
		if !sleep.For(wait, f.config.Poll) {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%w: %q within %v: %w", ErrNotReached, target, timeout, seen)
}
