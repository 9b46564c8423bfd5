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
	"github.com/google/uuid"
)

// Member is a conductor that is alive.
type Member struct {
	// ID is another one each time that a process joins, so that a process is told from
	// one of the same name before it.
	ID        string    `json:"id"`
	Hostname  string    `json:"hostname"`
	Group     string    `json:"conductor_group"`
	Drivers   []string  `json:"drivers"`
	CreatedAt time.Time `json:"created_at"`
}

// Membership tells which conductors of a [Store] are alive.
type Membership interface {
	// Join makes a conductor a member until the context ends or the caller leaves the
	// range, and ranges over the members: all of them, the new one included, as soon as
	// it has joined and again whenever one has come or gone. An error says that it is a
	// member no longer, or could not become one; the range then ends.
	//
	// A member that dies, hangs or is cut off stops being one within a time that the
	// Membership documents, and is never told otherwise before that.
	Join(ctx context.Context, self Member) iter.Seq2[[]Member, error]

	// Alive reports whether the member with an ID is one still, as of after the call
	// has begun. A member that has been found to be none never is one again.
	Alive(ctx context.Context, id string) (bool, error)

	// Holds reports whether a member that joined by this Membership is one for sure,
	// by the clock of this process and at once. It is asked before each operation on
	// hardware: a process that has hung goes on in the midst of its work, and may be a
	// member no longer before Join can tell.
	Holds(id string) bool
}

// alone is the membership of a conductor whose store no other conductor uses.
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

// term is the time from one joining of this conductor to the loss of its membership.
type term struct {
	id      string          // of the member, and the claim of the nodes that it works on
	ctx     context.Context // of the work, which ends with the membership
	members []Member
}

// errNoMember is why work is given up when the membership is lost.
var errNoMember = errors.New("this conductor was cut off from the others")

// rejoinBackoff is how long a conductor that is no member waits until it joins anew.
const rejoinBackoff = time.Second

// belong keeps the conductor a member until the context ends.
func (c *Conductor) belong(ctx context.Context, r *run) {
	for ctx.Err() == nil {
		c.serveTerm(ctx, r)
		sleep(ctx, rejoinBackoff)
	}
}

// serveTerm joins, and works until the membership is lost or the context ends.
func (c *Conductor) serveTerm(ctx context.Context, r *run) {
	work, end := context.WithCancelCause(r.work)
	t := &term{id: uuid.NewString(), ctx: work}
	self := Member{
		ID: t.id, Hostname: c.config.Name, Group: c.config.Group, Drivers: c.config.hardwareNames(), CreatedAt: now(),
	}
	var lost error
	for members, err := range c.config.Membership.Join(ctx, self) {
		if err != nil {
			lost = err
			break
		}
		c.logMembers(t, members)
		t = &term{id: t.id, ctx: work, members: members}
		c.setTerm(t)
		c.joinOnce.Do(func() { close(c.joined) })
		c.considerAll()
	}
	if ctx.Err() != nil {
		context.AfterFunc(r.work, func() { end(nil) }) // the work goes on until Run gives it up
		return
	}
	c.setTerm(nil)
	end(errors.Join(errLost, errNoMember))
	if t.members == nil {
		c.counters.joinsFailed.Add(1)
		c.config.Log.Error("the conductor could not join the others and will try again", "member", t.id, "error", lost)
		return
	}
	c.counters.membershipsLost.Add(1)
	c.config.Log.Error("the conductor was cut off from the others, has given its work up and will join anew", "member", t.id, "error", lost)
}

// logMembers tells of the conductors that have come and gone since the term's last look.
func (c *Conductor) logMembers(t *term, now []Member) {
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

func (c *Conductor) setTerm(t *term) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.term = t
}

// currentTerm returns the term, or an error where the conductor is no member.
func (c *Conductor) currentTerm() (*term, error) {
	if c == nil {
		return nil, c.usable(context.Background())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == nil || c.run.ctx.Err() != nil || c.term == nil {
		return nil, refuse(NoWorker, "no worker is free: the conductor %s does not run, or was cut off", c.config.Name)
	}
	return c.term, nil
}

// owner returns the member that works on a node: one that has its hardware type and is
// of its group.
func (t *term) owner(n *Node) (owner Member, ok bool) {
	return rendezvous(t.members, n.UUID, func(m Member) bool {
		return m.Group == n.ConductorGroup && slices.Contains(m.Drivers, n.Driver)
	})
}

// rendezvous returns the member with the greatest hash of its name and a key, of those
// that are eligible: when a member comes or goes, only its keys move. Of two with one name
// it is the newer: the other has died or was cut off, and its lease has yet to end.
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

// chooses reports whether this conductor, of those that have hardware types, chooses the
// node of an allocation.
func (t *term) chooses(o *Object) bool {
	chosen, ok := rendezvous(t.members, o.UUID, func(m Member) bool { return len(m.Drivers) > 0 })
	return ok && chosen.ID == t.id
}

// owns reports whether this conductor works on a node.
func (t *term) owns(n *Node) bool {
	owner, ok := t.owner(n)
	return ok && owner.ID == t.id
}

// powerClaim is the claim of the nodes whose power a member changes.
const powerSuffix = "/power"

func (t *term) powerClaim() string { return t.id + powerSuffix }

// orphaned reports whether a node is reserved by a process that is no member, as far as
// this one knows.
func (t *term) orphaned(n *Node) bool {
	return n.Reservation != "" && !isMember(t.members, claimant(n))
}

// claimant returns the ID of the member that a node's reservation is of.
func claimant(n *Node) string { return strings.TrimSuffix(n.Claim, powerSuffix) }

// Owner returns the conductor that works on a node, of those that are alive as far as
// this one knows. There is none where no conductor of the node's group has its hardware
// type, or where this conductor itself is no member.
//
// Source: get_conductor_for in ironic/conductor/rpcapi.py.
func (c *Conductor) Owner(n *Node) (owner Member, ok bool) {
	t, err := c.currentTerm()
	if err != nil || n == nil {
		return Member{}, false
	}
	return t.owner(n)
}

// sureInterval is how often a process that may be no member looks whether it is one.
const sureInterval = 50 * time.Millisecond

// holding waits until it is sure that a node which this process has reserved is not
// another one's. It returns errLost when the context of the work has ended before, as it
// does with the membership.
func (c *Conductor) holding(ctx context.Context, n *Node) error {
	for !c.config.Membership.Holds(claimant(n)) {
		if sleep(ctx, sureInterval); ctx.Err() != nil {
			return errLost
		}
	}
	return nil
}

// Members returns the conductors that are alive, by name.
func (c *Conductor) Members(context.Context) ([]Member, error) {
	t, err := c.currentTerm()
	if err != nil {
		return nil, err
	}
	members := slices.Clone(t.members)
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Hostname, b.Hostname) })
	return members, nil
}
