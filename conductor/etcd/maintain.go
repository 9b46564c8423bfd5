package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// maintainEvery is the interval between two checks of the size of the database.
const maintainEvery = time.Minute

// maintain keeps the database of the embedded server below its quota until the context ends.
func (s *Store) maintain(ctx context.Context, quota int64) {
	ticks := time.NewTicker(maintainEvery)
	defer ticks.Stop()
	for {
		if err := s.makeSpace(ctx, quota); err != nil && ctx.Err() == nil {
			s.log.Error("etcd's database could not be defragmented", "error", err)
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
func (s *Store) makeSpace(ctx context.Context, quota int64) error {
	alarms, err := s.client.AlarmList(ctx)
	if err != nil {
		return err
	}
	full := false
	for _, alarm := range alarms.Alarms {
		full = full || alarm.Alarm == etcdserverpb.AlarmType_NOSPACE
	}
	backend := s.server.Backend()
	size := backend.Size()
	if !full && (size < quota/2 || backend.SizeInUse() > size/2) {
		return nil
	}
	if full {
		if _, err := s.client.Compact(ctx, alarms.Header.Revision, clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			return err
		}
	}
	if err := backend.Defrag(); err != nil {
		return err
	}
	s.log.Info("etcd's database was defragmented", "from", size, "to", backend.Size(), "quota", quota)
	if !full {
		return nil
	}
	if backend.Size() > quota/10*9 {
		s.log.Error(ErrNoSpace.Error(), "size", backend.Size(), "quota", quota)
		return nil
	}
	_, err = s.client.AlarmDisarm(ctx, &clientv3.AlarmMember{}) // all alarms
	return err
}
