// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// heldConnection is a connection that only records how often it is begun, and whether it is closed.
type heldConnection struct {
	connection
	begun  int
	closed bool
	slow   time.Duration // how long the BMC takes to close it
}

func (c *heldConnection) begin() { c.begun++ }

func (c *heldConnection) expires() bool { return true }

func (c *heldConnection) temporary() bool { return false }
func (c *heldConnection) refused() bool   { return false }

func (c *heldConnection) close(ctx context.Context) {
	sleep.For(ctx, c.slow)
	c.closed = true
}

func (c *heldConnection) scrubber() *failure.Scrubber { return failure.NewScrubber("user") }

func (c *heldConnection) protocol() string { return "test" }

func (c *heldConnection) address() string { return "host" }

func TestAStepThatSucceedsHasNoError(t *testing.T) {
	require.NoError(t, step(t.Context(), &heldConnection{}, 0, "read", func(context.Context) error { return nil }))
}

func TestAnErrorAfterTheEndOfAContextIsTheContexts(t *testing.T) {
	for _, cancelled := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		failed := step(ctx, &heldConnection{}, 0, "read", func(context.Context) error {
			if cancelled {
				cancel()
			}
			return failure.Unsupportedf("this cannot be read")
		})
		cancel()
		if cancelled {
			require.EqualError(t, failed, "read: test host: cancelled: context canceled")
		} else {
			require.EqualError(t, failed, "read: test host: not supported: this cannot be read")
		}
	}
}

// sessionsOf returns a driver that keeps a number of sessions.
func sessionsOf(t *testing.T, sessions int) *Driver {
	t.Helper()
	d, err := NewDriver(DriverConfig{Sessions: sessions, Lookup: func(context.Context, string) (Config, error) { return Config{}, nil }})
	require.NoError(t, err)
	return d
}

// callNode does a call for a node as Driver.do does. It reports whether it used the session that the node had;
// otherwise it uses the connection c.
func callNode(t *testing.T, d *Driver, id string, c *heldConnection) (resumed bool) {
	t.Helper()
	conn, err := d.sessions.enter(t.Context(), call{id: id, op: "test"})
	require.NoError(t, err)
	defer d.sessions.leave(id)
	if resumed = d.sessions.resume(t.Context(), conn, Config{}); !resumed {
		conn = &openConnection{connection: c}
	}
	d.sessions.keep(t.Context(), id, conn)
	return resumed
}

func TestASessionIsKeptForTheIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sessionsOf(t, 1)
		first, other, second, third := &heldConnection{}, &heldConnection{}, &heldConnection{}, &heldConnection{}
		require.False(t, callNode(t, d, "a", first))
		bubble.Sleep(5 * time.Minute)
		require.False(t, callNode(t, d, "b", other))
		require.True(t, other.closed, "the session of a is not unused for too long yet")
		require.True(t, callNode(t, d, "a", nil))
		require.Equal(t, 1, first.begun, "the limits begin again")

		bubble.Sleep(5*time.Minute + 1)
		require.False(t, callNode(t, d, "a", second))
		require.True(t, first.closed)
		require.False(t, second.closed)
		bubble.Sleep(5*time.Minute + 1)
		require.False(t, callNode(t, d, "b", third))
		require.True(t, second.closed)
		require.False(t, third.closed)
		require.Len(t, d.sessions.kept, 1)

		require.NoError(t, d.Close(t.Context()))
		require.True(t, third.closed)
		require.Empty(t, d.sessions.kept)
	})
}

// held returns a driver with kept sessions whose BMCs take a second to close them.
func held(t *testing.T, number int) (*Driver, []*heldConnection) {
	d, all := sessionsOf(t, number), make([]*heldConnection, number)
	for i := range all {
		all[i] = &heldConnection{slow: time.Second}
		require.False(t, callNode(t, d, fmt.Sprint(i), all[i]))
	}
	return d, all
}

func closedOf(all []*heldConnection) (number int) {
	for _, c := range all {
		if c.closed {
			number++
		}
	}
	return number
}

// A power sync that begins again finds the sessions of a whole fleet expired.
func TestACallWaitsForFewExpiredSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, all := held(t, 40)
		bubble.Sleep(5*time.Minute + 1)
		for i, want := range []int{16, 32, 40, 40} {
			begun := time.Now()
			require.False(t, callNode(t, d, fmt.Sprint("new ", i), &heldConnection{}))
			require.LessOrEqual(t, time.Since(begun), time.Second)
			require.Equal(t, want, closedOf(all))
		}
		require.Len(t, d.sessions.kept, 4)
	})
}

func TestCloseLogsOutOfSeveralSessionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, all := held(t, 40)
		begun := time.Now()
		require.NoError(t, d.Close(t.Context()))
		require.Equal(t, 3*time.Second, time.Since(begun))
		require.Equal(t, 40, closedOf(all))

		d, all = held(t, 40)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, d.Close(ctx), context.DeadlineExceeded)
		require.Equal(t, 32, closedOf(all), "what has begun is not abandoned")
	})
}

func TestACallWaitsForAnotherOfItsNodeWhileItsContextLasts(t *testing.T) {
	d := sessionsOf(t, 0)
	ended, cancel := context.WithCancel(t.Context())
	_, err := d.sessions.enter(t.Context(), call{id: "a", op: "test"})
	require.NoError(t, err)
	cancel()
	_, err = d.sessions.enter(ended, call{id: "a", op: "test"})
	require.ErrorIs(t, err, verify.Cancelled)
	d.sessions.leave("a")
	require.False(t, callNode(t, d, "a", &heldConnection{}))
}

func TestASessionInUseIsClosedAfterItsCallIfTheDriverIs(t *testing.T) {
	d := sessionsOf(t, 1)
	kept, late := &heldConnection{}, &heldConnection{}
	require.False(t, callNode(t, d, "a", kept))
	conn, err := d.sessions.enter(t.Context(), call{id: "a", op: "test"})
	require.NoError(t, err)
	require.True(t, d.sessions.resume(t.Context(), conn, Config{}))
	require.NoError(t, d.Close(t.Context()))
	require.False(t, kept.closed, "the call uses it")
	d.sessions.keep(t.Context(), "a", conn)
	d.sessions.leave("a")
	require.True(t, kept.closed)
	require.False(t, callNode(t, d, "a", late))
	require.True(t, late.closed)
	require.Empty(t, d.sessions.kept)
}

func TestAFailedSessionMakesRoomForAnother(t *testing.T) {
	d := sessionsOf(t, 1)
	require.False(t, callNode(t, d, "a", &heldConnection{}))
	_, err := d.sessions.enter(t.Context(), call{id: "a", op: "test"})
	require.NoError(t, err)
	d.sessions.leave("a") // the call has failed
	require.Empty(t, d.sessions.kept)
	other := &heldConnection{}
	require.False(t, callNode(t, d, "b", other))
	require.False(t, other.closed)
	require.True(t, callNode(t, d, "b", nil))
}

func TestANodeCountsOnceAmongTheKeptSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sessionsOf(t, 2)
		require.False(t, callNode(t, d, "a", &heldConnection{}))
		require.True(t, callNode(t, d, "a", nil))
		require.Len(t, d.sessions.kept, 1)

		_, err := d.sessions.enter(t.Context(), call{id: "a", op: "test"})
		require.NoError(t, err)
		// The call has failed, and another one waits for the node.
		go callNode(t, d, "a", &heldConnection{})
		synctest.Wait()
		d.sessions.leave("a")
		synctest.Wait()
		require.Len(t, d.sessions.kept, 1)
		require.True(t, callNode(t, d, "a", nil))
	})
}

func TestALongCallHasMoreTimeThanAStep(t *testing.T) {
	for _, test := range []struct {
		long        bool
		limit, want time.Duration
	}{
		{false, time.Second, time.Second}, {true, time.Second, 2 * time.Minute}, {true, time.Hour, time.Hour}, {true, 0, 0}, {false, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := sessionsOf(t, 0)
			conn := &openConnection{connection: &heldConnection{}, config: Config{StepTimeout: test.limit}}
			_, err := d.sessions.use(t.Context(), conn, call{id: "a", long: test.long}, func(ctx context.Context, _ connection) error {
				end, bounded := ctx.Deadline()
				require.Equal(t, test.limit > 0, bounded)
				if bounded {
					require.Equal(t, test.want, time.Until(end))
				}
				return nil
			})
			require.NoError(t, err)
		})
	}
}

// fails returns a call that fails.
func fails(kind verify.Kind) func(context.Context, connection) error {
	return func(context.Context, connection) error { return &failure.Error{Kind: kind} }
}

// A BMC that does not answer in time does not answer a log-out either.
func TestASessionIsClosedAfterTwoFailuresThatTheBMCHasAnswered(t *testing.T) {
	for kind := verify.Failed; kind <= verify.Panicked; kind++ {
		d := sessionsOf(t, 1)
		held := &heldConnection{}
		conn := &openConnection{connection: held}
		for i := 0; i < 2 && !held.closed; i++ {
			_, err := d.sessions.use(t.Context(), conn, call{id: "a"}, fails(kind))
			require.ErrorIs(t, err, kind)
		}
		open := kind == verify.Unreachable || kind == verify.Timeout || kind == verify.Cancelled || kind == verify.Forbidden
		require.Equal(t, !open, held.closed, kind)
	}
}

// The administrator may permit it meanwhile, and some BMCs fix what a session may do when it is opened.
func TestWhatWasForbiddenRightAfterALogInIsNoEndOfTheSessionForTheIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for later, test := range map[time.Duration]struct {
			op    string
			kind  verify.Kind
			ended bool
		}{
			5 * time.Minute:     {"read", verify.Forbidden, false},
			5*time.Minute + 1:   {"read", verify.Forbidden, true},
			time.Second:         {"write", verify.Forbidden, true},
			2 * time.Second:     {"read", verify.Credentials, true},
			3 * time.Second:     {"read", verify.Locked, false},
			4 * time.Second:     {"read", verify.Unsupported, false},
			5*time.Minute - 100: {"read", verify.Timeout, false},
		} {
			d := sessionsOf(t, 1)
			held := &heldConnection{}
			conn := &openConnection{connection: held}
			ended, err := d.sessions.use(t.Context(), conn, call{id: "a", op: "read"}, fails(verify.Forbidden))
			require.ErrorIs(t, err, verify.Forbidden)
			require.False(t, ended)
			require.False(t, held.closed)
			bubble.Sleep(later)
			ended, err = d.sessions.use(t.Context(), conn, call{id: "a", op: test.op}, fails(test.kind))
			require.ErrorIs(t, err, test.kind)
			require.Equal(t, test.ended, ended, test)
			require.Equal(t, test.ended || test.kind == verify.Locked, held.closed, test)
		}
	})
}

func TestASessionOfAnotherConfigurationIsNotKept(t *testing.T) {
	d := sessionsOf(t, 1)
	first := &heldConnection{}
	require.False(t, callNode(t, d, "a", first))
	conn, err := d.sessions.enter(t.Context(), call{id: "a", op: "test"})
	require.NoError(t, err)
	require.False(t, d.sessions.resume(t.Context(), conn, Config{Host: "other"}))
	require.True(t, first.closed)
	d.sessions.leave("a") // the other BMC cannot be reached
	require.Empty(t, d.sessions.kept)
}

func TestAllSessionsThatAreUnusedForTooLongAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sessionsOf(t, 100)
		var all [32]heldConnection
		for i := range all {
			require.False(t, callNode(t, d, fmt.Sprint(i), &all[i]))
		}
		bubble.Sleep(3 * time.Minute)
		for i := range all {
			if i%2 == 0 {
				require.True(t, callNode(t, d, fmt.Sprint(i), nil))
			}
		}
		bubble.Sleep(2*time.Minute + 1)
		require.False(t, callNode(t, d, "other", &heldConnection{}))
		for i := range all {
			require.Equal(t, i%2 != 0, all[i].closed, i)
		}
		require.Len(t, d.sessions.kept, 17)
		require.NoError(t, d.Close(t.Context()))
		require.Empty(t, d.sessions.kept)
	})
}

func TestACallMayLogOutForTheGraceTimeAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, early := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			call, end := Config{Timeout: time.Hour}.begin(ctx, false)
			late := call.Value(callKey{}).(callValues).late
			cancel()
			bubble.Sleep(graceTime - 1)
			require.NoError(t, late.Err())
			if early {
				end()
				require.Error(t, late.Err(), "the call has ended")
			}
			bubble.Sleep(time.Nanosecond)
			require.Error(t, late.Err())
			end()
		}
	})
}

// silentConnection has a log-out that takes as long as it may.
type silentConnection struct{ connection }

func (silentConnection) close(ctx context.Context) { <-ctx.Done() }

func TestALogOutTakesWhatIsLeftOfTheGraceTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		call, end := Config{Timeout: time.Hour}.begin(ctx, false)
		defer end()
		cancel()
		ended := time.Now()
		bubble.Sleep(graceTime / 2)
		for range 2 {
			closeConnection(call, silentConnection{}, nil)
			require.Equal(t, graceTime, time.Since(ended))
		}
	})
}

func TestACloseThatIsCancelledSaysSo(t *testing.T) {
	d := sessionsOf(t, 1)
	kept := &heldConnection{}
	require.False(t, callNode(t, d, "a", kept))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, d.Close(ctx), context.Canceled)
	require.False(t, kept.closed)
}
