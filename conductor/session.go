package conductor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
)

// session is one membership of this conductor, from joining to its loss, with the members as
// last seen.
type session struct {
	id      string          // the member's ID, and the claim of the nodes that it works on
	ctx     context.Context // the work's context; ends with the membership
	members []Member
}

// errNoMember is the cause of cancellation of the work when the membership is lost.
var errNoMember = errors.New("this conductor was cut off from the others")

// rejoinBackoff is the delay before a conductor that is no member joins again.
const rejoinBackoff = time.Second

// keepMembership joins, and joins again after each loss of the membership, until the context
// ends.
func (c *Conductor) keepMembership(ctx context.Context, r *run) {
	for ctx.Err() == nil {
		c.serveSession(ctx, r)
		sleep(ctx, rejoinBackoff)
	}
}

// serveSession joins, and works until the membership is lost or the context ends.
func (c *Conductor) serveSession(ctx context.Context, r *run) {
	work, end := context.WithCancelCause(r.work)
	t := &session{id: uuid.NewString(), ctx: work}
	self := Member{
		ID: t.id, Hostname: c.config.Name, Group: c.config.Group, Drivers: c.config.hardwareNames(), CreatedAt: now(),
		Descriptions: c.config.descriptions(),
	}
	var lost error
	for members, err := range c.config.Membership.Join(ctx, self) {
		if err != nil {
			lost = err
			break
		}
		c.logMembers(t, members)
		c.describe(members)
		t = &session{id: t.id, ctx: work, members: members}
		c.setSession(t)
		c.joinOnce.Do(func() { close(c.joined) })
		c.considerAll()
	}
	if ctx.Err() != nil {
		context.AfterFunc(r.work, func() { end(nil) }) // the work continues until Run abandons it
		return
	}
	c.setSession(nil)
	end(errors.Join(errLost, errNoMember))
	if t.members == nil {
		c.counters.joinsFailed.Add(1)
		c.config.Log.Error("the conductor could not join the others and will try again", "member", t.id, "error", lost)
		return
	}
	c.counters.membershipsLost.Add(1)
	c.config.Log.Error("the conductor has lost its membership, has abandoned its work and will join again", "member", t.id, "error", lost)
}

// logMembers logs the conductors that have joined and left since the last list of members.
func (c *Conductor) logMembers(t *session, now []Member) {
	if t.members == nil {
		c.counters.joins.Add(1)
		c.config.Log.Info("the conductor has joined", "member", t.id, "members", len(now))
		return
	}
	for _, m := range now {
		if !isMember(t.members, m.ID) {
			c.config.Log.Info("another conductor has joined", "conductor", m.Hostname, "member", m.ID, "members", len(now))
		}
	}
	for _, m := range t.members {
		if !isMember(now, m.ID) {
			c.config.Log.Warn("another conductor has left or died, and the others take its nodes over", "conductor", m.Hostname, "member", m.ID, "members", len(now))
		}
	}
}

func isMember(members []Member, id string) bool {
	return slices.ContainsFunc(members, func(m Member) bool { return m.ID == id })
}

func (c *Conductor) setSession(t *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = t
}

// currentSession returns the session, or an error where the conductor is no member.
func (c *Conductor) currentSession() (*session, error) {
	if c == nil {
		return nil, c.usable(context.Background())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == nil || c.run.ctx.Err() != nil || c.session == nil {
		return nil, refuse(NoWorker, "no worker is free: conductor %s is not running or has lost its membership", c.config.Name)
	}
	return c.session, nil
}

// owner returns the member that owns a node, chosen among the members that have the node's
// hardware type and are in its conductor group.
func (s *session) owner(n *Node) (owner Member, ok bool) {
	return rendezvous(s.members, n.UUID, func(m Member) bool {
		return m.Group == n.ConductorGroup && slices.Contains(m.Drivers, n.Driver)
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

// chooses reports whether this conductor is the one to choose the node of an allocation.
// Every member with hardware types is eligible.
func (s *session) chooses(o *Object) bool {
	chosen, ok := rendezvous(s.members, o.UUID, func(m Member) bool { return len(m.Drivers) > 0 })
	return ok && chosen.ID == s.id
}

// owns reports whether this conductor owns a node.
func (s *session) owns(n *Node) bool {
	owner, ok := s.owner(n)
	return ok && owner.ID == s.id
}

// powerSuffix marks the claim of a reservation for a power request or the power sync.
const powerSuffix = "/power"

func (s *session) powerClaim() string { return s.id + powerSuffix }

// orphaned reports whether a node is reserved by a process that is not in the last list of
// members.
func (s *session) orphaned(n *Node) bool {
	return n.Reservation != "" && !isMember(s.members, claimant(n))
}

// claimant returns the ID of the member that holds a node's reservation.
func claimant(n *Node) string { return strings.TrimSuffix(n.Claim, powerSuffix) }

// Owner returns the conductor that owns a node, by the last list of members that this
// conductor has received. It returns false if no member in the node's conductor group has
// its hardware type, or if this conductor itself is no member.
//
// Source: get_conductor_for in ironic/conductor/rpcapi.py.
func (c *Conductor) Owner(n *Node) (owner Member, ok bool) {
	t, err := c.currentSession()
	if err != nil || n == nil {
		return Member{}, false
	}
	return t.owner(n)
}

// Members returns the conductors that are alive, sorted by name, by the last list of members that this conductor has
// received. The error matches [NoWorker] if this conductor is not running or has lost its membership.
func (c *Conductor) Members(ctx context.Context) ([]Member, error) {
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	t, err := c.currentSession()
	if err != nil {
		return nil, err
	}
	members := slices.Clone(t.members)
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Hostname, b.Hostname) })
	return members, nil
}
