// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/internal/latest"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/machine"
)

// server is a scripted etcd. A function that is nil fails the test.
type server struct {
	clientv3.KV
	clientv3.Lease
	clientv3.Watcher
	keepAlive func(context.Context) error
	revoke    func() error
	get       func(clientv3.Op) (*clientv3.GetResponse, error)
	watch     func(ctx context.Context, from int64) clientv3.WatchChan
	remove    func(key string)
	remains   func(clientv3.LeaseID) (left, ttl int64, err error)
	term      uint64
	succeeds  bool // of the next transaction
}

func (*server) Close() error { return nil }

func (s *server) Grant(_ context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	return &clientv3.LeaseGrantResponse{ID: 7, TTL: ttl}, nil
}

func (s *server) KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	return &clientv3.LeaseKeepAliveResponse{ID: id}, s.keepAlive(ctx)
}

func (s *server) Revoke(context.Context, clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	return &clientv3.LeaseRevokeResponse{}, s.revoke()
}

func (s *server) TimeToLive(_ context.Context, id clientv3.LeaseID, _ ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error) {
	left, ttl, err := s.remains(id)
	header := &etcdserverpb.ResponseHeader{RaftTerm: s.term}
	return &clientv3.LeaseTimeToLiveResponse{ResponseHeader: header, TTL: left, GrantedTTL: ttl}, err
}

func (s *server) Get(_ context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return s.get(clientv3.OpGet(key, options...))
}

func (s *server) Delete(_ context.Context, key string, _ ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	s.remove(key)
	return &clientv3.DeleteResponse{}, nil
}

func (s *server) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	op := clientv3.OpGet(key, options...)
	return s.watch(ctx, op.Rev())
}

func (s *server) Txn(context.Context) clientv3.Txn { return transaction{s} }

type transaction struct{ *server }

func (t transaction) If(...clientv3.Cmp) clientv3.Txn  { return t }
func (t transaction) Then(...clientv3.Op) clientv3.Txn { return t }
func (t transaction) Else(...clientv3.Op) clientv3.Txn { return t }
func (t transaction) Commit() (*clientv3.TxnResponse, error) {
	return &clientv3.TxnResponse{Header: &etcdserverpb.ResponseHeader{}, Succeeded: t.succeeds}, nil
}

// scripted returns a store on a server, and its log.
func scripted(t *testing.T, s *server) (*Store, *bytes.Buffer) {
	var log bytes.Buffer
	store, err := newStore("", slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	store.client = &clientv3.Client{KV: s, Lease: s, Watcher: s}
	store.stop = func() error { return nil }
	return store, &log
}

// leased returns a lease that was renewed now.
func leased(s *server, ttl time.Duration) *lease {
	l := &lease{client: &clientv3.Client{Lease: s}, id: 7, key: "/ironstate/v1/members/a", ttl: ttl}
	l.renewed.Store(new(time.Now()))
	return l
}

func TestTheTTLOfALeaseIsAtLeastTwoSeconds(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		0: 10 * time.Second, 1: 2 * time.Second, time.Second: 2 * time.Second, 3 * time.Second: 3 * time.Second,
	} {
		require.Equal(t, want, (&Store{}).Membership(given).ttl)
	}
}

func TestNobodyJoinsWithATTLBelowZero(t *testing.T) {
	store, _ := scripted(t, &server{})
	var errs []error
	for _, err := range store.Membership(-5*time.Second).Join(t.Context(), conductor.Member{ID: "a", Hostname: "alpha"}) {
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	var refused *machine.ConfigError
	require.ErrorAs(t, errs[0], &refused)
	require.EqualError(t, refused, "etcd: TTL is -5s: want 0 or more")
}

func TestAMembershipIsLostTwoThirdsOfTheTTLAfterItsLastRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := (&Store{}).Membership(0)
		require.False(t, m.Holds("a"))
		m.leases.Store("a", leased(nil, 6*time.Second))
		require.True(t, m.Holds("a"))
		bubble.Sleep(4*time.Second - time.Nanosecond)
		require.True(t, m.Holds("a"))
		bubble.Sleep(time.Nanosecond)
		require.False(t, m.Holds("a"))
	})
}

func TestALeaseIsRenewedFiveTimesPerTTL(t *testing.T) {
	down := errors.New("no leader")
	for name, test := range map[string]struct {
		renewal func(ctx context.Context, attempt int) error
		want    []time.Duration // the renewals
		end     time.Duration
		err     error
	}{
		"until the membership ends": {
			func(_ context.Context, attempt int) error {
				if attempt == 6 {
					return rpctypes.ErrLeaseNotFound
				}
				return nil
			},
			[]time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second, 8 * time.Second, 10 * time.Second, 12 * time.Second},
			12 * time.Second, ErrExpired,
		},
		"until the lease may have expired": {
			func(context.Context, int) error { return down },
			[]time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second, 20 * time.Second / 3}, 20 * time.Second / 3, ErrExpired,
		},
		"also after an error": {
			func(_ context.Context, attempt int) error {
				switch attempt {
				case 1:
					return down
				case 2:
					return nil
				}
				return rpctypes.ErrLeaseNotFound
			},
			[]time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second}, 6 * time.Second, ErrExpired,
		},
		"also after one without an answer": {
			func(ctx context.Context, attempt int) error {
				if attempt == 1 {
					<-ctx.Done()
					return ctx.Err()
				}
				return rpctypes.ErrLeaseNotFound
			},
			[]time.Duration{2 * time.Second, 6 * time.Second}, 6 * time.Second, ErrExpired,
		},
		"until the lease may have expired since the last renewal was sent": {
			func(ctx context.Context, attempt int) error {
				if attempt > 1 {
					return down
				}
				sleep.For(ctx, time.Second)
				return nil
			},
			[]time.Duration{2 * time.Second, 5 * time.Second, 7 * time.Second, 26 * time.Second / 3}, 26 * time.Second / 3, ErrExpired,
		},
		"until the caller ends": {
			func(context.Context, int) error { return nil },
			[]time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second, 8 * time.Second, 10 * time.Second, 12 * time.Second,
				14 * time.Second}, 15 * time.Second, context.DeadlineExceeded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				begin, renewals := time.Now(), []time.Duration(nil)
				s := &server{keepAlive: func(ctx context.Context) error {
					renewals = append(renewals, time.Since(begin))
					return test.renewal(ctx, len(renewals))
				}}
				err := leased(s, 10*time.Second).keep(ctx)
				require.Equal(t, test.err, err)
				require.Equal(t, test.want, renewals)
				require.Equal(t, test.end, time.Since(begin))
			})
		})
	}
}

func TestTheLeaseOfAMemberThatIsRefusedIsRevoked(t *testing.T) {
	revoked := 0
	s, _ := scripted(t, &server{revoke: func() error { revoked++; return nil },
		get: func(clientv3.Op) (*clientv3.GetResponse, error) { return &clientv3.GetResponse{}, nil }})
	_, err := s.Membership(0).register(t.Context(), conductor.Member{ID: "a"})
	require.ErrorIs(t, err, ErrMember)
	require.Equal(t, 1, revoked)
}

func TestALeaseThatIsNotRevokedIsLogged(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		logged bool
	}{
		"revoked":         {nil, false},
		"already expired": {rpctypes.ErrLeaseNotFound, false},
		"no answer":       {errors.New("no answer"), true},
	} {
		t.Run(name, func(t *testing.T) {
			server := &server{revoke: func() error { return test.err }}
			s, log := scripted(t, server)
			s.Membership(0).leave(t.Context(), &lease{client: s.client, key: "/ironstate/v1/members/a"})
			require.Equal(t, test.logged, bytes.Contains(log.Bytes(), []byte(
				`level=WARN msg="the lease of a leaving member could not be revoked and will expire" key=/ironstate/v1/members/a error="no answer"`)))
			require.Equal(t, test.logged, log.Len() > 0)
		})
	}
}

func TestAMembershipOfAClosedStoreEnds(t *testing.T) {
	s, _ := scripted(t, &server{})
	require.NoError(t, s.Close())
	for _, err := range s.Membership(0).members(t.Context(), leased(nil, time.Minute)) {
		require.ErrorIs(t, err, ErrClosed)
	}
}

func TestAMembershipEndsWhenItsWatchHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := scripted(t, &server{
			get: func(clientv3.Op) (*clientv3.GetResponse, error) {
				return &clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{Revision: 1}, Kvs: []*mvccpb.KeyValue{member("a", `{"id":"a"}`)}}, nil
			},
			watch: func(ctx context.Context, _ int64) clientv3.WatchChan {
				changes := make(chan clientv3.WatchResponse)
				context.AfterFunc(ctx, func() {
					time.Sleep(time.Second)
					close(changes)
				})
				return changes
			},
		})
		begin := time.Now()
		for members, err := range s.Membership(0).members(t.Context(), leased(nil, time.Minute)) {
			require.NoError(t, err)
			require.Len(t, members, 1)
			synctest.Wait() // the watch has begun
			break
		}
		require.Equal(t, time.Second, time.Since(begin))
	})
}

// member is the key of a member with a value.
func member(id, value string) *mvccpb.KeyValue {
	return &mvccpb.KeyValue{Key: []byte("/ironstate/v1/members/" + id), Value: []byte(value)}
}

// events is a change of the members' keys.
func events(all ...*clientv3.Event) clientv3.WatchResponse {
	return clientv3.WatchResponse{Events: all}
}

func TestMembersFollowTheKeysUntilTheOwnKeyIsGone(t *testing.T) {
	put := func(id, value string) *clientv3.Event {
		return &clientv3.Event{Type: clientv3.EventTypePut, Kv: member(id, value)}
	}
	remove := func(id string) *clientv3.Event {
		return &clientv3.Event{Type: clientv3.EventTypeDelete, Kv: member(id, "")}
	}
	a, b := member("a", `{"id":"a"}`), member("b", `{"id":"b"}`)
	for name, test := range map[string]struct {
		at     []*mvccpb.KeyValue
		events []clientv3.WatchResponse
		err    error
		says   string
		last   string // IDs of the last list
	}{
		"no own key":              {at: []*mvccpb.KeyValue{b}, err: ErrExpired},
		"a value that is no JSON": {at: []*mvccpb.KeyValue{member("b", "{"), a}, err: errFormat},
		"one joins": {at: []*mvccpb.KeyValue{a}, events: []clientv3.WatchResponse{events(put("b", `{"id":"b"}`))},
			says: "the watch has ended", last: "ab"},
		"one leaves": {at: []*mvccpb.KeyValue{a, b}, events: []clientv3.WatchResponse{events(remove("b"))},
			says: "the watch has ended", last: "a"},
		"the own key is removed": {at: []*mvccpb.KeyValue{b, a},
			events: []clientv3.WatchResponse{events(remove("a")), events(remove("b"))}, err: ErrExpired, last: "ab"},
		"one joins without a JSON": {at: []*mvccpb.KeyValue{a}, events: []clientv3.WatchResponse{events(put("b", "}"))},
			err: errFormat, last: "a"},
		"the watch is compacted": {
			at: []*mvccpb.KeyValue{a}, events: []clientv3.WatchResponse{{CompactRevision: 9, Canceled: true}, events(put("b", `{"id":"b"}`))},
			err: rpctypes.ErrCompacted, last: "a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var watched context.Context
			s, _ := scripted(t, &server{
				get: func(clientv3.Op) (*clientv3.GetResponse, error) {
					return &clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{Revision: 41}, Kvs: test.at}, nil
				},
				watch: func(ctx context.Context, from int64) clientv3.WatchChan {
					require.EqualValues(t, 42, from, "the first revision after the list's")
					watched = ctx
					changes := make(chan clientv3.WatchResponse, len(test.events))
					for _, e := range test.events {
						changes <- e
					}
					close(changes)
					return changes
				},
			})
			members := latest.New(func(_, _ []conductor.Member) int { return 0 })
			err := s.Membership(0).followOnce(t.Context(), leased(nil, time.Minute), members)
			if test.says != "" {
				require.EqualError(t, err, test.says)
			} else {
				require.ErrorIs(t, err, test.err)
			}
			if watched != nil {
				require.Error(t, watched.Err(), "the watch is ended")
			}
			members.Fail(err)
			last := ""
			for list, err := range members.All(t.Context()) {
				if err != nil {
					break
				}
				last = ""
				for _, m := range list {
					last += m.ID
				}
			}
			require.Equal(t, test.last, last)
		})
	}
}

func TestAListOfMembersThatLastsEndsTheMembership(t *testing.T) {
	for name, test := range map[string]struct {
		errs []error
		want error
		took time.Duration
	}{
		"a permission": {[]error{rpctypes.ErrPermissionDenied}, rpctypes.ErrPermissionDenied, 0},
		"after an error that ends": {[]error{rpctypes.ErrNoLeader, rpctypes.ErrPermissionDenied}, rpctypes.ErrPermissionDenied,
			500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, log := scripted(t, &server{get: func(clientv3.Op) (*clientv3.GetResponse, error) {
					err := test.errs[0]
					test.errs = test.errs[1:]
					return nil, err
				}})
				begin := time.Now()
				members := latest.New(func(_, _ []conductor.Member) int { return 0 })
				s.Membership(0).follow(t.Context(), leased(nil, time.Minute), members)
				for _, err := range members.All(t.Context()) {
					require.ErrorIs(t, err, test.want)
				}
				require.Equal(t, test.took, time.Since(begin))
				require.Equal(t, test.took > 0,
					bytes.Contains(log.Bytes(), []byte(`msg="the watch of the members is interrupted and will be resumed"`)))
			})
		})
	}
}
