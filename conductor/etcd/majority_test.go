// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
)

// becomes waits until the health of a store matches an error, nil for a store that accepts writes.
func becomes(t *testing.T, s *etcd.Store, want error) {
	t.Helper()
	for s.Health() != want {
		time.Sleep(10 * time.Millisecond)
	}
}

func TestRequestsFailAtOnceWhileTheMajorityOfOtherServersIsLost(t *testing.T) {
	t.Parallel()
	servers := etcdtest.StartCluster(t, 3, nil)
	log := &noticed{slog.DiscardHandler, make(chan string, 10_000)}
	s := connect(t, etcd.Config{Endpoints: endpoints(servers), Log: slog.New(log)})
	r := etcdtest.Create(t, s, "a")
	require.NoError(t, s.Health())

	servers[1].Kill()
	servers[2].Kill()
	_, err := s.Update(t.Context(), r) // in flight when the loss is noticed, or sent to a server that is dead
	require.Error(t, err)
	becomes(t, s, etcd.ErrNoMajority)
	_, err = s.Update(t.Context(), r)
	require.ErrorIs(t, err, etcd.ErrNoMajority)
	require.Equal(t, 503, conductor.HTTPStatus(err))
	_, err = s.Get(t.Context(), etcdtest.Kind, "a")
	require.ErrorIs(t, err, etcd.ErrNoMajority)

	servers[1].Start(t)
	servers[1].Ready(t)
	becomes(t, s, nil)
	_, err = s.Get(t.Context(), etcdtest.Kind, "a")
	require.NoError(t, err)
	etcdtest.Create(t, s, "b")
	counts := map[string]int{}
	for len(log.messages) > 0 {
		counts[<-log.messages]++
	}
	require.Equal(t, 1,
		counts["the majority of etcd's servers is lost: writes are refused until more than half of the servers run and reach each other"])
	require.Equal(t, 1, counts["the majority of etcd's servers is back"])
}

func TestAFullDatabaseOfOtherServersIsSeenUntilItHasSpace(t *testing.T) {
	t.Parallel()
	servers := etcdtest.StartCluster(t, 1, nil)
	s, client := connect(t, etcd.Config{Endpoints: endpoints(servers)}), rawClient(t, servers)
	r := etcdtest.Create(t, s, "a")
	status, err := client.Status(t.Context(), servers[0].Client)
	require.NoError(t, err)
	_, err = etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: status.Header.MemberId, Alarm: etcdserverpb.AlarmType_NOSPACE,
	})
	require.NoError(t, err)
	_, err = s.Update(t.Context(), r)
	require.ErrorIs(t, err, etcd.ErrNoSpace)
	require.Equal(t, etcd.ErrNoSpace, s.Health())
	for probes := requests(t, servers[0], "Txn") + 3; requests(t, servers[0], "Txn") < probes; { // the first two have their results
		require.Equal(t, etcd.ErrNoSpace, s.Health())
		time.Sleep(100 * time.Millisecond)
	}
	require.Equal(t, etcd.ErrNoSpace, s.Health())
	_, err = client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{MemberID: status.Header.MemberId, Alarm: etcdserverpb.AlarmType_NOSPACE})
	require.NoError(t, err)
	becomes(t, s, nil)
}
