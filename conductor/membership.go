// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Member is a conductor that is alive.
type Member struct {
	// ID is new each time that a process joins. It distinguishes a process from an earlier
	// one with the same name.
	ID        string    `json:"id"`
	Hostname  string    `json:"hostname"`
	Group     string    `json:"conductor_group"`
	Drivers   []string  `json:"drivers"`
	CreatedAt time.Time `json:"created_at"`
	// Descriptions describes the member's Drivers, for the members that lack them.
	Descriptions map[string]Description `json:"descriptions,omitzero"`
	// Draining says that the member ends the work that it has and takes no other: it owns no node, see [Drainer].
	Draining bool `json:"draining,omitzero"`
}

// Drainer is a [Membership] that tells the members when one of them stops, so that they take its nodes over while it
// ends its work. Without it they do so once the member has left.
//
// Source: drain_shutdown_timeout in ironic/conf/default.py, since Ironic 24.0.0 (2024.1).
type Drainer interface {
	// Drain sets Draining of a member that joined through this Membership. The members see it as a change of the list.
	Drain(ctx context.Context, id string) error
}

// ErrNameTaken says that a conductor could not join because a live one has its name. Nodes are divided by the names of
// the conductors.
var ErrNameTaken = errors.New("another conductor with this name is alive: give each its own name")

// Membership reports which conductors of a [Store] are alive. CheckMembership of package storetest, below, checks an
// implementation.
type Membership interface {
	// Join makes a conductor a member until the context ends or the caller leaves the
	// range. It yields the list of all members, including the new one, once the conductor
	// has joined and again whenever a member joins or leaves. An error means that the
	// conductor has lost its membership or could not join; the range then ends. It matches ErrNameTaken
	// if a live member has the same Hostname. A process that has the name of one that has just died waits
	// in Join until the others have seen that one leave.
	//
	// A member that dies, hangs or is cut off loses its membership within a time that the
	// implementation documents. The others see it leave only after its own Holds reports false.
	// A caller that takes long with a list remains a member.
	Join(ctx context.Context, self Member) iter.Seq2[[]Member, error]

	// Alive reports whether a member has the ID, at some moment after the call has
	// begun. Once it has reported false for an ID, it never reports true again.
	Alive(ctx context.Context, id string) (bool, error)

	// Holds reports whether a member that joined through this Membership certainly still is
	// one, by the clock of this process. It does no I/O. A process that was suspended resumes
	// in the middle of its work, and may have lost its membership before Join has yielded the
	// error. The conductor therefore calls Holds before each operation on hardware, and the
	// hardware types of this project before each request of an operation, see [Permit]. Only
	// a request that is being sent when the process is suspended can still reach the hardware
	// after the membership was lost: one request for each node.
	Holds(id string) bool
}

// alone is the membership of the only conductor of a store.
type alone struct {
	mu sync.Mutex
	id string
}

func (a *alone) Alive(_ context.Context, id string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id == id, nil
}

func (a *alone) Holds(id string) bool {
	alive, _ := a.Alive(context.Background(), id)
	return alive
}

func (a *alone) Join(ctx context.Context, self Member) iter.Seq2[[]Member, error] {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id = self.ID
	return func(yield func([]Member, error) bool) {
		if yield([]Member{self}, nil) {
			<-ctx.Done()
		}
	}
}

// view is a member's view of the members.
type view struct {
	id      string // its own ID, which is the claim of the nodes that it works on
	members []Member
}

func isMember(members []Member, id string) bool {
	return slices.ContainsFunc(members, func(m Member) bool { return m.ID == id })
}

// owner returns the member that owns a node, chosen among the members that have the node's
// hardware type, are in its conductor group and do not drain.
func (v view) owner(n *Node) (owner Member, ok bool) {
	return rendezvous(v.members, n.UUID, func(m Member) bool {
		return !m.Draining && m.Group == n.ConductorGroup && slices.Contains(m.Drivers, n.Driver)
	})
}

// rendezvous returns the eligible member with the greatest hash of its name and the key
// (rendezvous hashing): when a member joins or leaves, only its keys move. Of two members
// with the same name it returns the newer: the older one has died or was cut off, and its
// lease has not expired yet.
func rendezvous(members []Member, key string, eligible func(Member) bool) (chosen Member, ok bool) {
	greatest := uint64(0)
	for _, m := range members {
		if !eligible(m) {
			continue
		}
		hash := xxhash.Sum64String(m.Hostname + "\x00" + key)
		if !ok || hash > greatest || hash == greatest && m.CreatedAt.After(chosen.CreatedAt) {
			chosen, greatest, ok = m, hash, true
		}
	}
	return chosen, ok
}

// isChosen reports whether this conductor is the one to process the allocation or the call with an ID.
// Every member with hardware types is eligible that does not drain.
func (v view) isChosen(id string) bool {
	chosen, ok := rendezvous(v.members, id, func(m Member) bool { return !m.Draining && len(m.Drivers) > 0 })
	return ok && chosen.ID == v.id
}

// findsOrphan reports whether this conductor has to drop a dead process's reservation of a node. The node's owner does.
// If nobody owns the node, the conductor of the same name does and, if the node has no work, also the chosen conductor:
// work waits for a conductor that has the hardware type, or for its own conductor.
//
// Source: prepare_host in ironic/conductor/base_manager.py, which drops the reservations of its own host whatever the
// driver is, and _check_orphan_nodes in manager.py.
func (v view) findsOrphan(n *Node) bool {
	if n.Reservation == "" || isMember(v.members, n.Claim) {
		return false
	}
	if owner, ok := v.owner(n); ok {
		return owner.ID == v.id
	}
	isOwn := slices.ContainsFunc(v.members, func(m Member) bool { return m.ID == v.id && m.Hostname == n.Reservation })
	return isOwn || !n.hasWork() && v.isChosen(n.UUID)
}

// owns reports whether this conductor owns a node.
func (v view) owns(n *Node) bool {
	owner, ok := v.owner(n)
	return ok && owner.ID == v.id
}

// Owner returns the conductor that owns a node, by the last list of members that this
// conductor has received. It returns false if no member in the node's conductor group has
// its hardware type, or if this conductor itself is no member.
//
// Source: get_conductor_for in ironic/conductor/rpcapi.py.
func (c *Conductor) Owner(n *Node) (owner Member, ok bool) {
	s, err := c.sessions.current()
	if err != nil {
		return Member{}, false
	}
	return s.owner(n)
}

// Members returns the conductors that are alive, sorted by name, by the last list of members that this conductor has
// received. The error matches [NoWorker] if this conductor is not running or has lost its membership.
func (c *Conductor) Members() ([]Member, error) {
	s, err := c.sessions.current()
	if err != nil {
		return nil, err
	}
	members := slices.Clone(s.members)
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Hostname, b.Hostname) })
	return members, nil
}
