//go:build go1.25

package verify_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// jobs makes nodes in enroll as they are asked for.
func jobs(t testing.TB, n int, v verify.Verifier) iter.Seq[verify.Job] {
	return func(yield func(verify.Job) bool) {
		for i := range n {
			m, err := machine.New(machine.Config{
				Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}, Name: fmt.Sprint("node-", i),
			})
			if err != nil {
				t.Fatal(err)
			}
			if !yield(verify.Job{Machine: m, Verifier: v}) {
				return
			}
		}
	}
}

func TestManageAllKeepsItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, atOnce = 100, 7
		now := make(chan struct{}, atOnce)
		v := verify.Func(func(context.Context) (states.Power, error) {
			select {
			case now <- struct{}{}:
			default:
				t.Error("more at once than allowed")
			}
			time.Sleep(time.Second)
			<-now
			return states.PowerOn, nil
		})
		seen := map[string]bool{}
		begin := time.Now()
		for r := range verify.ManageAll(t.Context(), jobs(t, n, v), atOnce) {
			require.NoError(t, r.Err)
			require.Equal(t, states.PowerOn, r.Power)
			require.Equal(t, states.Manageable, r.Machine.Node().State)
			seen[r.Machine.Name()] = true
		}
		require.Len(t, seen, n)
		require.Equal(t, 15*time.Second, time.Since(begin), "100 jobs by 7 are 15 rounds")
	})
}

func TestManageAllStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		v := verify.Func(func(ctx context.Context) (states.Power, error) {
			select {
			case <-time.After(time.Minute):
				return states.PowerOn, nil
			case <-ctx.Done():
				return states.NoPower, ctx.Err()
			}
		})
		ends := map[states.State]int{}
		for r := range verify.ManageAll(ctx, jobs(t, 100, v), 4) {
			ends[r.Machine.Node().State]++
		}
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		require.Equal(t, map[states.State]int{states.Manageable: 4, states.Enroll: 4}, ends)
	})
}

func TestManageAllOfOddJobs(t *testing.T) {
	count := func(all iter.Seq[verify.Result]) (n int, errs []error) {
		for r := range all {
			n++
			errs = append(errs, r.Err)
		}
		return n, errs
	}
	good := answers(states.PowerOn, nil)
	n, errs := count(verify.ManageAll(t.Context(), jobs(t, 3, good), 0))
	require.Equal(t, 3, n, "below 1 at once is 1")
	require.Equal(t, []error{nil, nil, nil}, errs)
	n, _ = count(verify.ManageAll(t.Context(), nil, 1))
	require.Zero(t, n)
	n, errs = count(verify.ManageAll(t.Context(), jobs(t, 2, nil), 2))
	require.Equal(t, 2, n)
	require.ErrorIs(t, errs[0], verify.ErrNoVerifier, "each job has its own error")
	_, errs = count(verify.ManageAll(t.Context(), slices.Values([]verify.Job{{Verifier: good}}), 2))
	require.ErrorContains(t, errs[0], "machine was not made by machine.New")
}

// The loop's body runs in the caller's goroutine: whatever it does, those under
// way are cancelled and waited for.
func TestManageAllEndsWithItsLoop(t *testing.T) {
	waits := verify.Func(func(ctx context.Context) (states.Power, error) {
		<-ctx.Done()
		return states.NoPower, ctx.Err()
	})
	first := true
	mixed := verify.Func(func(ctx context.Context) (states.Power, error) {
		if first {
			first = false
			return states.PowerOn, nil
		}
		return waits(ctx)
	})
	for name, leave := range map[string]func(){
		"by a panic":              func() { panic("the caller's own") },
		"by ending its goroutine": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			first = true
			ended := make(chan any)
			go func() {
				defer func() { ended <- recover() }()
				for range verify.ManageAll(context.Background(), jobs(t, 10, mixed), 1) {
					leave()
				}
			}()
			<-ended
		})
	}
	first = true
	for range verify.ManageAll(t.Context(), jobs(t, 10, mixed), 1) {
		break
	}
}

func TestAHookThatEndsItsGoroutineEndsOneJobAlone(t *testing.T) {
	exits := func(_ context.Context, tr machine.Transition) error {
		if tr.To.State == states.Manageable {
			runtime.Goexit()
		}
		return nil
	}
	m := newNode(t, states.Enroll, func(c *machine.Config) { c.Enter = []machine.Hook{exits} })
	all := slices.Collect(verify.ManageAll(t.Context(), slices.Values([]verify.Job{{Machine: m, Verifier: answers(states.PowerOn, nil)}}), 1))
	require.Len(t, all, 1)
	require.ErrorContains(t, all[0].Err, "the call ended its goroutine")
	require.Equal(t, states.Manageable, m.Node().State)
}

func TestManageAllGrowsWithItsBoundAlone(t *testing.T) {
	const atOnce = 16
	before, most := runtime.NumGoroutine(), 0
	v := answers(states.PowerOn, nil)
	for range verify.ManageAll(t.Context(), jobs(t, 5000, v), atOnce) {
		most = max(most, runtime.NumGoroutine())
	}
	// A job has its own goroutine, that of its verification and that of its
	// verifier; those that have just ended may still be counted.
	require.LessOrEqual(t, most, before+6*atOnce)
}

func BenchmarkManage(b *testing.B) {
	b.ReportAllocs()
	v := answers(states.PowerOn, nil)
	for job := range jobs(b, b.N, v) {
		if _, err := verify.Manage(b.Context(), job.Machine, v); err != nil {
			b.Fatal(err)
		}
	}
}
