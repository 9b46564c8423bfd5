// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// DriverConfig configures a [Driver].
type DriverConfig struct {
	// Lookup returns the configuration of a node's BMC. It is called for each call of the Driver. Without it the Driver
	// makes no calls, and is for [Driver.With] alone.
	Lookup func(ctx context.Context, id string) (Config, error)
	// Sessions is how many sessions are kept open between calls, for all nodes together; 0 keeps none. A connection
	// without a session, over IPMI or with HTTP Basic authentication, counts as one; one that has no session since the BMC
	// had no free one is not kept, so that the next call tries to open a session. The first sessions are kept: in a larger
	// fleet the same nodes use kept sessions in every round, and none loses its session to the next node of the same
	// round.
	Sessions int
	// Idle is how long an unused session is kept before another node's session may replace it; 0 stands for 5 minutes. It
	// should be longer than the time between two calls for a node. So long, too, a session is used for a call that the BMC
	// has forbidden right after the log-in; then the Driver logs in again.
	Idle time.Duration
}

// Driver controls nodes by their BMCs: power, boot device, inventory. It implements the interfaces Driver and Validator
// of package powersync. Make it with [NewDriver], and Close it to log out of the sessions that it keeps. It is safe for
// concurrent use. Calls for one node run one at a time, so that no BMC has two sessions of one Driver: BMCs have few,
// often 4.
//
// A process that ends without Close leaves its sessions open. A BMC ends such a session once it was unused for the
// SessionTimeout of its SessionService (DSP0266; often 30 minutes), when the BMC restarts, or when somebody deletes it.
//
// Its errors hold a [*verify.Error].
type Driver struct {
	config   func(ctx context.Context, id string) (Config, error)
	sessions *sessions
}

// NewDriver returns a Driver. It returns an error if a number is negative.
func NewDriver(c DriverConfig) (*Driver, error) {
	switch {
	case c.Sessions < 0 || c.Idle < 0:
		return nil, misconfigured(errors.New("a negative number of Sessions, or Idle"))
	case c.Idle == 0:
		c.Idle = 5 * time.Minute
	}
	return &Driver{config: c.lookup, sessions: &sessions{most: c.Sessions, idle: c.Idle, kept: make(map[string]*openConnection)}}, nil
}

// With returns a Driver whose calls have this configuration, whatever the node, and that shares the sessions of d: to
// close one of the two closes both. It is for a caller that has the configuration at hand, and costs no request.
func (d *Driver) With(c Config) (*Driver, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return d.fixed(c), nil
}

// fixed is With for a complete configuration.
func (d *Driver) fixed(c Config) *Driver {
	return &Driver{config: func(context.Context, string) (Config, error) { return c, nil }, sessions: d.sessions}
}

// Validate checks the configuration of the node's BMC, without contacting the BMC.
func (d *Driver) Validate(ctx context.Context, id string) error {
	_, err := d.config(ctx, id)
	return err
}

// Verify verifies a node's BMC as the [verify.Verifier] of [New] does, over the session that is kept for the node if
// there is one. That was opened with the same Config: another password, say, is sent to the BMC. A failed verification
// closes the session.
func (d *Driver) Verify(ctx context.Context, id string) (power states.Power, err error) {
	c, err := d.config(ctx, id)
	if err != nil {
		return states.NoPower, err
	}
	of := call{id: id, op: "power state", login: verifyLogin, verifies: true, steps: true}
	err = d.fixed(c).do(ctx, of, func(ctx context.Context, conn connection) (err error) {
		power, err = c.verify(ctx, conn)
		return err
	})
	return power, err
}

// RefusedAtLogin reports whether an error of a [Driver] says that the BMC has refused the password at a log-in: the
// next call would send it again. A BMC may also refuse a session, or a password without a session, at one resource
// alone, after which the next call is answered.
func RefusedAtLogin(err error) bool {
	var failed *verify.Error
	return verify.LoginRefused(err) && errors.As(err, &failed) && (failed.Op == callLogin || failed.Op == verifyLogin)
}

// The operations of errors at a log-in.
const (
	callLogin   = "log in"
	verifyLogin = "power interface"
)

// Close logs out of the kept sessions. Calls in flight log out when they end; later
// calls keep no session. The error is the context's, if it ends before Close is done.
func (d *Driver) Close(ctx context.Context) error { return d.sessions.close(ctx) }

// lookup returns the configuration of a node's BMC, with its defaults.
func (d DriverConfig) lookup(ctx context.Context, id string) (Config, error) {
	if d.Lookup == nil {
		return Config{}, misconfigured(errors.New("there is no Lookup"))
	}
	c, err := d.Lookup(ctx, id)
	if err != nil {
		return c, misconfigured(fmt.Errorf("look up the BMC of node %s: %w", id, err))
	}
	return c.complete()
}

// call is a call for a node.
type call struct {
	id, op string
	login  string // the operation of a log-in for the call; callLogin if it is empty
	// verifies: the call is a verification. One that fails leaves no session: no power sync uses the session of a node in
	// enroll, and the operator gives the user a permission and asks again, which some BMCs grant at a log-in alone.
	verifies bool
	// steps: the call consists of steps that have their own time limits and errors.
	steps bool
	// long raises the limits of the Config to longTime and longRequests, unless its protocol is "ipmi".
	long bool
	// shares: the call reads properties of the system and changes nothing, see [ShareReads].
	shares bool
}

// overRedfish calls f like do, over Redfish. Over IPMI the error is of the kind [verify.Unsupported].
func (d *Driver) overRedfish(ctx context.Context, of call, f func(context.Context, *redfishConnection) error) error {
	return d.do(ctx, of, func(ctx context.Context, conn connection) error {
		r, ok := conn.(*redfishConnection)
		if !ok {
			return failure.Unsupportedf("IPMI cannot %s", of.op)
		}
		if of.long {
			r.client.AllowRequests(longRequests)
		}
		return f(ctx, r)
	})
}

// withSystem calls f like overRedfish, with a reader that has read the node's system.
func (d *Driver) withSystem(ctx context.Context, of call, f func(*reader) error) error {
	return d.overRedfish(ctx, of, func(ctx context.Context, r *redfishConnection) error {
		system, err := r.systemReader(ctx)
		if err != nil {
			return err
		}
		return f(system)
	})
}

// fromSystem returns f's value. After a BMC has refused a kept session, fromSystem calls f again with a new one.
func fromSystem[T any](ctx context.Context, d *Driver, of call, f func(*reader) (T, error)) (value T, err error) {
	err = d.withSystem(ctx, of, func(r *reader) (err error) {
		value, err = f(r)
		return err
	})
	return value, err
}

// fromBMC calls f like overRedfish, perhaps twice, and returns what the last call of f has returned.
func fromBMC[T any](
	ctx context.Context, d *Driver, of call, f func(context.Context, *redfishConnection) (T, error),
) (value T, err error) {
	err = d.overRedfish(ctx, of, func(ctx context.Context, r *redfishConnection) (err error) {
		value, err = f(ctx, r)
		return err
	})
	return value, err
}

// do calls f with a connection to a node's BMC, over a kept session or a new one. A kept session may have expired: if
// the BMC refuses it, do opens a new one and calls f again, once. It does not send refused credentials again. A BMC
// that is busy or cannot be reached refuses nothing: its requests are repeated within the session, see repeat.go of
// package redfish.
//
// Source: _op in sushy/connector.py, which logs in again after 401 and 403 alone.
func (d *Driver) do(ctx context.Context, of call, f func(context.Context, connection) error) error {
	c, err := d.config(ctx, of.id)
	if err != nil {
		return err
	}
	kept, err := d.sessions.enter(ctx, of)
	if err != nil {
		return err
	}
	defer d.sessions.leave(of.id)
	of.long = of.long && c.Protocol != ipmiProtocol
	ctx = of.sharing(ctx)
	ctx, cancel := c.begin(ctx, of.long)
	defer cancel()

	next := &openConnection{config: c}
	if d.sessions.resume(ctx, kept, c) {
		if ended, err := d.sessions.use(ctx, kept, of, f); !ended {
			return err
		}
		next.forbidden = kept.forbidden
	}
	if next.connection, err = c.open(ctx, cmp.Or(of.login, callLogin)); err != nil {
		return err
	}
	_, err = d.sessions.use(ctx, next, of, f)
	return err
}

// use calls f with a node's connection, and keeps it or closes one that is of no further use. A temporary connection is
// closed in any case, and so is one with which f panics. use also reports whether the BMC has ended a kept session.
func (s *sessions) use(
	ctx context.Context, conn *openConnection, of call, f func(context.Context, connection) error,
) (ended bool, err error) {
	keep := false
	defer func() {
		if keep {
			s.keep(ctx, of.id, conn)
		} else {
			closeConnection(ctx, conn, conn.config.Log)
		}
	}()
	limit := conn.config.StepTimeout
	if of.long && limit > 0 {
		limit = max(limit, longTime)
	}
	if of.steps {
		err = f(ctx, conn.connection)
	} else {
		err = step(ctx, conn, limit, of.op, func(ctx context.Context) error { return f(ctx, conn.connection) })
	}
	told := outcome{op: of.op, err: err, unauthorized: conn.refused(), expires: conn.expires(), at: time.Now()}
	conn.history, keep, ended = conn.history.after(told, s.idle)
	keep = keep && !conn.temporary() && (err == nil || !of.verifies)
	return ended, err
}
