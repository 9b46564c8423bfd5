// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
)

func TestThePlanOfTheMaintenance(t *testing.T) {
	const quota, reserve = 16, 8
	for size := range int64(20) {
		for used := range size + 1 {
			for free := range int64(40) {
				for flags := range 4 {
					c := condition{size: size, used: used, quota: quota, free: free, reserve: reserve, alarm: flags&1 != 0, due: flags&2 != 0}
					want := work{disarm: c.alarm}
					large := size >= 8
					if large && c.alarm {
						want.compact = true
					}
					if large && free >= used+reserve && (c.alarm || 2*used <= size) {
						want.defrag = true
					}
					if (want.compact || want.defrag) && !c.due {
						want = work{}
					}
					switch {
					case free < reserve && !c.alarm:
						want = work{raise: true}
					case free < reserve, free < 10 && c.alarm: // a quarter more
						want = work{}
					}
					require.Equal(t, want, c.plan(), "%+v", c)
				}
			}
		}
	}
}

func TestAnAlarmEndsBelowNineTenthsOfTheQuota(t *testing.T) {
	require.True(t, fits(0, 0))
	require.True(t, fits(90, 100))
	require.False(t, fits(91, 100))
}

func TestAServerEndsAlarmsOfItselfAndReplacedServers(t *testing.T) {
	member := func(id types.ID) bool { return id < 3 }
	alarm := func(id uint64, kind etcdserverpb.AlarmType) *etcdserverpb.AlarmMember {
		return &etcdserverpb.AlarmMember{MemberID: id, Alarm: kind}
	}
	noSpace, corrupt := etcdserverpb.AlarmType_NOSPACE, etcdserverpb.AlarmType_CORRUPT
	alarms := []*etcdserverpb.AlarmMember{alarm(1, noSpace), alarm(1, corrupt), alarm(2, noSpace), alarm(3, noSpace), alarm(3, corrupt)}
	got := own(alarms, 1, member)
	require.Len(t, got, 2)
	require.Equal(t, []uint64{1, 3}, []uint64{got[0].MemberID, got[1].MemberID})
	require.Empty(t, own(nil, 1, member))
}

func TestTheSpaceIsCheckedTenTimesASecondAndTheDatabaseAtEachInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 6150*time.Millisecond)
		defer cancel()
		begun := time.Now()
		var all, due []time.Duration
		checks(ctx, 2500*time.Millisecond, func(d bool) {
			all = append(all, time.Since(begun))
			if d {
				due = append(due, time.Since(begun))
			}
		})
		require.Equal(t, []time.Duration{0, 2500 * time.Millisecond, 5 * time.Second}, due)
		require.Len(t, all, 1+61+2)
		require.Equal(t, 6100*time.Millisecond, all[63])
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		count := 0
		checks(ctx, 3*time.Millisecond, func(bool) { count++ })
		require.Equal(t, 7, count, "the space is checked as often as the database")
	})
}

func TestAMaintenanceThatFailsIsLogged(t *testing.T) {
	for _, ended := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			defer cancel()
			if ended {
				cancel()
			}
			m := maintenance{dir: filepath.Join(t.TempDir(), "none"), preallocation: newPreallocation(Config{Dir: t.TempDir()}),
				log: slog.New(slog.NewTextHandler(&log, nil))}
			m.run(ctx, time.Second)
			if ended {
				require.Empty(t, log.String())
			} else {
				require.Contains(t, log.String(), "level=ERROR msg=\"etcd's database could not be maintained\" error=\"no such file or directory\"")
			}
		})
	}
}
