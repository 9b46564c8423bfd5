// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

func TestATimeoutOfAnInspectionIsOneOfATransitionBefore20261(t *testing.T) {
	for series, want := range map[states.Series]string{states.Flamingo: "ERROR transition", states.Gazpacho: "ERROR introspection"} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.Table = series.Table() })
			n := f.node(states.Manageable)
			f.before(func(_ context.Context, _ *conductor.Node, operation string) error { return waits(operation) })
			f.request(n, "inspect")
			f.settle(n)
			bubble.Sleep(time.Hour)
			require.Equal(t, []string{want}, f.entries(f.settle(n)), series)
		})
	}
}

// TestTheHistoryHasTheEntriesThatIronicAdds compares severity and event_type with the calls of
// node_history_record in ironic/conductor.
func TestTheHistoryHasTheEntriesThatIronicAdds(t *testing.T) {
	const longerThanAnyWait = time.Hour
	for name, test := range map[string]struct {
		in     states.State // at the beginning
		do     string       // the request, "power" for a power request
		during func(operation string) error
		then   string // the next request; "wait" lets the wait time out
		want   []string
	}{
		"a verification that fails": {states.Enroll, "manage", fails(""), "", []string{"ERROR verify"}},
		"a cleaning that fails":     {states.Manageable, "clean", fails("bios."), "", []string{"ERROR cleaning"}},
		"a deployment that fails":   {states.Available, "active", fails("deploy."), "", []string{"ERROR deploying"}},
		"a deployment that times out": {states.Available, "active", waits, "wait",
			[]string{"ERROR deploying"}},
		"an inspection that times out": {states.Manageable, "inspect", waits, "wait",
			[]string{"ERROR introspection"}},
		"an aborted inspection": {states.Manageable, "inspect", waits, "abort", []string{"ERROR introspection"}},
		"an aborted rescue":     {states.Active, "rescue", waits, "abort", []string{"INFO rescue"}},
		"an aborted cleaning":   {states.Manageable, "clean", waits, "abort", nil},
		"a power request":       {states.Active, "power", fails("power on"), "", []string{"ERROR UNKNOWN"}},
		"work that succeeds":    {states.Enroll, "manage", nil, "provide", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) {
					c.SkipPowerSync = true
					withAbortable(c)
				})
				n := f.node(test.in)
				if test.during != nil {
					f.before(func(_ context.Context, _ *conductor.Node, operation string) error { return test.during(operation) })
				}
				if test.do == "power" {
					require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
				} else {
					f.request(n, test.do)
				}
				f.settle(n)
				switch test.then {
				case "":
				case "wait":
					bubble.Sleep(longerThanAnyWait)
				default:
					if steps := f.settle(n).CleanSteps; steps != nil && steps.Current != nil {
						_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.CleanSteps.Current.Abortable = true; return nil })
						require.NoError(t, err)
					}
					f.request(n, test.then)
				}
				n = f.settle(n)
				require.Equal(t, test.want, f.entries(n))
			})
		})
	}
}

func fails(prefix string) func(string) error {
	return func(operation string) error {
		if strings.HasPrefix(operation, prefix) {
			return errors.New("no answer")
		}
		return nil
	}
}

func waits(operation string) error {
	if strings.Contains(operation, ".") {
		return conductor.ErrWait
	}
	return nil
}

// entries returns the severity and the event type of each entry of a node's history, without the entries of the steps
// that TestTheHistoryTellsWhichStepsWorkExecutes has.
func (f *fleet) entries(n *conductor.Node) []string {
	f.t.Helper()
	all, err := f.History(f.ctx, n.UUID)
	require.NoError(f.t, err)
	var entries []string
	for _, o := range all {
		if strings.HasSuffix(o.EventType, "_start") || strings.HasSuffix(o.EventType, "_end") {
			continue
		}
		require.NotEmpty(f.t, o.Event)
		require.Equal(f.t, "alpha", o.Conductor)
		entries = append(entries, o.Severity+" "+o.EventType)
	}
	return entries
}

func TestTheHistoryKeepsYoungEntriesBesidesTheNewestOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.MaxHistory, c.MinHistoryAge = 2, 10*time.Second })
		n := f.node(states.Enroll)
		for i := range 5 {
			f.AddPower(powersync.Event{ID: n.UUID, LastError: strconv.Itoa(i)})
			bubble.Sleep(5 * time.Second)
		}
		require.Equal(t, []string{"1", "2", "3", "4"}, f.events(n), "3 and 4 are younger than 10 seconds")
		bubble.Sleep(time.Minute)
		f.AddPower(powersync.Event{ID: n.UUID, LastError: "5"})
		require.Equal(t, []string{"3", "4", "5"}, f.events(n))
	})
}

// events returns the events of a node's history.
func (f *fleet) events(n *conductor.Node) (events []string) {
	all, err := f.History(f.ctx, n.UUID)
	require.NoError(f.t, err)
	for _, entry := range all {
		events = append(events, entry.Event)
	}
	return events
}

func TestEntriesOfTheSameMomentStayInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Enroll)
		var want []string
		for i := range 20 {
			want = append(want, strconv.Itoa(i))
			f.AddPower(powersync.Event{ID: n.UUID, LastError: want[i]})
		}
		require.Equal(t, want, f.events(n))
		all, err := f.History(f.ctx, n.UUID)
		require.NoError(t, err)
		require.Equal(t, 19*time.Microsecond, all[19].CreatedAt.Sub(all[0].CreatedAt))
	})
}

// TestALongEventLosesItsMiddle has the lengths of 39.0.0, which counts bytes.
func TestALongEventLosesItsMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Enroll)
		longest := strings.Repeat("a", 65535)
		f.AddPower(powersync.Event{ID: n.UUID, LastError: longest})
		f.AddPower(powersync.Event{ID: n.UUID, LastError: "b" + longest})
		f.AddPower(powersync.Event{ID: n.UUID, LastError: "bc" + strings.Repeat("é", 40000)})
		const mark = " ... [truncated] ... "
		require.Equal(t, []string{
			longest, "b" + longest[:32756] + mark + longest[:32757], "bc" + strings.Repeat("é", 16377) + mark + strings.Repeat("é", 16378),
		}, f.events(n))
	})
}

func TestTheHistoryKeepsTheNewestEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.MaxHistory = 2 })
		n := f.node(states.Enroll)
		failures := []string{"first", "second", "third", "fourth"}
		for _, failure := range failures {
			f.before(func(context.Context, *conductor.Node, string) error { return errors.New(failure) })
			f.request(n, "manage")
			f.settle(n)
			bubble.Sleep(time.Second) // the entries are ordered by time
		}
		all, err := f.History(f.ctx, n.UUID)
		require.NoError(t, err)
		require.Len(t, all, 2)
		for i, failure := range failures[2:] {
			require.Contains(t, all[i].Event, failure)
		}
	})
}

func TestTheHistoryTellsWhoChangedThePower(t *testing.T) {
	for outcome, want := range map[powersync.Outcome]string{
		powersync.IntoMaintenance: "monitoring", powersync.PowerNotSet: "UNKNOWN",
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.node(states.Active)
			f.AddPower(powersync.Event{ID: n.UUID, Outcome: outcome, LastError: "no answer"})
			require.Equal(t, []string{"ERROR " + want}, f.entries(n))
		})
	}
}

// withoutHistory is a store that refuses entries of histories, or their deletion.
type withoutHistory struct {
	conductor.Memory
	create, delete error
}

func (s *withoutHistory) Create(ctx context.Context, r conductor.Record) (int64, error) {
	if r.Kind == conductor.KindHistory && s.create != nil {
		return 0, s.create
	}
	return s.Memory.Create(ctx, r)
}

func (s *withoutHistory) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	if kind == conductor.KindHistory && s.delete != nil {
		return 0, s.delete
	}
	return s.Memory.Delete(ctx, kind, id, revision)
}

// slowHistory is a store that takes nine seconds to create the first entry of a history: a callback may take less.
type slowHistory struct {
	conductor.Memory
	begun atomic.Bool
}

func (s *slowHistory) Create(ctx context.Context, r conductor.Record) (int64, error) {
	if r.Kind == conductor.KindHistory && !s.begun.Swap(true) {
		sleep.For(ctx, 9*time.Second)
	}
	return s.Memory.Create(ctx, r)
}

func TestTheHistoryHasTheFailuresOfOtherNodesWhileTheStoreIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		f := start(t, func(c *conductor.Config) {
			c.Store, c.SkipPowerSync = &slowHistory{}, true
			c.Power.OnEvent = func(e powersync.Event) {
				if e.LastError != "" {
					told.Add(1)
				}
			}
		})
		f.before(func(context.Context, *conductor.Node, string) error { return errors.New("no answer") })
		first, second := f.node(states.Active), f.node(states.Active)
		require.NoError(t, f.SetPower(f.ctx, first.UUID, states.PowerOn, 0))
		bubble.Sleep(8 * time.Second)
		require.NoError(t, f.SetPower(f.ctx, second.UUID, states.PowerOn, 0))
		bubble.Sleep(time.Minute)
		require.Equal(t, []string{"ERROR UNKNOWN"}, f.entries(first))
		require.Equal(t, []string{"ERROR UNKNOWN"}, f.entries(second))
		require.EqualValues(t, 2, told.Load())
		require.Zero(t, f.PowerStats().Dropped)
	})
}

func TestAHistoryThatCannotBeStoredIsLogged(t *testing.T) {
	full := errors.New("no space left on device")
	for name, test := range map[string]struct {
		store  *withoutHistory
		logged bool
	}{
		"an entry that is stored":            {&withoutHistory{}, false},
		"an entry that is not stored":        {&withoutHistory{create: full}, true},
		"an old entry that is not deleted":   {&withoutHistory{delete: full}, true},
		"an old entry that is deleted twice": {&withoutHistory{delete: conductor.NotFound}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out lockedBuffer
				f := start(t, func(c *conductor.Config) {
					c.Store, c.MaxHistory, c.Log = test.store, 1, slog.New(slog.NewTextHandler(&out, nil))
				})
				f.before(func(context.Context, *conductor.Node, string) error { return errors.New("no answer") })
				n := f.node(states.Enroll)
				for range 2 {
					f.request(n, "manage")
					require.Equal(t, states.Enroll, f.settle(n).ProvisionState)
					bubble.Sleep(time.Second)
				}
				require.Equal(t, test.logged,
					strings.Contains(out.String(), `msg="the node's history could not be stored" node=`+n.UUID+` error=`), out.String())
			})
		})
	}
}

func TestTheHistoryHasAnEntryForANodeThatThePowerSyncPutIntoMaintenance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		f := start(t, func(c *conductor.Config) {
			c.Power = powersync.Config{Policy: powersync.Policy{MaxRetries: 1}, OnEvent: func(powersync.Event) { told.Add(1) }}
		})
		f.before(func(context.Context, *conductor.Node, string) error { return errors.New("no answer") })
		n := f.node(states.Active)
		bubble.Sleep(10 * time.Minute)
		n = f.settle(n)
		require.True(t, n.Maintenance)
		require.Equal(t, []string{"ERROR monitoring"}, f.entries(n))
		require.NotZero(t, told.Load(), "the configured callback is called too")
	})
}
