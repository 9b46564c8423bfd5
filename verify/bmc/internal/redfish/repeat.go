// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"syscall"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/retry"
)

// failed is a request that has failed.
type failed struct {
	request Request
	answer  *Answer // nil if there was none
	err     error
	// unproven: the request has the password, which the BMC has not accepted yet. To repeat it may lock the account.
	unproven bool
	lasting  []int // the statuses of server errors that reads of the operation have ended with
}

// repetitions lists the failures after which a request is sent again, with the attempts in all, of which the first row
// that applies counts. Refused credentials are in no row.
//
// Source: _op and check_retry_on_exception in sushy/connector.py, and the defaults of Sushy in sushy/main.py, ten
// attempts with three seconds between them; HPE's iLO message registry for one message; for isSettling,
// _set_power_state in ironic/drivers/modules/redfish/power.py, which goes on for 60 s; for isStarting, _set_boot_device
// in management.py beside it, which has 6 attempts in 39 s; for isNotReady, issue 129 of
// github.com/quadsproject/badfish. Unlike sushy, a GET that gets another server error than 503 has three attempts, and
// after a lasting one each GET that gets the same has one attempt, since some BMCs answer 500 for parts that they can
// never read.
var repetitions = []struct {
	applies  func(failed) bool
	attempts int
}{
	{failed.isUnsent, 10},
	{failed.isCut, 10},
	{failed.isUnavailable, 10},
	{failed.isNotReady, 8},
	{failed.isServerError, 3},
	{failed.isSettling, 22},
	{failed.isStarting, 16},
	{failed.isBusy, 8},
	{failed.isExpected, 3},
}

// attempts returns how often the failed request may be sent in all.
func (f failed) attempts() int {
	if status := f.status(); status == http.StatusUnauthorized || status == http.StatusForbidden {
		return 1 // whatever the message says: BMCs lock accounts
	}
	for _, row := range repetitions {
		if row.applies(f) {
			return row.attempts
		}
	}
	return 1
}

// isUnsent reports whether no part of the request has reached the BMC, because there was no connection. A name that
// does not exist is a fault of the configuration.
func (f failed) isUnsent() bool {
	return f.answer == nil && failure.KindOf(f.err) == verify.Unreachable && !errors.Is(f.err, errNoHost)
}

// isCut reports whether the BMC has closed the connection of a GET before the answer was complete.
func (f failed) isCut() bool { return f.isRead() && errors.Is(f.err, errCut) }

// isUnavailable reports whether a GET, or a PATCH whose caller expects it, got 503.
func (f failed) isUnavailable() bool {
	patched := f.request.Method == http.MethodPatch && slices.Contains(f.request.Repeat, http.StatusServiceUnavailable)
	return (f.isServerError() || patched) && f.status() == http.StatusServiceUnavailable
}

// isServerError reports whether a GET got a server error that may pass.
func (f failed) isServerError() bool {
	return f.isRead() && f.status() >= 500 && f.status() != http.StatusNotImplemented && !slices.Contains(f.lasting, f.status()) &&
		!f.refuses(unpowered)
}

// unpowered begins a word in the answer of a DGX about the board of its GPUs while the machine is off, spelt as the
// firmware of AMI spells it.
//
// Source: issue 5418 of github.com/dsx-ai-factory/infra-controller, for a DGX H100.
const unpowered = "HMCCommu"

// isNotReady reports whether an iDRAC has answered that it is not ready, also to a request that reads, or has refused a
// change by an unexpected error. A read that ends with that error is one of a part that it may never tell.
func (f failed) isNotReady() bool {
	return f.isRead() && f.refuses("SWC0700") || f.refusesChange("SWC0700", "RAC0508")
}

// isStarting reports whether an iLO has refused a change because its machine starts, which may take the machine most of
// a minute.
func (f failed) isStarting() bool { return f.refusesChange("UnableToModifyDuringSystemPOST") }

// isBusy reports whether a change was refused because the BMC is busy: an iDRAC after a job, an iDRAC while a job
// applies settings, and an iLO that has not finished another operation. By the same message an iLO says that the
// machine is on or off already.
func (f failed) isBusy() bool {
	return f.refusesChange("SYS518", "SYS011") ||
		f.refusesChange("InvalidOperationForSystemState") && !f.refusesChange("Power is off", "Power is on")
}

// refusesChange reports whether a change was refused with one of some words.
func (f failed) refusesChange(words ...string) bool {
	return f.request.Method != http.MethodGet && f.refuses(words...)
}

// refuses reports whether the request was refused with one of some words.
func (f failed) refuses(words ...string) bool { return f.status() >= 400 && f.answer.Says(words...) }

// isSettling reports whether a change was refused with 409, which the caller expects, because of a state that the BMC
// is leaving: an iDRAC 10 does not switch its machine on for up to a minute after it has switched it off.
func (f failed) isSettling() bool {
	return f.isExpected() && f.status() == http.StatusConflict && f.refusesChange("ActionParameterValueConflict")
}

// isExpected reports whether a change was refused with a status that the caller knows.
func (f failed) isExpected() bool {
	return f.request.Method != http.MethodGet && f.status() >= 400 && slices.Contains(f.request.Repeat, f.status())
}

// isRead reports whether the request has no effect, so that it may be sent again whatever became of it.
func (f failed) isRead() bool { return f.request.Method == http.MethodGet && !f.unproven }

// status returns the status of the answer, 0 if there was none.
func (f failed) status() int {
	if f.answer == nil {
		return 0
	}
	return f.answer.Status
}

// repeat calls send for a request until it succeeds or may not be repeated. Between two attempts it waits within the
// time of the context. Attempts count as requests. A refused connection is not repeated if another protocol is tried
// for a BMC without Redfish.
func (c *Client) repeat(ctx context.Context, r Request, send func() (*Answer, error)) (*Answer, error) {
	for attempt := 1; ; attempt++ {
		a, err := send()
		if err == nil || c.config.Alternative && c.Absent(err) {
			return a, err
		}
		f := failed{request: r, answer: a, err: err, unproven: c.basic && !c.accepted, lasting: c.lasting}
		if attempt >= f.attempts() || c.budget.spent() || !retry.Wait(ctx, c.config.Pause, attempt, err) {
			if f.isServerError() {
				c.lasting = append(c.lasting, f.status())
			}
			return a, err
		}
	}
}

const (
	errCut    = failure.Reason("the BMC has closed the connection")
	errNoHost = failure.Reason("the host name does not exist")
)

// classify returns the error of an exchange with the reason that repetitions go by, if it has one.
func classify(err error) error {
	var known *failure.Error
	var name *net.DNSError
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &name) && name.IsNotFound:
		return &failure.Error{Kind: verify.Unreachable, Text: err.Error(), Cause: errNoHost}
	case wasCut(err):
		return &failure.Error{Kind: verify.Protocol, Text: err.Error(), Cause: errCut}
	}
	return err
}

// wasCut reports whether the other side has closed the connection.
func wasCut(err error) bool {
	return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}, func(end error) bool {
		return errors.Is(err, end)
	})
}
