// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

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
