// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
)

func TestOnlyReadsOfASingleServerAreSerializable(t *testing.T) {
	for _, single := range []bool{true, false} {
		s := &Store{single: single}
		op := clientv3.OpGet("a", s.readOptions(clientv3.WithRev(7))...)
		require.Equal(t, single, op.IsSerializable())
		require.EqualValues(t, 7, op.Rev())
	}
}

func TestReadsOfAServerOfAClusterInThisProcessWaitForTheCluster(t *testing.T) {
	for name, test := range map[string]struct {
		local, single bool
		err           error
		calls         int
	}{
		"a server of a cluster":     {true, false, rpctypes.ErrNoLeader, 3},
		"a single server":           {true, true, rpctypes.ErrNoLeader, 1},
		"remote servers":            {false, false, rpctypes.ErrNoLeader, 1},
		"an error that is no delay": {true, false, rpctypes.ErrPermissionDenied, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, begin := 0, time.Now()
				_, err := retryRead(t.Context(), &Store{local: test.local, single: test.single}, func() (int, error) {
					if calls++; calls == 3 {
						return 0, nil
					}
					return 0, test.err
				})
				require.Equal(t, test.calls, calls)
				require.Equal(t, test.calls == 3, err == nil)
				require.Equal(t, time.Duration(calls-1)*100*time.Millisecond, time.Since(begin))
			})
		})
	}
}

func TestCloseWaitsForTheRequestsThatItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := scripted(t, &server{})
		stopped := false
		s.stop = func() error { stopped = true; return nil }
		ctx, done, err := s.begin(t.Context())
		require.NoError(t, err)
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		require.ErrorIs(t, context.Cause(ctx), ErrClosed)
		require.False(t, stopped)
		done()
		require.NoError(t, <-closed)
		require.True(t, stopped)
	})
}

func TestARequestThatHasEndedTakesNoMemory(t *testing.T) {
	const requests, bytesARequest = 5000, 20
	s, _ := scripted(t, &server{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	least := int64(math.MaxInt64) // of several runs, since other goroutines use the heap as well
	for range 5 {
		before := heap()
		for range requests {
			_, done, err := s.begin(ctx)
			require.NoError(t, err)
			done()
		}
		least = min(least, heap()-before)
	}
	require.Less(t, least, int64(requests*bytesARequest))
	runtime.KeepAlive(s)
}

// TestOpeningAClusterKeepsItsMembers deletes only the members of a single server in this process, which belong to
// an earlier process.
func TestOpeningAClusterKeepsItsMembers(t *testing.T) {
	broken := errors.New("no answer")
	for name, test := range map[string]struct {
		single  bool
		err     error
		deleted bool
	}{
		"a cluster":                      {false, nil, false},
		"a single server":                {true, nil, true},
		"a single server without answer": {true, broken, false},
	} {
		t.Run(name, func(t *testing.T) {
			var deleted []string
			s, _ := scripted(t, &server{
				get:    func(clientv3.Op) (*clientv3.GetResponse, error) { return &clientv3.GetResponse{}, test.err },
				remove: func(key string) { deleted = append(deleted, key) },
			})
			s.single = test.single
			require.ErrorIs(t, s.prepare(t.Context()), test.err)
			if test.deleted {
				require.Equal(t, []string{"/ironstate/v1/members/", "/ironstate/v1/names/"}, deleted)
			} else {
				require.Empty(t, deleted)
			}
		})
	}
}

// TestAConnectionIsLostAndMadeAgainWithinALease relates the times of a client: etcd's servers forbid keep-alives within
// 5 s, a server that hangs is left before a lease has ended twice, and it is tried again several times per second.
func TestAConnectionIsLostAndMadeAgainWithinALease(t *testing.T) {
	require.GreaterOrEqual(t, keepAlive, 5*time.Second)
	require.GreaterOrEqual(t, keepAliveTimeout, time.Second)
	require.LessOrEqual(t, keepAlive+keepAliveTimeout, 2*DefaultTTL)
	require.GreaterOrEqual(t, reconnect.BaseDelay, 10*time.Millisecond)
	require.LessOrEqual(t, reconnect.MaxDelay, DefaultTTL/5)
	require.GreaterOrEqual(t, loginTimeout, keepAliveTimeout)
	require.LessOrEqual(t, loginTimeout, requestTimeout)
}

// TestPageSizeAdaptsToTheRecords reads more records than one page holds.
func TestPageSizeAdaptsToTheRecords(t *testing.T) {
	for name, test := range map[string]struct {
		size, records, limit int
		pages                []int64 // the requested numbers of records
	}{
		"small records":  {20, 40_000, 1 << 30, []int64{128, 16384, 16384, 16384}},
		"records of 1 K": {1000, 17_000, 1 << 30, []int64{128, 16384, 16384}},
		"records of 4 K": {4096, 9000, 1 << 30, []int64{128, 4095, 4095, 4095}},
		"huge records":   {17 << 20, 130, 1 << 30, []int64{128, 1, 1}},
		"a limit":        {4096, 9000, 4300, []int64{128, 4095, 77}},
		"a small limit":  {20, 200, 100, []int64{100}},
	} {
		t.Run(name, func(t *testing.T) {
			value := append([]byte("{\"format\":1}\n"), make([]byte, test.size-len("{\"format\":1}\n"))...)
			var pages []int64
			sent := 0
			s, _ := scripted(t, &server{get: func(op clientv3.Op) (*clientv3.GetResponse, error) {
				pages = append(pages, op.Limit())
				begin := "/ironstate/v1/records/nodes/"
				if sent > 0 {
					begin += fmt.Sprintf("%06d\x00", sent-1)
				}
				require.Equal(t, begin, string(op.KeyBytes()))
				answer := &clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{Revision: int64(100 + len(pages))}}
				for range min(int(op.Limit()), test.records-sent) {
					answer.Kvs = append(answer.Kvs, &mvccpb.KeyValue{Key: fmt.Appendf(nil, "/ironstate/v1/records/nodes/%06d", sent), Value: value})
					sent++
				}
				answer.More = sent < test.records
				return answer, nil
			}})
			got := 0
			err := s.scan(t.Context(), "nodes", "", test.limit, nil, func(r conductor.Record) {
				require.Equal(t, fmt.Sprintf("%06d", got), r.ID)
				got++
			})
			require.NoError(t, err)
			require.Equal(t, min(test.records, test.limit), got)
			require.Equal(t, test.pages, pages)
		})
	}
}

func TestAWatchReturnsWhenItHasReleasedItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := scripted(t, &server{
			get: func(clientv3.Op) (*clientv3.GetResponse, error) {
				return &clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{Revision: 1}}, nil
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
		for change, err := range s.Watch(t.Context(), "nodes") {
			require.NoError(t, err)
			require.True(t, change.Synced)
			synctest.Wait()
			break
		}
		require.Equal(t, time.Second, time.Since(begin))
	})
}

// TestAWatchGoesOnAfterTheLastRevisionThatItHasSeen ends the first watch of etcd after a notification of progress and
// the second after a change, and answers at last that its revision is compacted.
func TestAWatchGoesOnAfterTheLastRevisionThatItHasSeenUntilThatIsCompacted(t *testing.T) {
	for name, single := range map[string]bool{"a single server": true, "a cluster": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const prefix = "/ironstate/v1/records/nodes/"
				record := func(id string, revision int64) *mvccpb.KeyValue {
					return &mvccpb.KeyValue{Key: []byte(prefix + id), Value: []byte("{\"format\":1}\n{}"), ModRevision: revision}
				}
				var stored []*mvccpb.KeyValue
				reads := 0 // of a single server's revision, which is readable
				var readable atomic.Int64
				var from []int64
				var at []time.Duration
				var watches []context.Context
				open := 0 // the watches that are left when the next one begins
				begin := time.Now()
				s, log := scripted(t, &server{
					get: func(op clientv3.Op) (*clientv3.GetResponse, error) {
						answer := &clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{Revision: 40}, Kvs: stored}
						switch {
						case op.IsCountOnly() && op.IsSerializable():
							reads++
							answer.Header.Revision = readable.Add(11)
						case op.IsCountOnly():
							answer.Header.Revision = 10
						}
						return answer, nil
					},
					watch: func(ctx context.Context, revision int64) clientv3.WatchChan {
						for _, earlier := range watches {
							if earlier.Err() == nil {
								open++
							}
						}
						from, at, watches = append(from, revision), append(at, time.Since(begin)), append(watches, ctx)
						changes := make(chan clientv3.WatchResponse, 3)
						switch len(from) {
						case 1:
							stored = append(stored, record("a", 12))
							changes <- events(&clientv3.Event{Kv: stored[0]})
							changes <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 20}}
							close(changes)
						case 2:
							stored = append(stored, record("c", 23))
							changes <- events(&clientv3.Event{Kv: stored[1]})
							close(changes)
						default:
							changes <- events(&clientv3.Event{Kv: record("b", 33)})
							changes <- clientv3.WatchResponse{CompactRevision: 35, Canceled: true}
							close(changes)
						}
						return changes
					},
				})
				s.single = single
				var seen []string
				var ended error
				for change, err := range s.Watch(t.Context(), "nodes") {
					if ended = err; err != nil {
						continue
					}
					if single && !change.Synced {
						require.GreaterOrEqual(t, readable.Load(), change.Record.Revision, "a read sees the change")
					}
					seen = append(seen, change.Record.ID)
				}
				require.ElementsMatch(t, []string{"", "a", "c", "b"}, seen)
				require.ErrorIs(t, ended, rpctypes.ErrCompacted, "it may have lost a deletion")
				require.Equal(t, []int64{11, 21, 24}, from)
				require.Equal(t, single, reads > 0)
				first := 500 * time.Millisecond
				if single {
					first += 100 * time.Microsecond // the first read does not see the change yet
				}
				require.Equal(t, []time.Duration{0, first, first + 500*time.Millisecond}, at)
				for _, revision := range []string{"21", "24"} {
					require.Equal(t, 1, strings.Count(log.String(), `msg="a watch is interrupted and will be resumed" kind=nodes revision=`+revision),
						log.String())
				}
				require.Zero(t, open, "a watch ends before the next one begins")
				for _, watch := range watches {
					require.Error(t, watch.Err(), "no watch is left")
				}
			})
		})
	}
}

// TestAWriteReadsAgainWhatOneServerOfAClusterMayNotHaveYet reads the record of revision 5.
func TestAWriteReadsAgainWhatOneServerOfAClusterMayNotHaveYet(t *testing.T) {
	broken := errors.New("no answer")
	for name, test := range map[string]struct {
		single bool
		near   int64 // the record's revision as one server reads it, 0 for none
		err    error
		far    int64 // as the cluster reads it
		want   error
		reads  int
	}{
		"a cluster":                     {false, 5, nil, 9, nil, 1},
		"a server that is behind":       {false, 4, nil, 5, nil, 2},
		"a server without the record":   {false, 0, nil, 5, nil, 2},
		"a record that has changed":     {false, 6, nil, 6, conductor.ErrConflict, 2},
		"a record that was deleted":     {false, 4, nil, 0, conductor.NotFound, 2},
		"a server that fails":           {false, 0, broken, 5, broken, 1},
		"a single server":               {true, 5, nil, 9, nil, 1},
		"a change on a single server":   {true, 6, nil, 5, conductor.ErrConflict, 1},
		"a deletion on a single server": {true, 0, nil, 5, conductor.NotFound, 1},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			s, _ := scripted(t, &server{get: func(op clientv3.Op) (*clientv3.GetResponse, error) {
				reads++
				require.Equal(t, reads == 1, op.IsSerializable())
				revision := test.far
				if op.IsSerializable() {
					if test.err != nil {
						return nil, test.err
					}
					revision = test.near
				}
				answer := &clientv3.GetResponse{}
				if revision > 0 {
					answer.Kvs = []*mvccpb.KeyValue{{Key: []byte("/ironstate/v1/records/nodes/a"), Value: []byte("{\"format\":1}\n{}"),
						ModRevision: revision}}
				}
				return answer, nil
			}})
			s.single = test.single
			r, err := s.current(t.Context(), conductor.Record{Kind: "nodes", ID: "a", Revision: 5})
			require.ErrorIs(t, err, test.want)
			require.Equal(t, test.reads, reads)
			if err == nil {
				require.Equal(t, conductor.Record{Kind: "nodes", ID: "a", Revision: 5, Value: []byte("{}")}, r)
			}
		})
	}
}

func TestTheKeysOfARecordAreUnique(t *testing.T) {
	require.Equal(t, []string{"a", "b"}, uniqueKeys(conductor.Record{ID: "id", Keys: []string{"b", "id", "a", "b"}}))
}
