// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
)

const historyIdle = 5 * time.Minute

// success is no kind of an error.
const success = verify.Panicked + 1

func kindError(k verify.Kind) error {
	if k == success {
		return nil
	}
	return &verify.Error{Kind: k}
}

// Each call is over the connection of the one before, which has a session.
func TestAConnectionIsKeptOrEndsByTheHistoryOfItsCalls(t *testing.T) {
	type call struct {
		op           string
		kind         verify.Kind // or success
		unauthorized bool
		after        time.Duration // since the call before
		keep, ended  bool
	}
	read := func(kind verify.Kind, keep, ended bool) call {
		return call{"read", kind, false, time.Minute, keep, ended}
	}
	for name, calls := range map[string][]call{
		"successes":                        {read(success, true, false), read(success, true, false)},
		"a wrong password":                 {{"read", verify.Credentials, true, 0, false, false}},
		"a session that ends":              {read(success, true, false), {"read", verify.Credentials, true, 0, false, true}},
		"a session that ends, told by 403": {read(success, true, false), read(verify.Forbidden, false, true)},
		"a locked account":                 {read(success, true, false), read(verify.Locked, false, false)},
		"what the user may not do": {
			read(verify.Forbidden, true, false), read(verify.Forbidden, true, false), read(verify.Forbidden, true, false),
		},
		"what the user may not do for long": {
			read(verify.Forbidden, true, false), {"read", verify.Forbidden, false, historyIdle, true, false},
			{"read", verify.Forbidden, false, 1, false, true},
		},
		"another operation": {read(verify.Forbidden, true, false), {"set", verify.Forbidden, false, 0, false, true}},
		"what was forbidden for a moment": {
			read(verify.Forbidden, true, false), read(success, true, false), read(verify.Forbidden, false, true),
		},
		"a success of another operation": {
			read(verify.Forbidden, true, false), {"set", success, false, 0, true, false}, read(verify.Forbidden, true, false),
		},
		"a part that is forbidden, and then the session has ended": {
			read(verify.Forbidden, true, false), {"read", verify.Forbidden, true, 0, false, true},
		},
		"a BMC that does not answer": {
			read(verify.Unreachable, true, false), read(verify.Timeout, true, false), read(verify.Unreachable, true, false),
		},
		"two failures": {read(verify.Protocol, true, false), read(verify.Protocol, false, false)},
		"two failures with a success between": {
			read(verify.Protocol, true, false), read(success, true, false), read(verify.Protocol, true, false),
		},
	} {
		var h history
		at := time.Unix(1, 0)
		for i, c := range calls {
			at = at.Add(c.after)
			next, keep, ended := h.after(outcome{c.op, kindError(c.kind), c.unauthorized, true, at}, historyIdle)
			require.Equal(t, c.keep, keep, "%s: call %d is kept", name, i)
			require.Equal(t, c.ended, ended, "%s: call %d has ended the session", name, i)
			h = next
			h.used = at
		}
	}
}

// All histories of two calls, the second of which is made again.
func TestHistoriesOverTheWholeSpace(t *testing.T) {
	var outcomes []outcome
	for kind := range success + 1 {
		for _, op := range []string{"read", "set"} {
			for bits := range 4 {
				outcomes = append(outcomes, outcome{op: op, err: kindError(kind), unauthorized: bits&1 > 0, expires: bits&2 > 0})
			}
		}
	}
	for _, a := range outcomes {
		for _, b := range outcomes {
			for _, wait := range []time.Duration{time.Second, historyIdle + 1} {
				var h history
				start := time.Unix(1, 0)
				for i, o := range []outcome{a, b, b} {
					o.at = start.Add(time.Duration(i) * wait)
					next, keep, ended := h.after(o, historyIdle)
					kind := verify.KindOf(o.err)
					require.False(t, keep && ended, "a session that has ended is not kept")
					require.False(t, ended && (i == 0 || !o.expires), "only a session of an earlier call has ended")
					require.False(t, ended && kind != verify.Credentials && kind != verify.Forbidden, "%v is no refusal", kind)
					require.True(t, keep || o.err != nil, "a success keeps the connection")
					refused := kind == verify.Credentials || kind == verify.Forbidden && !keep
					require.Equal(t, i > 0 && o.expires && refused, ended, "%v after %v", o, h)
					h = next
					h.used = o.at
				}
			}
		}
	}
}
