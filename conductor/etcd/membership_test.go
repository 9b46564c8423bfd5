package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
)

// joined is a member in a goroutine.
type joined struct {
	leave context.CancelFunc
	seen  chan string // receives the IDs of the members after each change
	ended chan error
}

func join(t *testing.T, m conductor.Membership, id string) *joined {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	j := &joined{leave: cancel, seen: make(chan string, 100), ended: make(chan error, 1)}
	var running sync.WaitGroup
	running.Go(func() {
		self := conductor.Member{ID: id, Hostname: "host of " + id, Drivers: []string{"fake-hardware"}}
		for members, err := range m.Join(ctx, self) {
			if err != nil {
				j.ended <- err
				return
			}
			j.seen <- ids(members)
		}
		j.ended <- nil
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return j
}

func ids(members []conductor.Member) string {
	var all []string
	for _, m := range members {
		all = append(all, m.ID)
	}
	return strings.Join(all, " ")
}

// sees waits until the member has seen these members.
func (j *joined) sees(t *testing.T, want string) {
	t.Helper()
	for {
		select {
		case got := <-j.seen:
			if got == want {
				return
			}
		case err := <-j.ended:
			require.Fail(t, "the member is out", "%v", err)
		case <-time.After(time.Minute):
			require.Fail(t, "the member never sees "+want)
		}
	}
}

func requireAlive(t *testing.T, m conductor.Membership, id string, want bool) {
	t.Helper()
	alive, err := m.Alive(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, want, alive)
}

func TestMembersJoinAndLeave(t *testing.T) {
	s := open(t, etcd.Config{Dir: t.TempDir()})
	m := s.Membership(0)
	a := join(t, m, "a")
	a.sees(t, "a")
	b := join(t, m, "b")
	b.sees(t, "a b")
	a.sees(t, "a b")
	c := join(t, m, "c")
	c.sees(t, "a b c")
	requireAlive(t, m, "b", true)
	require.True(t, m.Holds("b"))

	b.leave()
	require.NoError(t, <-b.ended)
	requireAlive(t, m, "b", false)
	require.False(t, m.Holds("b"))
	require.True(t, m.Holds("a"))
	a.sees(t, "a c")
	c.sees(t, "a c")

	again := join(t, m, "a")
	require.ErrorIs(t, <-again.ended, etcd.ErrMember)
	requireAlive(t, m, "a", true)

	for _, id := range []string{"", "a/b"} {
		require.ErrorContains(t, <-join(t, m, id).ended, "is not an ID of a member")
	}
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-a.ended, etcd.ErrClosed)
	_, err := m.Alive(t.Context(), "a")
	require.ErrorIs(t, err, etcd.ErrClosed)
}

func TestALeaseIsRenewed(t *testing.T) {
	t.Parallel()
	s := open(t, etcd.Config{Dir: t.TempDir()})
	const ttl = 3 * time.Second
	a := join(t, s.Membership(ttl), "a")
	a.sees(t, "a")
	time.Sleep(ttl * 3 / 2)
	join(t, s.Membership(0), "b").sees(t, "a b")
	a.sees(t, "a b")
}

func TestMembersAreYieldedWithAllFields(t *testing.T) {
	s := open(t, etcd.Config{Dir: t.TempDir()})
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

// The proxy cuts off all requests of the member.
func TestAMemberThatIsCutOffLosesItsMembershipBeforeTheOthersSeeIt(t *testing.T) {
	members := startCluster(t, 1, nil)
	direct := open(t, etcd.Config{Endpoints: endpoints(members)}).Membership(3 * time.Second)
	way := startProxy(t, members[0].Client[len("http://"):])
	cut := open(t, etcd.Config{Endpoints: []string{"http://" + way.listener.Addr().String()}}).Membership(3 * time.Second)

	stays := join(t, direct, "stays")
	goes := join(t, cut, "goes")
	goes.sees(t, "goes stays")
	stays.sees(t, "goes stays")
	way.set(true)

	require.Eventually(t, func() bool { return !cut.Holds("goes") }, time.Minute, time.Millisecond)
	require.ErrorIs(t, <-goes.ended, etcd.ErrExpired)
	requireAlive(t, direct, "goes", true)
	stays.sees(t, "stays")
	requireAlive(t, direct, "goes", false)
}

func TestAProcessThatDiesOrHangsIsNoMember(t *testing.T) {
	members := startCluster(t, 1, nil)
	m := open(t, etcd.Config{Endpoints: endpoints(members)}).Membership(2 * time.Second)
	stays := join(t, m, "stays")
	dies := spawn(t, "member", members[0].Client+" dies")
	hangs := spawn(t, "member", members[0].Client+" hangs")
	stays.sees(t, "dies hangs stays")
	require.Equal(t, "joined", dies.line(t))
	require.Equal(t, "joined", hangs.line(t))

	dies.kill()
	require.NoError(t, hangs.Process.Signal(syscall.SIGSTOP))
	stays.sees(t, "stays")
	require.NoError(t, hangs.Process.Signal(syscall.SIGCONT))
	require.Contains(t, hangs.line(t), etcd.ErrExpired.Error())
}

func TestAMemberOutlivesAServer(t *testing.T) {
	servers := startCluster(t, 3, nil)
	m := open(t, etcd.Config{Endpoints: endpoints(servers)}).Membership(0)
	a := join(t, m, "a")
	a.sees(t, "a")
	for _, server := range servers {
		server.kill()
		b := join(t, m, "b of "+server.Name)
		a.sees(t, "a b of "+server.Name)
		b.leave()
		a.sees(t, "a")
		server.start(t)
		server.ready(t)
	}
	requireAlive(t, m, "a", true)
}

func TestTheMembersOfAFolderAreThoseOfTheProcess(t *testing.T) {
	dir := t.TempDir()
	member := spawn(t, "member", dir+" before")
	require.Equal(t, "joined", member.line(t))
	member.kill()

	m := open(t, etcd.Config{Dir: dir}).Membership(0)
	requireAlive(t, m, "before", false)
	join(t, m, "now").sees(t, "now")
}

// beMember is the role "member": the process joins until it loses its membership.
func beMember(arg string) error {
	where, id, _ := strings.Cut(arg, " ")
	config := etcd.Config{Dir: where}
	if strings.HasPrefix(where, "http") {
		config = etcd.Config{Endpoints: []string{where}}
	}
	s, err := etcd.Open(context.Background(), config)
	if err != nil {
		return err
	}
	go func() {
		untilParentEnds()
		os.Exit(0)
	}()
	joined := false
	for _, err := range s.Membership(2*time.Second).Join(context.Background(), conductor.Member{ID: id}) {
		if err != nil {
			return err
		}
		if !joined {
			fmt.Println("joined")
			joined = true
		}
	}
	return errors.New("the membership has ended without an error")
}
