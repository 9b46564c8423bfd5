// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/conductor/storetest"
	"github.com/ironstate/ironstate/internal/needs"
)

func requireAlive(t *testing.T, m conductor.Membership, id string, want bool) {
	t.Helper()
	alive, err := m.Alive(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, want, alive)
}

func TestMembersJoinAndLeave(t *testing.T) {
	s := openLocal(t, t.TempDir(), "")
	m := s.Membership(0)
	a := etcdtest.Join(t, m, "a")
	a.Sees(t, "a")
	b := etcdtest.Join(t, m, "b")
	b.Sees(t, "a b")
	a.Sees(t, "a b")
	c := etcdtest.Join(t, m, "c")
	c.Sees(t, "a b c")
	requireAlive(t, m, "b", true)
	require.True(t, m.Holds("b"))

	require.NoError(t, m.Drain(t.Context(), "b"))
	for _, j := range []*etcdtest.Joined{a, b, c} {
		j.Sees(t, "a b! c")
	}
	requireAlive(t, m, "b", true)
	require.True(t, m.Holds("b"))
	require.ErrorContains(t, m.Drain(t.Context(), "d"), "it has not joined")

	b.Leave()
	require.NoError(t, <-b.Ended)
	requireAlive(t, m, "b", false)
	require.False(t, m.Holds("b"))
	require.True(t, m.Holds("a"))
	a.Sees(t, "a c")
	c.Sees(t, "a c")

	require.ErrorIs(t, <-named(t, m, "a", "another host"), etcd.ErrMember)
	requireAlive(t, m, "a", true)

	for _, id := range []string{"", "a/b"} {
		require.ErrorContains(t, <-etcdtest.Join(t, m, id).Ended, "is not an ID of a member")
	}
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-a.Ended, etcd.ErrClosed)
	_, err := m.Alive(t.Context(), "a")
	require.ErrorIs(t, err, etcd.ErrClosed)
}

func TestALeaseIsRenewed(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	s := openLocal(t, t.TempDir(), "")
	const ttl = 6 * time.Second
	a := etcdtest.Join(t, s.Membership(ttl), "a")
	a.Sees(t, "a")
	time.Sleep(ttl * 3 / 2)
	etcdtest.Join(t, s.Membership(0), "b").Sees(t, "a b")
	a.Sees(t, "a b")
}

func TestMembersAreYieldedWithAllFields(t *testing.T) {
	s := openLocal(t, t.TempDir(), "")
	self := conductor.Member{
		ID: "a", Hostname: "host", Group: "rack1", Drivers: []string{"ipmi", "redfish"}, CreatedAt: time.Unix(1, 0).UTC(),
	}
	for members, err := range s.Membership(0).Join(t.Context(), self) {
		require.NoError(t, err)
		require.Equal(t, []conductor.Member{self}, members)
		break
	}
	requireAlive(t, s.Membership(0), "a", false)
}

// The proxy cuts off all requests of one process.
func TestTheMembershipKeepsItsPromisesOnACluster(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	const ttl = 5 * time.Second
	members := etcdtest.StartCluster(t, 1, nil)
	way := startProxy(t, members[0].Client[len("http://"):])
	cut := connect(t, etcd.Config{Endpoints: []string{"http://" + way.listener.Addr().String()}}).Membership(ttl)
	direct := connect(t, etcd.Config{Endpoints: endpoints(members)}).Membership(ttl)
	a := storetest.Process{Membership: cut, Cut: way.set, Jump: cut.Jump}
	require.NoError(t, storetest.CheckMembership(ttl, a, storetest.Process{Membership: direct}))
}

// The proxy cuts off all requests of the member, whose clock then jumps to the end of its membership.
func TestAMemberThatIsCutOffLosesItsMembershipBeforeTheOthersSeeIt(t *testing.T) {
	const ttl = 5 * time.Minute
	members := etcdtest.StartCluster(t, 1, nil)
	direct := connect(t, etcd.Config{Endpoints: endpoints(members)}).Membership(ttl)
	way := startProxy(t, members[0].Client[len("http://"):])
	cut := connect(t, etcd.Config{Endpoints: []string{"http://" + way.listener.Addr().String()}}).Membership(ttl)

	stays := etcdtest.Join(t, direct, "stays")
	goes := etcdtest.Join(t, cut, "goes")
	goes.Sees(t, "goes stays")
	stays.Sees(t, "goes stays")
	way.set(true)

	require.True(t, cut.Holds("goes"))
	cut.Jump(ttl * 2 / 3)
	require.False(t, cut.Holds("goes"))
	requireAlive(t, direct, "goes", true)
	revoke(t, rawClient(t, members), "host of goes")
	stays.Sees(t, "stays")
	requireAlive(t, direct, "goes", false)
}

func TestAProcessThatDiesOrHangsIsNoMember(t *testing.T) {
	members := etcdtest.StartCluster(t, 1, nil)
	m := connect(t, etcd.Config{Endpoints: endpoints(members)}).Membership(time.Minute)
	stays := etcdtest.Join(t, m, "stays")
	dies := etcdtest.Spawn(t, "member", members[0].Client+" dies 1m")
	hangs := etcdtest.Spawn(t, "member", members[0].Client+" hangs 1m")
	stays.Sees(t, "dies hangs stays")
	require.Equal(t, "joined", dies.Line(t))
	require.Equal(t, "joined", hangs.Line(t))

	dies.Kill()
	suspend(t, hangs)
	client := rawClient(t, members)
	revoke(t, client, "dies")
	revoke(t, client, "hangs")
	stays.Sees(t, "stays")
	require.NoError(t, hangs.Process.Signal(syscall.SIGCONT))
	require.Contains(t, hangs.Line(t), etcd.ErrExpired.Error())
}

func TestAMemberOutlivesAServer(t *testing.T) {
	servers := etcdtest.StartCluster(t, 3, nil)
	m := connect(t, etcd.Config{Endpoints: endpoints(servers)}).Membership(0)
	a := etcdtest.Join(t, m, "a")
	a.Sees(t, "a")
	for _, server := range servers {
		server.Kill()
		b := etcdtest.Join(t, m, "b of "+server.Name)
		a.Sees(t, "a b of "+server.Name)
		b.Leave()
		a.Sees(t, "a")
		server.Start(t)
		server.Ready(t)
	}
	requireAlive(t, m, "a", true)
}

// named joins with a name until the test ends or the membership is lost, and returns the channel of the error, nil at
// first if it has joined.
func named(t *testing.T, m *etcd.Membership, id, name string) <-chan error {
	t.Helper()
	ended := make(chan error, 2)
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() {
		joined := false
		for _, err := range m.Join(ctx, conductor.Member{ID: id, Hostname: name}) {
			if !joined || err != nil {
				ended <- err
			}
			joined = true
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return ended
}

func TestAMemberNameBelongsToOneLiveMember(t *testing.T) {
	members := etcdtest.StartCluster(t, 1, nil)
	join := func(id, name string) <-chan error {
		s := connect(t, etcd.Config{Endpoints: endpoints(members)})
		return named(t, s.Membership(0), id, name)
	}
	first := join("a", "alpha")
	require.NoError(t, <-first)
	require.NoError(t, <-join("b", "beta"))
	require.ErrorIs(t, <-join("c", "alpha"), conductor.ErrNameTaken)
	require.Empty(t, first, "the first one stays")
}

func TestAProcessThatStartsAgainGetsItsNameWhenTheLeaseOfTheDeadOneHasEnded(t *testing.T) {
	members := etcdtest.StartCluster(t, 1, nil)
	log := &noticed{slog.DiscardHandler, make(chan string, 10_000)}
	s := connect(t, etcd.Config{Endpoints: endpoints(members), Log: slog.New(log)})
	dies := etcdtest.Spawn(t, "member", members[0].Client+" dies 6s")
	require.Equal(t, "joined", dies.Line(t))
	dies.Kill()
	require.NoError(t, <-named(t, s.Membership(0), "again", "dies"))
	waits := 0
	for len(log.messages) > 0 {
		if strings.Contains(<-log.messages, "has the name of this conductor") {
			waits++
		}
	}
	require.Equal(t, 1, waits)
	requireAlive(t, s.Membership(0), "dies", false)
}

// beMember is the role "member", whose argument has the URL of a server, an ID and the TTL of a lease: the process
// joins until it loses its membership.
func beMember(arg string) error {
	fields := strings.Fields(arg)
	ttl, err := time.ParseDuration(fields[2])
	if err != nil {
		return err
	}
	s, err := etcd.Open(context.Background(), etcd.Config{Endpoints: fields[:1]})
	if err != nil {
		return err
	}
	return etcdtest.BeMember(s.Membership(ttl), fields[1])
}

// revoke ends the lease of the member with a name, as etcd does when it has expired.
func revoke(t *testing.T, client *clientv3.Client, name string) {
	t.Helper()
	found, err := client.Get(t.Context(), "/ironstate/v1/names/"+name)
	require.NoError(t, err)
	require.Len(t, found.Kvs, 1)
	_, err = client.Revoke(t.Context(), clientv3.LeaseID(found.Kvs[0].Lease))
	require.NoError(t, err)
}
