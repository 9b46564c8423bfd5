package embedded

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"

	"github.com/ironstate/ironstate/conductor/etcd"
)

// maintenance keeps the database of a server below its quota.
type maintenance struct {
	client *clientv3.Client
	server *etcdserver.EtcdServer
	quota  int64
	log    *slog.Logger
}

// run checks the size of the database at each interval until the context ends.
func (m *maintenance) run(ctx context.Context, every time.Duration) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		if err := m.makeSpace(ctx); err != nil && ctx.Err() == nil {
			m.log.Error("etcd's database could not be defragmented", "error", err)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

// makeSpace defragments the database if it is larger than half of its quota and half of it is
// free. If the alarm NOSPACE is raised, makeSpace always compacts and defragments, and disarms the
// alarm if the database has become small enough. The server responds to no request during the
// defragmentation, which takes about a second per gigabyte.
func (m *maintenance) makeSpace(ctx context.Context) error {
	alarms, err := m.client.AlarmList(ctx)
	if err != nil {
		return err
	}
	full := false
	for _, alarm := range alarms.Alarms {
		full = full || alarm.Alarm == etcdserverpb.AlarmType_NOSPACE
	}
	backend := m.server.Backend()
	size := backend.Size()
	if !full && (size < m.quota/2 || backend.SizeInUse() > size/2) {
		return nil
	}
	if full {
		if _, err := m.client.Compact(ctx, alarms.Header.Revision, clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			return err
		}
	}
	if err := backend.Defrag(); err != nil {
		return err
	}
	m.log.Info("etcd's database was defragmented", "from", size, "to", backend.Size(), "quota", m.quota)
	if !full {
		return nil
	}
	if backend.Size() > m.quota/10*9 {
		m.log.Error(etcd.ErrNoSpace.Error(), "size", backend.Size(), "quota", m.quota)
		return nil
	}
	_, err = m.client.AlarmDisarm(ctx, &clientv3.AlarmMember{}) // all alarms
	return err
}
