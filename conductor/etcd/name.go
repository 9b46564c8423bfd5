// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
)

// name returns the key of a member's name, whose value is the member's ID.
func (l layout) name(hostname string) string { return l.names() + hostname }

func (l layout) names() string { return l.prefix + "/v1/names/" }

// takenError says that a lease holds the name of a member.
type takenError struct{ lease clientv3.LeaseID }

func (e *takenError) Error() string { return fmt.Sprintf("the lease %x has the name", e.lease) }

// taken returns a [*takenError] if a lease holds the name.
func (m *Membership) taken(ctx context.Context, name string) error {
	found, err := retryRead(ctx, m.store, func() (*clientv3.GetResponse, error) {
		return m.store.client.Get(ctx, m.store.layout.name(name))
	})
	switch {
	case err != nil:
		return failure(ctx, err)
	case len(found.Kvs) > 0:
		return &takenError{clientv3.LeaseID(found.Kvs[0].Lease)}
	}
	return nil
}

// holder describes the lease that holds a name, at the last look.
type holder struct {
	lease    clientv3.LeaseID
	term     uint64        // of etcd's leader
	left     time.Duration // until the lease ends
	renewals int
}

// leaseGrace is the time after the end of a lease in which its keys are deleted, see [Membership].
const leaseGrace = 3500 * time.Millisecond

// look returns the holder after a look at the lease, and whether its member is alive: the lease was renewed twice, or
// it holds the name although it was due to end, given the time since it was first seen in this term. A new leader of
// etcd begins a term and renews all leases, by the TTL and its election timeout, which does not count.
func (h holder) look(lease clientv3.LeaseID, term uint64, left, due, since time.Duration) (next holder, alive bool) {
	next = holder{lease: lease, term: term, left: left}
	if h.lease != lease {
		return next, false
	}
	next.renewals = h.renewals
	if h.term != term {
		return next, false
	}
	if left > h.left {
		next.renewals++
	}
	return next, next.renewals >= 2 || since > due+leaseGrace
}

// namePause is the time between two looks at the holder of a name.
const namePause = 500 * time.Millisecond

// claim registers a member. While the lease of a member that may be dead has its name, claim waits for the end of the
// lease.
func (m *Membership) claim(ctx context.Context, self conductor.Member) (*lease, error) {
	var h holder
	var begun time.Time   // of the looks at this lease in this term
	var due time.Duration // from then to the end of the lease
	for {
		l, err := m.register(ctx, self)
		var taken *takenError
		if !errors.As(err, &taken) {
			return l, err
		}
		if taken.lease == clientv3.NoLease { // somebody else has stored the key, and it does not end
			return nil, conductor.ErrNameTaken
		}
		if _, own := m.abandoned.LoadAndDelete(taken.lease); own {
			m.leave(ctx, &lease{client: m.store.client, id: taken.lease, key: m.store.layout.name(self.Hostname)})
			sleep.For(ctx, localPause)
			continue
		}
		left, ttl, term, err := m.remaining(ctx, taken.lease)
		if err != nil {
			return nil, err
		}
		if ttl == 0 {
			sleep.For(ctx, localPause)
			continue
		}
		if taken.lease != h.lease || term != h.term {
			begun, due = time.Now(), max(ttl, left)
		}
		if taken.lease != h.lease {
			m.store.log.Warn("a member of the fleet has the name of this conductor: if its process is dead, its lease ends, "+
				"and this conductor joins",
				"name", self.Hostname, "within", ttl+leaseGrace)
		}
		var alive bool
		if h, alive = h.look(taken.lease, term, left, due, time.Since(begun)); alive {
			return nil, conductor.ErrNameTaken
		}
		if !sleep.For(ctx, namePause) {
			return nil, ctx.Err()
		}
	}
}

// remaining returns the time until a lease ends, at most 0 if it should have ended, its TTL, which is 0 if it has
// ended, and the term of etcd's leader.
func (m *Membership) remaining(ctx context.Context, id clientv3.LeaseID) (left, ttl time.Duration, term uint64, err error) {
	ctx, done, err := m.store.begin(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	defer done()
	answer, err := m.store.client.TimeToLive(ctx, id)
	if err != nil {
		return 0, 0, 0, failure(ctx, err)
	}
	left, ttl = time.Duration(answer.TTL)*time.Second, time.Duration(answer.GrantedTTL)*time.Second
	return left, ttl, answer.GetRaftTerm(), nil
}
