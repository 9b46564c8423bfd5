// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/internal/latest"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/machine"
)

// DefaultTTL is the default TTL of a member's lease.
const DefaultTTL = 10 * time.Second

// Membership is the [conductor.Membership] of the conductors that share a store. Each conductor has
// one lease and renews it five times per TTL. A conductor has lost its membership by its own clock,
// and [Membership.Join] yields an error, when two thirds of the TTL have passed since it sent the
// last successful renewal. For the others it is a member until the whole TTL has passed since etcd
// received that renewal, plus half a second, the period at which etcd's leader looks for expired leases.
//
// When etcd's leader fails together with the member, as it may in a process of a cluster of package embedded, the
// others wait for an election, and the new leader starts the TTL again and adds one election timeout to it. With etcd's
// default timeout, 1 s, which these servers have, an election takes 1 to 2 s, and more only if its votes are split: the
// member has then left at most the TTL plus 3.5 s after its death.
//
// The lease also holds the member's Hostname: another member with that name waits in [Membership.Join] until the lease
// has ended. If the lease is renewed twice meanwhile by other than an election, or has not ended when it should have,
// its member is alive, and the error is [conductor.ErrNameTaken].
//
// It is safe for concurrent use.
type Membership struct {
	store  *Store
	ttl    time.Duration
	leases sync.Map // *lease by member ID

	// abandoned has the IDs of the leases of this Membership that could not be revoked, and whose members have left.
	abandoned sync.Map
}

var (
	// ErrExpired: the lease of a member could not be renewed in time.
	ErrExpired = errors.New("the member's lease was not renewed in time")
	// ErrMember: another member has the ID.
	ErrMember = errors.New("a member with this ID already exists")
)

// Membership returns the membership of the store's conductors with a TTL for their leases. The TTL
// is rounded to seconds and raised to at least 2 s; etcd raises it to one and a half times the
// cluster's election timeout. 0 stands for [DefaultTTL]. With a TTL below 0 nobody joins: [Membership.Join] yields a
// [*machine.ConfigError].
func (s *Store) Membership(ttl time.Duration) *Membership {
	if ttl >= 0 {
		ttl = max(cmp.Or(ttl, DefaultTTL), 2*time.Second)
	}
	return &Membership{store: s, ttl: ttl}
}

func (l layout) members() string { return l.prefix + "/v1/members/" }

// Alive implements [conductor.Membership].
func (m *Membership) Alive(ctx context.Context, id string) (bool, error) {
	alive, err := m.alive(ctx, id)
	if err != nil {
		return false, fmt.Errorf("is the member %s alive: %w", id, err)
	}
	return alive, nil
}

func (m *Membership) alive(ctx context.Context, id string) (bool, error) {
	ctx, done, err := m.store.begin(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	answer, err := retryRead(ctx, m.store, func() (*clientv3.GetResponse, error) {
		return m.store.client.Get(ctx, m.store.layout.members()+id, clientv3.WithCountOnly())
	})
	if err != nil {
		return false, failure(ctx, err)
	}
	return answer.Count > 0, nil
}

// Holds implements [conductor.Membership].
func (m *Membership) Holds(id string) bool {
	l, ok := m.leases.Load(id)
	return ok && l.(*lease).left() > 0
}

// Join implements [conductor.Membership]. A process that leaves the range revokes its lease, so that
// the others see it leave at once. After the loss of the membership the lease is revoked only when
// the caller has received the error.
func (m *Membership) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		fail := func(err error) {
			if ctx.Err() == nil {
				yield(nil, fmt.Errorf("member %s (%s): %w", self.ID, self.Hostname, err))
			}
		}
		if m.ttl < 0 {
			fail(&machine.ConfigError{Package: "etcd", Field: "TTL", Value: m.ttl, Want: "0 or more"})
			return
		}
		m.store.awaitMajority(ctx) // an attempt each second would fail and be logged
		lease, err := m.claim(ctx, self)
		if err != nil {
			fail(err)
			return
		}
		m.leases.Store(self.ID, lease)
		defer m.leave(ctx, lease)
		defer m.leases.Delete(self.ID)
		for members, err := range m.members(ctx, lease) {
			if err != nil {
				fail(err)
				return
			}
			if !yield(members, nil) {
				return
			}
		}
	}
}

// Drain implements [conductor.Drainer].
func (m *Membership) Drain(ctx context.Context, id string) error {
	found, ok := m.leases.Load(id)
	if !ok {
		return fmt.Errorf("drain the member %s: it has not joined", id)
	}
	l := found.(*lease)
	drains := l.self
	drains.Draining = true
	value, err := json.Marshal(drains)
	if err != nil {
		return err
	}
	ctx, done, err := m.store.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if _, err := l.client.Put(ctx, l.key, string(value), clientv3.WithLease(l.id)); err != nil {
		return fmt.Errorf("drain the member %s: %w", id, failure(ctx, err))
	}
	return nil
}

// members renews the lease and yields the members until the lease is lost.
func (m *Membership) members(ctx context.Context, l *lease) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		within, cancel := context.WithCancel(ctx)
		members := latest.New(func(_, _ []conductor.Member) int { return 0 })
		var running sync.WaitGroup
		for _, serve := range []func(context.Context){
			func(ctx context.Context) { members.Fail(m.because(l.keep(ctx))) },
			func(ctx context.Context) { m.follow(ctx, l, members) },
		} {
			running.Go(func() {
				ctx, done, err := m.store.beginWatch(within)
				if err != nil {
					members.Fail(err)
					return
				}
				defer done()
				serve(ctx)
			})
		}
		defer running.Wait()
		defer cancel()
		members.All(ctx)(yield)
	}
}

// because adds the reason to the error of a lost membership, if the reason is that the majority is lost.
func (m *Membership) because(err error) error {
	if errors.Is(err, ErrExpired) && m.store.monitor.health().lost {
		return fmt.Errorf("%w: %w", err, ErrNoMajority)
	}
	return err
}

// lease is the etcd lease to which a member's key is attached.
type lease struct {
	client *clientv3.Client
	id     clientv3.LeaseID
	key    string // the member's key
	self   conductor.Member
	ttl    time.Duration
	// renewed is the time at which the last successful renewal was sent. The lease expires
	// later than ttl after that.
	renewed atomic.Pointer[time.Time]
}

// left returns the time until the process loses its membership by its own clock, if it does not
// renew the lease.
func (l *lease) left() time.Duration { return time.Until(l.renewed.Load().Add(l.ttl * 2 / 3)) }

// register grants a lease and creates the keys of the member and of its name. The error is a [*takenError] if a member
// has the name.
func (m *Membership) register(ctx context.Context, self conductor.Member) (*lease, error) {
	if self.ID == "" || strings.Contains(self.ID, "/") {
		return nil, fmt.Errorf("%q is not an ID of a member: want a non-empty text without a slash", self.ID)
	}
	value, err := json.Marshal(self)
	if err != nil {
		return nil, err
	}
	ctx, done, err := m.store.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, m.ttl)
	defer cancel()
	if err := m.taken(ctx, self.Hostname); err != nil {
		return nil, err
	}
	l := &lease{client: m.store.client, key: m.store.layout.members() + self.ID, self: self}
	l.renewed.Store(new(time.Now()))
	granted, err := l.client.Grant(ctx, int64(m.ttl.Round(time.Second)/time.Second))
	if err != nil {
		return nil, failure(ctx, err)
	}
	l.id, l.ttl = granted.ID, time.Duration(granted.TTL)*time.Second
	name := m.store.layout.name(self.Hostname)
	answer, err := l.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(l.key), "=", 0), clientv3.Compare(clientv3.CreateRevision(name), "=", 0)).
		Then(clientv3.OpPut(l.key, string(value), clientv3.WithLease(l.id)), clientv3.OpPut(name, self.ID, clientv3.WithLease(l.id))).
		Commit()
	if err == nil && answer.Succeeded {
		return l, nil
	}
	m.leave(ctx, l)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return nil, cmp.Or(m.taken(ctx, self.Hostname), ErrMember)
}

// leaveTimeout bounds the attempt to revoke a lease. If it fails, the lease expires.
const leaveTimeout = 2 * time.Second

func (m *Membership) leave(ctx context.Context, l *lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	ctx, done, err := m.store.begin(ctx)
	if err == nil {
		defer done()
		_, err = l.client.Revoke(ctx, l.id)
	}
	if err == nil || errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return
	}
	m.abandoned.Store(l.id, true)
	if !errors.Is(err, ErrNoMajority) {
		m.store.log.Warn("the lease of a leaving member could not be revoked and will expire", "key", l.key, "error", err)
	}
}

// keep renews the lease until the context ends or the lease may have expired.
func (l *lease) keep(ctx context.Context) error {
	pause := l.ttl / 5
	for {
		left := l.left()
		if left <= 0 {
			return ErrExpired
		}
		if !sleep.For(ctx, min(pause, left)) {
			return ended(ctx)
		}
		begin := time.Now()
		once, cancel := context.WithTimeout(ctx, pause)
		_, err := l.client.KeepAliveOnce(once, l.id)
		cancel()
		switch {
		case err == nil:
			l.renewed.Store(&begin)
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			return ErrExpired
		}
	}
}

// follow puts the list of members into the queue after each change.
func (m *Membership) follow(ctx context.Context, l *lease, members *latest.Queue[[]conductor.Member]) {
	for ctx.Err() == nil {
		err := m.followOnce(ctx, l, members)
		switch {
		case ctx.Err() != nil:
			return
		case lasts(err), errors.Is(err, ErrExpired):
			members.Fail(err)
			return
		}
		m.store.interrupted(ctx, "the watch of the members is interrupted and will be resumed", "error", err)
	}
}

func (m *Membership) followOnce(ctx context.Context, l *lease, members *latest.Queue[[]conductor.Member]) error {
	ctx, cancel := context.WithCancel(m.store.ownStream(ctx))
	defer cancel()
	prefix := m.store.layout.members()
	now, err := m.store.client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return err
	}
	all := make(map[string]conductor.Member)
	tell := func() error {
		if _, alive := all[l.key]; !alive {
			return ErrExpired
		}
		sorted := slices.SortedFunc(maps.Values(all), func(a, b conductor.Member) int { return cmp.Compare(a.ID, b.ID) })
		members.Set("", sorted)
		return nil
	}
	for _, kv := range now.Kvs {
		if all[string(kv.Key)], err = decodeMember(kv.Key, kv.Value); err != nil {
			return err
		}
	}
	if err := tell(); err != nil {
		return err
	}
	for answer := range m.store.client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(now.Header.Revision+1)) {
		if err := answer.Err(); err != nil {
			return err
		}
		for _, event := range answer.Events {
			key := string(event.Kv.Key)
			if event.Type == clientv3.EventTypeDelete {
				delete(all, key)
			} else if all[key], err = decodeMember(event.Kv.Key, event.Kv.Value); err != nil {
				return err
			}
		}
		if err := tell(); err != nil {
			return err
		}
	}
	return errors.New("the watch has ended")
}

func decodeMember(key, value []byte) (conductor.Member, error) {
	var m conductor.Member
	if err := json.Unmarshal(value, &m); err != nil {
		return m, fmt.Errorf("decode %s: %w: %w", key, errFormat, err)
	}
	return m, nil
}
