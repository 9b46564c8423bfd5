// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ironstate/ironstate/verify"
)

// history is what the calls over a connection have told of it. The zero value is the history of a new one.
type history struct {
	used   time.Time // the end of the last call after which the connection was kept
	failed bool      // the last call has failed with an answer of a BMC that was not busy
	// forbidden has the operations that the BMC has forbidden right after a log-in, and not permitted since, with the
	// time.
	forbidden map[string]time.Time
}

// outcome is how a call over a connection has ended.
type outcome struct {
	op           string
	err          error
	unauthorized bool // the BMC has answered 401 at last
	expires      bool // there is a session, which the BMC may have ended
	at           time.Time
}

// sessionUnaffected are the failures of calls that tell nothing about their session.
var sessionUnaffected = []verify.Kind{verify.Unreachable, verify.Timeout, verify.Cancelled}

// after returns the history with one more call, whether the connection is kept for the next one, and whether the BMC
// has refused a session of earlier calls, which may have ended: the call is made again with a new one. A session is
// kept after a failure, too: to log in again is no cure, and a BMC that is busy or does not answer carries out no
// log-out, so that the session stays open there. After two other failures in a row the session is closed: some BMCs do
// not answer 401 for one that has ended.
//
// What a BMC forbids right after a log-in, the user may not do: the session is kept, and for the time idle the same
// refusal is no sign that it, or the next session of the user, has ended, so that a caller who asks again and again
// does not log in each time.
func (h history) after(o outcome, idle time.Duration) (next history, keep, ended bool) {
	fresh, kind := h.used.IsZero(), verify.KindOf(o.err)
	next = h
	switch {
	case fresh && kind == verify.Forbidden:
		next.forbidden = maps.Clone(h.forbidden)
		if next.forbidden == nil {
			next.forbidden = make(map[string]time.Time)
		}
		next.forbidden[o.op] = o.at
	case o.err == nil && !h.forbidden[o.op].IsZero():
		next.forbidden = maps.Clone(h.forbidden)
		delete(next.forbidden, o.op)
	}
	lasting := kind == verify.Forbidden && !o.unauthorized && !verify.LoginRefused(o.err) &&
		!next.forbidden[o.op].IsZero() && o.at.Sub(next.forbidden[o.op]) <= idle
	refused := errors.Is(o.err, verify.Credentials) && !lasting
	next.failed = o.err != nil && !lasting &&
		!slices.ContainsFunc(sessionUnaffected, func(k verify.Kind) bool { return errors.Is(o.err, k) })
	keep = o.err == nil || o.expires && !refused && !(h.failed && next.failed)
	ended = o.expires && !fresh && !lasting && (kind == verify.Credentials || kind == verify.Forbidden)
	return next, keep, ended
}
