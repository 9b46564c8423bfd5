// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"

	"github.com/ironstate/ironstate/conductor/etcd"
)

// maintenance keeps the database of a server below its quota, and the file system above its reserve.
type maintenance struct {
	client         *clientv3.Client
	server         *etcdserver.EtcdServer
	dir            string
	quota, reserve int64
	preallocation  *preallocation
	log            *slog.Logger
}

// spaceInterval is the time between two reads of the free space.
const spaceInterval = 100 * time.Millisecond

// run checks the free space ten times a second, and the size of the database at each interval, until the context ends.
func (m *maintenance) run(ctx context.Context, every time.Duration) {
	checks(ctx, every, func(due bool) {
		if err := m.keep(ctx, due); err != nil && ctx.Err() == nil {
			m.log.Error("etcd's database could not be maintained", "error", err)
		}
	})
}

// checks calls check at once, ten times a second and at each interval, until the context ends. The check of the
// database is due at once and at each interval.
func checks(ctx context.Context, every time.Duration, check func(due bool)) {
	space, database := time.NewTicker(min(every, spaceInterval)), time.NewTicker(every)
	defer space.Stop()
	defer database.Stop()
	check(true)
	for {
		select {
		case <-space.C:
			check(false)
		case <-database.C:
			check(true)
		case <-ctx.Done():
			return
		}
	}
}

// condition holds the sizes by which the maintenance of a server decides, in bytes.
type condition struct {
	size, used, quota int64 // of the database
	free, reserve     int64 // of the file system
	alarm             bool  // this server has raised the alarm NOSPACE
	due               bool  // the database is checked now, beside the free space
}

// work is the maintenance's next action.
type work struct {
	raise           bool // the alarm NOSPACE, with which all servers refuse writes
	compact, defrag bool
	disarm          bool // the alarm, if the database is then small enough
}

// low reports whether the free space is below the reserve. An alarm ends only at a quarter more, so
// that it does not alternate.
func (c condition) low() bool {
	if c.alarm {
		return c.free < c.reserve+c.reserve/4
	}
	return c.free < c.reserve
}

// plan returns the next action. A defragmentation writes a copy of the pages that the database uses, so that it needs
// that much above the reserve. The database is defragmented if it is larger than half of its quota and half of it is
// free, or if the alarm is raised and it is larger than half of its quota. Both wait until the check of the database is
// due, and the end of the alarm with them.
func (c condition) plan() work {
	if c.low() {
		return work{raise: !c.alarm}
	}
	large := c.size >= c.quota/2
	todo := work{
		compact: c.alarm && large,
		defrag:  large && (c.alarm || c.used <= c.size/2) && c.free-c.used >= c.reserve,
		disarm:  c.alarm,
	}
	if !c.due && (todo.compact || todo.defrag) {
		return work{}
	}
	return todo
}

// fits reports whether a database is small enough for the alarm to end: it has at most nine tenths of its quota.
func fits(size, quota int64) bool { return size <= quota/10*9 }

// condition returns the present condition. Where the free space is unknown, it counts as enough.
func (m *maintenance) condition(due bool) (condition, error) {
	free, err := FreeSpace(m.dir)
	if errors.Is(err, errors.ErrUnsupported) {
		free, err = math.MaxInt64/2, nil
	}
	if err != nil {
		return condition{}, err
	}
	backend := m.server.Backend()
	return condition{
		size: backend.Size(), used: backend.SizeInUse(), quota: m.quota, free: free, reserve: m.reserve,
		alarm: len(m.alarms()) > 0, due: due,
	}, nil
}

// alarms returns the alarms NOSPACE that this server ends.
func (m *maintenance) alarms() []*etcdserverpb.AlarmMember {
	return own(m.server.Alarms(), m.server.MemberID(), func(id types.ID) bool { return m.server.Cluster().Member(id) != nil })
}

// own returns the alarms NOSPACE of a server itself, and of servers that were replaced.
func own(alarms []*etcdserverpb.AlarmMember, self types.ID, isMember func(types.ID) bool) []*etcdserverpb.AlarmMember {
	return slices.DeleteFunc(alarms, func(alarm *etcdserverpb.AlarmMember) bool {
		id := types.ID(alarm.MemberID)
		return alarm.Alarm != etcdserverpb.AlarmType_NOSPACE || id != self && isMember(id)
	})
}

// keep raises or disarms the alarm NOSPACE by the free space. If the check of the database is due, keep
// also compacts and defragments it; the server responds to no request during a defragmentation, which
// takes about a second per gigabyte.
func (m *maintenance) keep(ctx context.Context, due bool) error {
	now, err := m.condition(due)
	if err != nil {
		return err
	}
	if err := m.preallocate(now); err != nil {
		m.log.Warn("space that etcd may need could not be allocated before", "folder", m.dir, "error", err)
	}
	todo := now.plan()
	if todo.raise {
		m.log.Error("the file system is almost full: writes are refused until there is space", "folder", m.dir, "free", now.free,
			"reserve", now.reserve)
		// The client has no request that raises an alarm.
		_, err := m.server.Alarm(ctx, &etcdserverpb.AlarmRequest{
			Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: uint64(m.server.MemberID()), Alarm: etcdserverpb.AlarmType_NOSPACE,
		})
		return err
	}
	if todo.compact {
		if err := m.compact(ctx); err != nil {
			return err
		}
	}
	if todo.defrag {
		backend := m.server.Backend()
		if err := backend.Defrag(); err != nil {
			return err
		}
		m.log.Info("etcd's database was defragmented", "from", now.size, "to", backend.Size(), "quota", m.quota)
	}
	if !todo.disarm {
		return nil
	}
	if size := m.server.Backend().Size(); !fits(size, m.quota) {
		m.log.Error(etcd.ErrNoSpace.Error(), "size", size, "quota", m.quota)
		return nil
	}
	m.log.Info("there is space again: writes are accepted", "folder", m.dir, "free", now.free)
	return m.disarm(ctx)
}

// preallocate makes or releases the ballast, and allocates what etcd needs next while there is space.
func (m *maintenance) preallocate(now condition) error {
	hold, release := ballastWork(now.free, now.reserve, m.preallocation.held())
	switch {
	case release:
		m.log.Error("the file system is full: the ballast is released", "folder", m.dir, "free", now.free, "bytes", ballastSize)
		return m.preallocation.release()
	case hold:
		if err := m.preallocation.hold(); err != nil {
			return err
		}
		now.free -= ballastSize
	}
	return m.preallocation.take(now.free - now.reserve - now.reserve/4)
}

// observe reports whether the server has a leader, and whether any server of the cluster has raised the alarm NOSPACE.
func (m *maintenance) observe() (led, full bool) {
	full = slices.ContainsFunc(m.server.Alarms(), func(alarm *etcdserverpb.AlarmMember) bool {
		return alarm.Alarm == etcdserverpb.AlarmType_NOSPACE
	})
	return m.server.Leader() != 0, full
}

// compact deletes the history of all records.
func (m *maintenance) compact(ctx context.Context) error {
	alarms, err := m.client.AlarmList(ctx) // for the revision
	if err != nil {
		return err
	}
	_, err = m.client.Compact(ctx, alarms.Header.Revision, clientv3.WithCompactPhysical())
	if errors.Is(err, rpctypes.ErrCompacted) {
		return nil
	}
	return err
}

// disarm ends the alarms that this server ends.
func (m *maintenance) disarm(ctx context.Context) error {
	for _, alarm := range m.alarms() {
		if _, err := m.client.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: alarm.MemberID, Alarm: alarm.Alarm}); err != nil {
			return err
		}
	}
	return nil
}
