// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"log/slog"
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
	log            *slog.Logger
}

// spaceInterval is the time between two reads of the free space.
const spaceInterval = time.Second

// run checks the free space each second, and the size of the database at each interval, until the context ends.
func (m *maintenance) run(ctx context.Context, every time.Duration) {
	space, database := time.NewTicker(min(every, spaceInterval)), time.NewTicker(every)
	defer space.Stop()
	defer database.Stop()
	due := true // the check of the database
	for {
		if err := m.keep(ctx, due); err != nil && ctx.Err() == nil {
			m.log.Error("etcd's database could not be maintained", "error", err)
		}
		select {
		case <-space.C:
			due = false
		case <-database.C:
			due = true
		case <-ctx.Done():
			return
		}
	}
}

// condition is what the maintenance of a server decides by, in bytes.
type condition struct {
	size, used, quota int64 // of the database
	free, reserve     int64 // of the file system
	alarm             bool  // this server has raised the alarm NOSPACE
}

// work is what the maintenance does next.
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

// plan returns what to do. A defragmentation writes a copy of what the database uses, so that it needs that much
// above the reserve. The database is defragmented if it is larger than half of its quota and half of it
// is free, or if the alarm is raised and it is larger than half of its quota.
func (c condition) plan() work {
	if c.low() {
		return work{raise: !c.alarm}
	}
	large := c.size >= c.quota/2
	return work{
		compact: c.alarm && large,
		defrag:  large && (c.alarm || c.used <= c.size/2) && c.free-c.used >= c.reserve,
		disarm:  c.alarm,
	}
}

// condition returns the present condition. Where the free space is unknown, it counts as enough.
func (m *maintenance) condition() (condition, error) {
	backend := m.server.Backend()
	c := condition{size: backend.Size(), used: backend.SizeInUse(), quota: m.quota, reserve: m.reserve}
	for _, alarm := range m.server.Alarms() {
		c.alarm = c.alarm || alarm.Alarm == etcdserverpb.AlarmType_NOSPACE && m.answersFor(alarm)
	}
	var err error
	if c.free, err = FreeSpace(m.dir); errors.Is(err, errors.ErrUnsupported) {
		c.free, err = c.size+c.reserve*2, nil
	}
	return c, err
}

// answersFor reports whether this server ends an alarm: its own, and those of servers that were
// replaced.
func (m *maintenance) answersFor(alarm *etcdserverpb.AlarmMember) bool {
	id := types.ID(alarm.MemberID)
	return id == m.server.MemberID() || m.server.Cluster().Member(id) == nil
}

// keep raises or disarms the alarm NOSPACE by the free space. If the check of the database is due, keep
// also compacts and defragments it; the server responds to no request during a defragmentation, which
// takes about a second per gigabyte.
func (m *maintenance) keep(ctx context.Context, due bool) error {
	now, err := m.condition()
	if err != nil {
		return err
	}
	todo := now.plan()
	if todo.raise {
		m.log.Error("the file system is almost full: writes are refused until there is space", "folder", m.dir, "free", now.free, "reserve", now.reserve)
		// The client has no request that raises an alarm.
		_, err := m.server.Alarm(ctx, &etcdserverpb.AlarmRequest{
			Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: uint64(m.server.MemberID()), Alarm: etcdserverpb.AlarmType_NOSPACE,
		})
		return err
	}
	if !due && (todo.compact || todo.defrag) {
		return nil
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
	if size := m.server.Backend().Size(); size > m.quota/10*9 {
		m.log.Error(etcd.ErrNoSpace.Error(), "size", size, "quota", m.quota)
		return nil
	}
	m.log.Info("there is space again: writes are accepted", "folder", m.dir, "free", now.free)
	return m.disarm(ctx)
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

// disarm disarms the alarms for which this server answers.
func (m *maintenance) disarm(ctx context.Context) error {
	for _, alarm := range m.server.Alarms() {
		if alarm.Alarm != etcdserverpb.AlarmType_NOSPACE || !m.answersFor(alarm) {
			continue
		}
		if _, err := m.client.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: alarm.MemberID, Alarm: alarm.Alarm}); err != nil {
			return err
		}
	}
	return nil
}
