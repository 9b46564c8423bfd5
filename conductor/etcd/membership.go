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
)

// DefaultTTL is how long a lease lasts that is not renewed.
const DefaultTTL = 10 * time.Second

// Membership is the [conductor.Membership] of the conductors that share a store. Each
// has one lease, which it renews five times in the lease's time. It is out by its own
// clock, and [Membership.Join] says so, when two thirds of this time have passed since
// the last renewal was asked for; the others see it go, and it is no longer alive, when
// all of it has passed and up to a second, or a new leader's election, after that.
//
// It is safe for concurrent use. The errors of a nil or zero Membership are
// [*conductor.ConfigError]s.
type Membership struct {
	store  *Store
	ttl    time.Duration
	leases sync.Map // *lease by member ID
}

var (
	// ErrExpired: the lease of a member could not be renewed in time.
	ErrExpired = errors.New("the member's lease was not renewed in time")
	// ErrMember: there is a member with the ID already.
	ErrMember = errors.New("there is a member with this ID already")
)

// Membership returns the membership of the store's conductors, whose leases last for the
// TTL: seconds, at least 2, and at least one and a half times the election timeout of
// the cluster. 0 is [DefaultTTL].
func (s *Store) Membership(ttl time.Duration) *Membership {
	if ttl == 0 {
		ttl = DefaultTTL
	}
	return &Membership{store: s, ttl: max(ttl, 2*time.Second)}
}

func (l layout) members() string { return l.prefix + "/v1/members/" }

// of returns the store, nil for a nil Membership.
func (m *Membership) of() *Store {
	if m == nil {
		return nil
	}
	return m.store
}

// Alive implements [conductor.Membership].
func (m *Membership) Alive(ctx context.Context, id string) (bool, error) {
	alive, err := m.alive(ctx, id)
	if err != nil {
		return false, fmt.Errorf("is the member %s alive: %w", id, err)
	}
	return alive, nil
}

func (m *Membership) alive(ctx context.Context, id string) (bool, error) {
	ctx, done, err := m.of().begin(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	answer, err := patiently(ctx, m.store, func() (*clientv3.GetResponse, error) {
		return m.store.client.Get(ctx, m.store.layout.members()+id, clientv3.WithCountOnly())
	})
	if err != nil {
		return false, failure(ctx, err)
	}
	return answer.Count > 0, nil
}

// Holds implements [conductor.Membership].
func (m *Membership) Holds(id string) bool {
	if m == nil {
		return false
	}
	l, ok := m.leases.Load(id)
	return ok && l.(*lease).left() > 0
}

// Join implements [conductor.Membership]. A process that leaves gives its lease back, so
// that the others see it at once; one that is out does so after the caller was told.
func (m *Membership) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		fail := func(err error) {
			if ctx == nil || ctx.Err() == nil {
				yield(nil, fmt.Errorf("member %s (%s): %w", self.ID, self.Hostname, err))
			}
		}
		lease, err := m.register(ctx, self)
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

// members ranges over the members while the lease lasts, which it renews.
func (m *Membership) members(ctx context.Context, l *lease) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		within, cancel := context.WithCancel(ctx)
		members := latest.New(func(_, _ []conductor.Member) int { return 0 })
		var running sync.WaitGroup
		for _, serve := range []func(context.Context){
			func(ctx context.Context) { members.Fail(l.keep(ctx)) },
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

// lease is what makes a process a member.
type lease struct {
	client *clientv3.Client
	id     clientv3.LeaseID
	key    string // of the member
	ttl    time.Duration
	// renewed is when the last renewal that was done was asked for: the lease lasts
	// longer than its time from then on.
	renewed atomic.Pointer[time.Time]
}

// left returns how long the process is a member by its own clock, if it does not renew
// the lease.
func (l *lease) left() time.Duration { return time.Until(l.renewed.Load().Add(l.ttl * 2 / 3)) }

// register makes the member, with a lease of its own.
func (m *Membership) register(ctx context.Context, self conductor.Member) (*lease, error) {
	if self.ID == "" || strings.Contains(self.ID, "/") {
		return nil, fmt.Errorf("%q is no ID of a member: it has to be a word without a slash", self.ID)
	}
	value, err := json.Marshal(self)
	if err != nil {
		return nil, err
	}
	ctx, done, err := m.of().begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, m.ttl)
	defer cancel()
	l := &lease{client: m.store.client, key: m.store.layout.members() + self.ID}
	l.renewed.Store(new(time.Now()))
	granted, err := l.client.Grant(ctx, int64(m.ttl.Round(time.Second)/time.Second))
	if err != nil {
		return nil, failure(ctx, err)
	}
	l.id, l.ttl = granted.ID, time.Duration(granted.TTL)*time.Second
	answer, err := l.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(l.key), "=", 0)).
		Then(clientv3.OpPut(l.key, string(value), clientv3.WithLease(l.id))).
		Commit()
	if err == nil && answer.Succeeded {
		return l, nil
	}
	m.leave(ctx, l)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return nil, ErrMember
}

// leaveTimeout is how long a process tries to give its lease back, which expires by
// itself where that fails.
const leaveTimeout = 2 * time.Second

func (m *Membership) leave(ctx context.Context, l *lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	ctx, done, err := m.store.begin(ctx)
	if err == nil {
		defer done()
		_, err = l.client.Revoke(ctx, l.id)
	}
	if err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		m.store.log.Warn("the lease of a member that leaves will expire", "key", l.key, "error", err)
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
		select {
		case <-time.After(min(pause, left)):
		case <-ctx.Done():
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

// follow puts into the queue who the members are, whenever that has changed.
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
		m.store.log.Warn("the watch of the members is interrupted and will go on", "error", err)
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}

func (m *Membership) followOnce(ctx context.Context, l *lease, members *latest.Queue[[]conductor.Member]) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
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
