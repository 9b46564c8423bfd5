// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
)

// pull returns a function that returns the next change of a watch.
func pull(changes iter.Seq2[conductor.Change, error]) (next func(t *testing.T) conductor.Change, stop func()) {
	pull, stop := iter.Pull2(changes)
	return func(t *testing.T) conductor.Change {
		t.Helper()
		change, err, ok := pull()
		require.NoError(t, err)
		require.True(t, ok, "the watch has ended")
		return change
	}, stop
}

// proxy is a TCP proxy to a server whose connections can be cut.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, target: target, conns: make(map[net.Conn]bool)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.forward(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.set(true)
		running.Wait()
	})
	return p
}

// set cuts all connections, or lets new ones through again.
func (p *proxy) set(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	for conn := range p.conns {
		if cut {
			_ = conn.Close()
		}
	}
}

// add registers a connection, or closes it and returns false while the proxy is cut.
func (p *proxy) add(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		_ = conn.Close()
		return false
	}
	p.conns[conn] = true
	return true
}

func (p *proxy) forward(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	if !p.add(client) || !p.add(server) {
		_ = client.Close()
		_ = server.Close()
		return
	}
	var running sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		running.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = client.Close()
			_ = server.Close()
		})
	}
	running.Wait()
}

func TestAWatchThatWasCutOffYieldsTheChangesThatItHasMissedOrEndsWithAnError(t *testing.T) {
	members := etcdtest.StartCluster(t, 1, nil)
	direct := connect(t, etcd.Config{Endpoints: endpoints(members)})
	for name, compacted := range map[string]bool{"what it missed is in the history": false, "the history is compacted": true} {
		t.Run(name, func(t *testing.T) {
			way := startProxy(t, members[0].Client[len("http://"):])
			cut := connect(t, etcd.Config{Endpoints: []string{"http://" + way.listener.Addr().String()}})
			records := make(map[string]conductor.Record)
			for _, id := range []string{"stays", "changes", "goes", "goes and comes"} {
				records[id] = etcdtest.Create(t, direct, id, "name="+id)
			}
			next, stop := iter.Pull2(cut.Watch(t.Context(), etcdtest.Kind))
			defer stop()
			for range len(records) + 1 {
				change, err, _ := next()
				require.NoError(t, err)
				require.Equal(t, records[change.Record.ID], change.Record)
			}

			way.set(true)
			want := changeMeanwhile(t, direct, records)
			if compacted {
				compact(t, members)
			}
			way.set(false)
			if compacted {
				_, err, _ := next()
				require.ErrorIs(t, err, rpctypes.ErrCompacted, "a conductor may have in its index what was created and deleted meanwhile")
			}
			for told := make(map[string]conductor.Record); !compacted && len(told) < len(want); {
				change, err, _ := next()
				require.NoError(t, err)
				if change.Deleted && change.Record.ID == "goes and comes" {
					continue
				}
				told[change.Record.ID] = change.Record
				require.Equal(t, change.Record.ID == "goes", change.Deleted)
				require.Equal(t, want[change.Record.ID], change.Record)
			}

			last := etcdtest.Create(t, direct, "created at last")
			change, err, goesOn := next()
			require.NoError(t, err)
			require.Equal(t, !compacted, goesOn)
			if goesOn {
				require.Equal(t, last, change.Record)
			}
			for _, r := range []conductor.Record{want["changes"], want["goes and comes"], want["comes"], records["stays"], last} {
				_, err := direct.Delete(t.Context(), etcdtest.Kind, r.ID, r.Revision)
				require.NoError(t, err)
			}
		})
	}
}

// changeMeanwhile changes records and returns what a watch must yield.
func changeMeanwhile(t *testing.T, s conductor.Store, records map[string]conductor.Record) map[string]conductor.Record {
	t.Helper()
	changed := records["changes"]
	changed.Value = []byte("changed")
	var err error
	changed.Revision, err = s.Update(t.Context(), changed)
	require.NoError(t, err)
	gone, err := s.Delete(t.Context(), etcdtest.Kind, "goes", records["goes"].Revision)
	require.NoError(t, err)
	_, err = s.Delete(t.Context(), etcdtest.Kind, "goes and comes", records["goes and comes"].Revision)
	require.NoError(t, err)
	return map[string]conductor.Record{
		"changes":        changed,
		"goes":           {Kind: etcdtest.Kind, ID: "goes", Revision: gone},
		"goes and comes": etcdtest.Create(t, s, "goes and comes"),
		"comes":          etcdtest.Create(t, s, "comes"),
	}
}

// compact deletes the history of all keys.
func compact(t *testing.T, members []*etcdtest.Member) {
	t.Helper()
	client := rawClient(t, members)
	now, err := client.Get(t.Context(), "/", clientv3.WithCountOnly())
	require.NoError(t, err)
	_, err = client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical())
	require.NoError(t, err)
}

func TestACounterIsRightAfterServersWereKilled(t *testing.T) {
	members := etcdtest.StartCluster(t, 3, nil)
	s := connect(t, etcd.Config{Endpoints: endpoints(members)})
	counter := conductor.Record{Kind: etcdtest.Kind, ID: "counter", Value: []byte("0")}
	_, err := s.Create(t.Context(), counter)
	require.NoError(t, err)
	next, stop := pull(s.Watch(t.Context(), etcdtest.Kind))
	defer stop()

	const each = 30
	count := 0
	add := func() {
		for range each {
			count++
			increment(t, s, count)
		}
	}
	for _, m := range members {
		m.Kill()
		add()
		m.Start(t)
		m.Ready(t)
	}
	for _, m := range members {
		m.Kill()
	}
	for _, m := range members {
		m.Start(t)
	}
	add()
	require.Equal(t, 4*each, count)
	for last := ""; last != strconv.Itoa(count); {
		if change := next(t); !change.Synced {
			last = string(change.Record.Value)
		}
	}
}

// increment increments the counter to want. It allows for writes that are done although they return
// an error.
func increment(t *testing.T, s conductor.Store, want int) {
	t.Helper()
	for {
		r, err := s.Get(t.Context(), etcdtest.Kind, "counter")
		if err != nil {
			continue
		}
		if string(r.Value) == strconv.Itoa(want) {
			return
		}
		require.Equal(t, strconv.Itoa(want-1), string(r.Value))
		r.Value = []byte(strconv.Itoa(want))
		_, err = s.Update(t.Context(), r)
		switch {
		case err == nil:
			return
		case errors.Is(err, conductor.NotFound), errors.Is(err, context.Canceled):
			require.NoError(t, err)
		}
	}
}

// noticed is a log handler that sends each message to a channel.
type noticed struct {
	slog.Handler
	messages chan string
}

func (n *noticed) Enabled(context.Context, slog.Level) bool { return true }

func (n *noticed) Handle(_ context.Context, r slog.Record) error {
	select {
	case n.messages <- r.Message:
	default:
	}
	return nil
}

func TestWatchesAreResumedAfterTheClusterHadNoLeader(t *testing.T) {
	servers := etcdtest.StartCluster(t, 3, nil)
	log := &noticed{slog.DiscardHandler, make(chan string, 10_000)}
	s := connect(t, etcd.Config{Endpoints: []string{servers[0].Client}, Log: slog.New(log)})
	r := etcdtest.Create(t, s, "a")
	next, stop := pull(s.Watch(t.Context(), etcdtest.Kind))
	defer stop()
	require.Equal(t, r, next(t).Record)
	require.True(t, next(t).Synced)
	member := etcdtest.Join(t, s.Membership(time.Minute), "stays")
	member.Sees(t, "stays")

	servers[1].Kill()
	servers[2].Kill()
	for interrupted := map[string]bool{}; len(interrupted) < 2; {
		if message := <-log.messages; strings.Contains(message, "is interrupted and will be resumed") {
			interrupted[message] = true
		}
	}
	servers[1].Start(t)
	servers[1].Ready(t)
	becomes(t, s, nil) // until then its requests are refused

	r = etcdtest.Create(t, s, "b")
	require.Equal(t, r, next(t).Record)
	etcdtest.Join(t, s.Membership(0), "comes").Sees(t, "comes stays")
	member.Sees(t, "comes stays")
}
