// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
)

func TestTheHolderOfANameIsAliveIfItsLeaseIsRenewedTwiceOrDoesNotEnd(t *testing.T) {
	const ttl = 10 * time.Second
	for same := range 2 {
		for before := range 4 {
			for left := range 4 {
				for renewals := range 2 {
					for _, since := range []time.Duration{0, ttl, ttl + leaseGrace, ttl + leaseGrace + 1} {
						h := holder{lease: 7, term: 3, left: time.Duration(before), renewals: renewals}
						next, alive := h.look(clientv3.LeaseID(6+same), 3, time.Duration(left), ttl, since)
						want, lives := holder{lease: 6, term: 3, left: time.Duration(left)}, false
						if same == 1 {
							want = holder{lease: 7, term: 3, left: time.Duration(left), renewals: renewals}
							if left > before {
								want.renewals++
							}
							lives = want.renewals == 2 || since > ttl+leaseGrace
						}
						require.Equal(t, want, next)
						require.Equal(t, lives, alive, "%+v %d %v", h, left, since)

						next, alive = h.look(7, 4, time.Duration(left), ttl, since)
						require.Equal(t, holder{lease: 7, term: 4, left: time.Duration(left), renewals: renewals}, next)
						require.False(t, alive, "a new leader has renewed the lease")
					}
				}
			}
		}
	}
}

func TestElectionsOfEtcdDoNotShowThatAMemberIsAlive(t *testing.T) {
	const ttl = 4
	for election, after := range map[float64]time.Duration{1: 11500 * time.Millisecond, 5: 15500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			begun, renewed, ends := time.Now(), []float64{1.2, 3.2, 6.2}, 4.0
			server := &server{succeeds: true}
			server.get = func(clientv3.Op) (*clientv3.GetResponse, error) {
				for len(renewed) > 0 && time.Since(begun).Seconds() > renewed[0] {
					server.term++
					renewed, ends = renewed[1:], renewed[0]+ttl+election
				}
				if time.Since(begun).Seconds() < ends {
					return &clientv3.GetResponse{Kvs: []*mvccpb.KeyValue{{Lease: 7}}}, nil
				}
				return &clientv3.GetResponse{}, nil
			}
			server.remains = func(clientv3.LeaseID) (int64, int64, error) {
				return int64(ends - time.Since(begun).Seconds()), ttl, nil
			}
			s, log := scripted(t, server)
			_, err := s.Membership(ttl*time.Second).claim(t.Context(), conductor.Member{ID: "b", Hostname: "alpha"})
			require.NoError(t, err)
			require.Equal(t, after, time.Since(begun))
			require.Equal(t, 1, strings.Count(log.String(), "level=WARN"))
		})
	}
}

func TestANameThatNoLeaseHoldsIsTaken(t *testing.T) {
	server := &server{succeeds: true}
	server.get = func(clientv3.Op) (*clientv3.GetResponse, error) {
		return &clientv3.GetResponse{Kvs: []*mvccpb.KeyValue{{}}}, nil
	}
	s, _ := scripted(t, server)
	_, err := s.Membership(0).claim(t.Context(), conductor.Member{ID: "b", Hostname: "alpha"})
	require.ErrorIs(t, err, conductor.ErrNameTaken)
}

func TestAMemberTakesItsNameFromItsOwnEarlierLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		revoked, answers := false, []error{errors.New("no answer"), nil}
		server := &server{succeeds: true}
		server.revoke = func() error {
			err := answers[0]
			answers, revoked = answers[1:], err == nil
			return err
		}
		server.get = func(op clientv3.Op) (*clientv3.GetResponse, error) {
			require.Equal(t, "/ironstate/v1/names/alpha", string(op.KeyBytes()))
			if revoked {
				return &clientv3.GetResponse{}, nil
			}
			return &clientv3.GetResponse{Kvs: []*mvccpb.KeyValue{{Lease: 7}}}, nil
		}
		s, log := scripted(t, server)
		m := s.Membership(0)
		m.leave(t.Context(), &lease{client: s.client, id: 7, key: "/ironstate/v1/members/a"})
		require.Contains(t, log.String(), "could not be revoked")
		log.Reset()
		begun := time.Now()
		_, err := m.claim(t.Context(), conductor.Member{ID: "b", Hostname: "alpha"})
		require.NoError(t, err)
		require.Empty(t, log.String())
		require.Equal(t, localPause, time.Since(begun), "servers that cannot revoke it are not asked without a pause")
	})
}

func TestAMemberLooksAtTheHolderOfItsNameTwiceASecond(t *testing.T) {
	const ttl = 4
	noAnswer, gone := errors.New("no answer"), errors.New("no such lease")
	for name, test := range map[string]struct {
		holder   func(second float64) clientv3.LeaseID // 0 for none
		left     func(second float64) (int64, error)
		err      error
		after    time.Duration
		looks    int
		warnings int
	}{
		"it is dead, and its lease ends": {
			func(second float64) clientv3.LeaseID {
				if second >= 6 {
					return 0
				}
				return 7
			},
			func(second float64) (int64, error) { return ttl - int64(second), nil }, nil, 6 * time.Second, 12, 1,
		},
		"it is dead, and its lease ends after the look at its name": {
			func(second float64) clientv3.LeaseID {
				if second > 6 {
					return 0
				}
				return 7
			},
			func(second float64) (int64, error) {
				if second == 6 {
					return 0, gone
				}
				return ttl - int64(second), nil
			}, nil, 6*time.Second + localPause, 13, 1,
		},
		"it renews its lease": {
			func(float64) clientv3.LeaseID { return 7 },
			func(second float64) (int64, error) { return ttl - int64(2*second)%2, nil }, conductor.ErrNameTaken, 2 * time.Second, 5, 1,
		},
		"its lease does not end": {
			func(float64) clientv3.LeaseID { return 7 },
			func(float64) (int64, error) { return ttl, nil }, conductor.ErrNameTaken, 8 * time.Second, 17, 1,
		},
		"another takes the name, and its lease does not end": {
			func(second float64) clientv3.LeaseID {
				if second < 2 {
					return 7
				}
				return 8
			},
			func(float64) (int64, error) { return ttl, nil }, conductor.ErrNameTaken, 10 * time.Second, 21, 2,
		},
		"the servers do not say when the lease ends": {
			func(float64) clientv3.LeaseID { return 7 },
			func(float64) (int64, error) { return 0, noAnswer }, noAnswer, 0, 1, 0,
		},
		"the conductor ends": {
			func(float64) clientv3.LeaseID { return 7 },
			func(float64) (int64, error) { return ttl, nil }, context.DeadlineExceeded, 6250 * time.Millisecond, 13, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, looks := time.Now(), 0
				s, log := scripted(t, &server{
					succeeds: true,
					get: func(clientv3.Op) (*clientv3.GetResponse, error) {
						if lease := test.holder(time.Since(begun).Seconds()); lease != 0 {
							return &clientv3.GetResponse{Kvs: []*mvccpb.KeyValue{{Lease: int64(lease)}}}, nil
						}
						return &clientv3.GetResponse{}, nil
					},
					remains: func(id clientv3.LeaseID) (int64, int64, error) {
						looks++
						second := time.Since(begun).Seconds()
						require.Equal(t, test.holder(second), id)
						left, err := test.left(second)
						if errors.Is(err, gone) {
							return -1, 0, nil // etcd's answer if there is no such lease
						}
						return left, ttl, err
					},
				})
				ctx := t.Context()
				if errors.Is(test.err, context.DeadlineExceeded) {
					within, cancel := context.WithTimeout(ctx, test.after)
					defer cancel()
					ctx = within
				}
				_, err := s.Membership(ttl*time.Second).claim(ctx, conductor.Member{ID: "b", Hostname: "alpha"})
				require.Equal(t, test.err, err)
				require.Equal(t, test.after, time.Since(begun))
				require.Equal(t, test.looks, looks)
				require.Equal(t, test.warnings, strings.Count(log.String(), "level=WARN"))
				require.Equal(t, test.warnings, strings.Count(log.String(), "name=alpha within=7.5s"))
			})
		})
	}
}
