// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
)

func TestTheMajorityIsLostAfterSomeObservationsWithoutALeader(t *testing.T) {
	for limit := 1; limit < 5; limit++ {
		for missed := range limit + 1 {
			for flags := range 8 {
				before := health{missed: missed, lost: missed == limit, full: flags&4 != 0}
				o := observation{led: flags&1 != 0, full: flags&2 != 0}
				want := health{missed: min(missed+1, limit), lost: missed+1 >= limit, full: o.full}
				if o.led {
					want = health{full: o.full}
				}
				got := before.next(o, limit)
				require.Equal(t, want, got, "%+v %+v of %d", before, o, limit)

				err := got.err()
				require.Equal(t, got.lost, errors.Is(err, ErrNoMajority))
				require.Equal(t, got.full && !got.lost, errors.Is(err, ErrNoSpace))
				require.Equal(t, !got.full && !got.lost, err == nil)
			}
		}
	}
}

func TestARequestWithoutAMajorityIsRefusedOrEnds(t *testing.T) {
	m := newMonitor(slog.New(slog.DiscardHandler))
	m.limit = 1
	before, done, err := m.within(t.Context())
	require.NoError(t, err)
	defer done()
	require.NoError(t, before.Err())

	m.add(observation{})
	<-before.Done()
	require.Equal(t, ErrNoMajority, context.Cause(before))
	_, _, err = m.within(t.Context())
	require.Equal(t, ErrNoMajority, err)
	require.Equal(t, 503, conductor.HTTPStatus(err), "Ironic's clients repeat the request by themselves")
	require.Equal(t, 504, conductor.HTTPStatus(doubtfulError{}), "they must not")
	require.ErrorIs(t, doubtfulError{}, ErrNoMajority)

	m.add(observation{led: true})
	again, done, err := m.within(t.Context())
	require.NoError(t, err)
	require.NoError(t, again.Err())
	done()
	require.ErrorIs(t, again.Err(), context.Canceled)
	require.Equal(t, context.Canceled, context.Cause(again))
}

func TestTheLossOfTheMajorityAndItsReturnAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := newMonitor(slog.New(slog.NewTextHandler(&log, nil)))
		m.pause, m.limit = time.Second, 3
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begun, led := time.Now(), []bool{true, false, true, false, false, false, false, true, true}
		m.observe = func(context.Context) observation {
			next := led[0]
			if led = led[1:]; len(led) == 0 {
				cancel()
			}
			return observation{led: next}
		}
		m.run(ctx)
		require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
		require.Equal(t, 1, strings.Count(log.String(), "level=INFO"), log.String())
		require.Contains(t, log.String(), `level=WARN msg="the majority of etcd's servers is lost`)
		require.Contains(t, log.String(), `level=INFO msg="the majority of etcd's servers is back" after=200ms`)
		require.Equal(t, 4*time.Second+5*localPause, time.Since(begun), "without a leader it looks more often")
	})
}

// A leader without a majority gives up after one election timeout. The store knows it before another one has passed.
func TestServersOfThisProcessAreKnownToHaveNoMajorityWithinAnElectionTimeout(t *testing.T) {
	const electionTimeout = time.Second // etcd's default, see Membership
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(slog.New(slog.DiscardHandler))
		m.pause, m.limit = localPause, localLimit
		ended := time.Now().Add(localPause + time.Millisecond) // just after an observation
		m.observe = func(context.Context) observation { return observation{led: time.Now().Before(ended)} }
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go m.run(ctx)
		before, done, err := m.within(ctx)
		require.NoError(t, err)
		defer done()
		<-before.Done()
		require.Equal(t, ErrNoMajority, context.Cause(before))
		require.LessOrEqual(t, time.Since(ended), electionTimeout)
	})
}

func TestAFullDiskOfOtherServersIsKnownByTheirAnswers(t *testing.T) {
	m := newMonitor(slog.New(slog.DiscardHandler))
	m.limit = 1
	s := &Store{monitor: m}
	s.closing, s.end = context.WithCancelCause(t.Context())
	require.NoError(t, s.Health())
	m.noteWrite(errors.New("another error"))
	require.NoError(t, s.Health())
	m.noteWrite(ErrNoSpace)
	require.Equal(t, ErrNoSpace, s.Health())
	m.noteWrite(conductor.ErrConflict)
	require.Equal(t, ErrNoSpace, s.Health())
	m.noteWrite(nil)
	require.NoError(t, s.Health())
	m.add(observation{led: true, full: true})
	require.Equal(t, ErrNoSpace, s.Health())
	m.add(observation{full: true})
	require.Equal(t, ErrNoMajority, s.Health())
	s.end(ErrClosed)
	require.Equal(t, ErrClosed, s.Health())
}

func TestADeletionDoesNotShowThatOtherServersHaveSpace(t *testing.T) {
	r := conductor.Record{Kind: "nodes", ID: "a", Value: []byte("{}")}
	value, err := encode(r)
	require.NoError(t, err)
	s, _ := scripted(t, &server{succeeds: true, get: func(clientv3.Op) (*clientv3.GetResponse, error) {
		return &clientv3.GetResponse{Kvs: []*mvccpb.KeyValue{{Value: []byte(value), ModRevision: 1}}}, nil
	}})
	s.monitor.noteWrite(ErrNoSpace)
	_, err = s.Delete(t.Context(), r.Kind, r.ID, 1)
	require.NoError(t, err)
	require.Equal(t, ErrNoSpace, s.Health())
	_, err = s.Create(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, s.Health())
}

func TestAWriteThatNeedsSpaceIsNotSentToAServerInThisProcessWhileThereIsNone(t *testing.T) {
	s, _ := scripted(t, &server{succeeds: true}) // it would write
	s.local, s.monitor.now.full = true, true
	r := conductor.Record{Kind: "nodes", ID: "a", Value: []byte("{}")}
	_, err := s.Create(t.Context(), r)
	require.ErrorIs(t, err, ErrNoSpace)
	_, err = s.Update(t.Context(), r)
	require.ErrorIs(t, err, ErrNoSpace)
	asked := errors.New("asked")
	s.client.KV = &server{get: func(clientv3.Op) (*clientv3.GetResponse, error) { return nil, asked }}
	_, err = s.Delete(t.Context(), r.Kind, r.ID, 1)
	require.ErrorIs(t, err, asked, "a deletion makes space in a full database")
}
