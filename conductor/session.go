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

// session is one membership of this conductor, from joining to its loss.
type session struct {
	view
	ctx context.Context // the work's context; ends with the membership
}

// view is a member's view of the members.
type view struct {
	id      string // its own ID, which is the claim of the nodes that it works on
	members []Member
}

// errNoMember is the cause of cancellation of the work when the membership is lost.
var errNoMember = errors.New("this conductor was cut off from the others")

// rejoinBackoff is the delay before a conductor that is no member joins again.
const rejoinBackoff = time.Second

// keepMembership joins, and joins again after each loss of the membership, until the context
// ends.
func (e *engine) keepMembership(ctx context.Context, r *run) {
	for ctx.Err() == nil {
		e.serveSession(ctx, r)
		sleep(ctx, rejoinBackoff)
	}
}

// serveSession joins, and works until the membership is lost or the context ends.
func (e *engine) serveSession(ctx context.Context, r *run) {
	work, end := context.WithCancelCause(r.work)
	s := &session{view: view{id: uuid.NewString()}, ctx: work}
	self := Member{
		ID: s.id, Hostname: e.config.Name, Group: e.config.Group, Drivers: e.config.hardwareNames(), CreatedAt: now(),
		Descriptions: e.config.descriptions(),
	}
	var lost error
	for members, err := range e.config.Membership.Join(ctx, self) {
		if err != nil {
			lost = err
			break
		}
		e.logMembers(s, members)
		e.describe(members)
		s = &session{view: view{id: s.id, members: members}, ctx: work}
		e.setSession(s)
		e.joinOnce.Do(func() { close(e.joined) })
		e.changed()
	}
	if ctx.Err() != nil {
		context.AfterFunc(r.work, func() { end(nil) }) // the work continues until Run abandons it
		return
	}
	e.setSession(nil)
	end(errors.Join(errLost, errNoMember))
	if s.members == nil {
		e.counters.joinsFailed.Add(1)
		e.config.Log.Error("the conductor could not join the others and will try again", "member", s.id, "error", lost)
		return
	}
	e.counters.membershipsLost.Add(1)
	e.config.Log.Error("the conductor has lost its membership, has abandoned its work and will join again", "member", s.id, "error", lost)
}

// logMembers logs the conductors that have joined and left since the last list of members.
func (e *engine) logMembers(s *session, now []Member) {
	if s.members == nil {
		e.counters.joins.Add(1)
		e.config.Log.Info("the conductor has joined", "member", s.id, "members", len(now))
		return
	}
	for _, m := range now {
		if !isMember(s.members, m.ID) {
			e.config.Log.Info("another conductor has joined", "conductor", m.Hostname, "member", m.ID, "members", len(now))
		}
	}
	for _, m := range s.members {
		if !isMember(now, m.ID) {
			e.config.Log.Warn("another conductor has left or died, and the others take its nodes over", "conductor", m.Hostname, "member", m.ID, "members", len(now))
		}
	}
}

func isMember(members []Member, id string) bool {
	return slices.ContainsFunc(members, func(m Member) bool { return m.ID == id })
}

func (e *engine) setSession(s *session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session = s
}

// currentSession returns the session, or an error where the conductor is no member.
func (e *engine) currentSession() (*session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.run == nil || e.run.ctx.Err() != nil || e.session == nil {
		return nil, refuse(NoWorker, "no worker is free: conductor %s is not running or has lost its membership", e.config.Name)
	}
	return e.session, nil
}

// owner returns the member that owns a node, chosen among the members that have the node's
// hardware type and are in its conductor group.
func (s view) owner(n *Node) (owner Member, ok bool) {
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

// chooses reports whether this conductor is the one to process the allocation or the call with an ID.
// Every member with hardware types is eligible.
func (s view) chooses(id string) bool {
	chosen, ok := rendezvous(s.members, id, func(m Member) bool { return len(m.Drivers) > 0 })
	return ok && chosen.ID == s.id
}

// owns reports whether this conductor owns a node.
func (s view) owns(n *Node) bool {
	owner, ok := s.owner(n)
	return ok && owner.ID == s.id
}

// Owner returns the conductor that owns a node, by the last list of members that this
// conductor has received. It returns false if no member in the node's conductor group has
// its hardware type, or if this conductor itself is no member.
//
// Source: get_conductor_for in ironic/conductor/rpcapi.py.
func (c *Conductor) Owner(n *Node) (owner Member, ok bool) {
	s, err := c.currentSession()
	if err != nil || n == nil {
		return Member{}, false
	}
	return s.owner(n)
}

// Members returns the conductors that are alive, sorted by name, by the last list of members that this conductor has
// received. The error matches [NoWorker] if this conductor is not running or has lost its membership.
func (c *Conductor) Members(ctx context.Context) ([]Member, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	s, err := c.currentSession()
	if err != nil {
		return nil, err
	}
	members := slices.Clone(s.members)
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Hostname, b.Hostname) })
	return members, nil
}
