// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/retry"
)

// connection is a connection to a BMC over one protocol, for one session. It is used by one goroutine at a time.
type connection interface {
	// protocol and address are for errors.
	protocol() string
	address() string
	// open connects and logs in.
	open(context.Context) error
	// begin resets the limits of the Config, and forgets the short secrets of a call, for the next operation.
	begin()
	// expires reports whether there is a session, which the BMC may end by itself.
	expires() bool
	// refused reports whether the last answer of the BMC has refused the credentials or the session.
	refused() bool
	// temporary reports whether the connection has no session since the BMC had no free one when it was opened.
	temporary() bool
	// checkManagement checks whether the BMC lets its client set the boot device.
	checkManagement(context.Context) error
	// powerState reads the power state in the words of the protocol.
	powerState(context.Context) (string, error)
	// setPower requests a reset, unless the machine is in the power state already. It reports whether it has sent the
	// request.
	setPower(ctx context.Context, kind reset) (sent bool, err error)
	// bootDevice reads the boot device in the words of [Driver.BootDevice].
	bootDevice(context.Context) (device string, persistent bool, err error)
	// setBootDevice reports whether the device is kept, and not for the next boot only.
	setBootDevice(ctx context.Context, device bootDevice, persistent bool) (kept bool, err error)
	// vendor reads what [Driver.Vendor] returns.
	vendor(context.Context) (firmware, machine string, err error)
	// close logs out and releases the resources of open, whether or not open failed.
	close(context.Context)
	// scrubber removes the secrets from errors of the connection, also the secrets that calls have brought.
	scrubber() *failure.Scrubber
}

// callValues are what the operations of a call find in its context, and not in their connection: a call has them before
// it has one, may open one of each protocol, and closes connections of other calls within its own grace time.
type callValues struct {
	log        *slog.Logger    // Config.Log
	redfishEnd time.Time       // when the part over Redfish ends, if that is before the call's end; zero otherwise
	late       context.Context // ends with the call's grace time
}

type callKey struct{}

// begin returns the context of a call, whose time is bounded by the Config or, if the call is long, by longTime if that
// is more.
func (c Config) begin(ctx context.Context, long bool) (context.Context, context.CancelFunc) {
	values, limit := callValues{log: c.Log}, c.Timeout
	if long {
		limit = max(limit, longTime)
	} else if c.redfishShare > 0 {
		values.redfishEnd = time.Now().Add(c.redfishShare)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	late, cancelLate := context.WithCancel(context.WithoutCancel(ctx))
	values.late = late
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(graceTime, cancelLate) })
	return context.WithValue(ctx, callKey{}, values), func() {
		stop()
		cancelLate()
		cancel()
	}
}

// open opens a connection over the configured protocol or, for "auto", over Redfish and
// then IPMI if there is no Redfish.
func (c Config) open(ctx context.Context, op string) (connection, error) {
	try := func(conn connection) (connection, error) {
		if err := step(ctx, conn, c.StepTimeout, op, conn.open); err != nil {
			closeConnection(ctx, conn, c.Log)
			return nil, err
		}
		return conn, nil
	}
	if c.Protocol == ipmiProtocol {
		return try(newIPMI(c))
	}
	first := newRedfish(c)
	conn, err := try(first)
	if err == nil || c.Protocol == redfishProtocol || !first.client.Absent(err) {
		return conn, err
	}
	conn, ipmiErr := try(newIPMI(c))
	if ipmiErr != nil {
		return nil, fmt.Errorf("%w; before that: %w", ipmiErr, err)
	}
	return conn, nil
}

// step does one operation within a time limit, if that is not 0. Its error is a [*verify.Error], from which the secrets
// are removed that a BMC or a driver may repeat.
func step(ctx context.Context, c connection, limit time.Duration, op string, f func(context.Context) error) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	values, _ := ctx.Value(callKey{}).(callValues)
	if !values.redfishEnd.IsZero() && c.protocol() == redfishProtocol {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, values.redfishEnd)
		defer cancel()
	}
	if values.log != nil {
		ctx = retry.WithNote(ctx, func(attempt int, err error) {
			values.log.WarnContext(ctx, "a request to a BMC fails for the moment and is repeated",
				"operation", op, "protocol", c.protocol(), "host", c.address(), "attempt", attempt, "error", c.scrubber().Clean(err))
		})
	}
	err := f(ctx)
	if err == nil {
		return nil
	}
	cleaned := c.scrubber().Clean(err)
	seen := &verify.Error{Op: op, Protocol: c.protocol(), Host: c.address(), Kind: cleaned.Kind, Err: cleaned}
	if ended := ctx.Err(); ended != nil {
		seen.Kind, seen.Err = verify.KindOf(ended), ended
	}
	return seen
}

// closeConnection closes a connection within the grace time, even if the context has ended. A panic of it is reported
// to log, the Log of the connection's Config or nil: it may run in a goroutine where it would end the process.
func closeConnection(ctx context.Context, c connection, log *slog.Logger) {
	late := context.WithoutCancel(ctx)
	if values, ok := ctx.Value(callKey{}).(callValues); ok {
		late = values.late
	}
	late, cancel := context.WithTimeout(late, graceTime)
	defer cancel()
	err := guarded(func() error {
		c.close(late)
		return nil
	})
	if err != nil && log != nil {
		log.ErrorContext(ctx, "a connection to a BMC could not be closed",
			"protocol", c.protocol(), "host", c.address(), "error", c.scrubber().Clean(err))
	}
}

// guarded calls a driver and returns its panic as an error.
func guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = failure.New(verify.Panicked, &machine.PanicError{Value: value, Stack: debug.Stack()})
		}
	}()
	return f()
}
