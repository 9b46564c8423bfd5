//go:build go1.25

package verify_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
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
		require.NoError(t, verify.ManageAll(t.Context(), jobs(t, n, v), atOnce, func(r verify.Result) {
			require.NoError(t, r.Err)
			require.Equal(t, states.PowerOn, r.Power)
			require.Equal(t, states.Manageable, r.Machine.Node().State)
			seen[r.Machine.Name()] = true
		}))
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
		err := verify.ManageAll(ctx, jobs(t, 100, v), 4, func(r verify.Result) { ends[r.Machine.Node().State]++ })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, map[states.State]int{states.Manageable: 4, states.Enroll: 4}, ends)
	})
}

func TestManageAllRefusesNoWorkers(t *testing.T) {
	require.ErrorIs(t, verify.ManageAll(t.Context(), jobs(t, 1, nil), 0, nil), verify.ErrAtOnce)
	require.NoError(t, verify.ManageAll(t.Context(), jobs(t, 0, nil), 1, nil))
	require.NoError(t, verify.ManageAll(t.Context(), nil, 1, nil))
	require.NoError(t, verify.ManageAll(t.Context(), jobs(t, 3, nil), 2, nil), "each job has its own error")
}

func TestManageAllGrowsWithItsBoundAlone(t *testing.T) {
	const atOnce = 16
	before, most := runtime.NumGoroutine(), 0
	v := answers(states.PowerOn, nil)
	require.NoError(t, verify.ManageAll(t.Context(), jobs(t, 5000, v), atOnce, func(verify.Result) {
		most = max(most, runtime.NumGoroutine())
	}))
	// A worker has at most its own goroutine and that of a verification, and one
	// that has just ended may still be counted.
	require.LessOrEqual(t, most, before+3*atOnce)
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
