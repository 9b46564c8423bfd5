// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

func init() {
	hash = func(password []byte) ([]byte, error) {
		if len(password) > 72 {
			return nil, bcrypt.ErrPasswordTooLong
		}
		return []byte("a hash"), nil
	}
}

// EncodeNode and EncodeObject return the stored form of a node or an object.
var (
	EncodeNode   = encodeNode
	EncodeObject = encodeObject
)

// NodeIndex is an index of nodes.
type NodeIndex struct{ of *index[*Node] }

// NewNodeIndex returns an empty index that counts as read.
func NewNodeIndex() NodeIndex {
	x := newIndex(KindNode, decodeNode)
	close(x.synced)
	return NodeIndex{x}
}

// IndexOf returns the index of a conductor's nodes.
func IndexOf(c *Conductor) NodeIndex { return NodeIndex{c.fleet.nodes} }

func (x NodeIndex) Put(n *Node)                              { x.of.put(n) }
func (x NodeIndex) Replace(n *Node)                          { x.of.replace(n) }
func (x NodeIndex) Create(n *Node, store func() error) error { return x.of.create(n, store) }
func (x NodeIndex) Drop(id string, revision int64)           { x.of.drop(id, revision) }
func (x NodeIndex) Delete(id string, store func() (int64, error)) error {
	return x.of.delete(id, store)
}

// Before returns when each record was created, and the function that ends the start of a new watch.
func (x NodeIndex) Before() (created map[string]time.Time, synced func(unseen map[string]time.Time)) {
	created, deleted := x.of.before()
	return created, func(unseen map[string]time.Time) { x.of.dropUnseen(unseen, deleted) }
}
func (x NodeIndex) DropUnseen(unseen map[string]time.Time)                { x.of.dropUnseen(unseen, nil) }
func (x NodeIndex) All() []*Node                                          { return x.of.all() }
func (x NodeIndex) Count(ctx context.Context, in states.Set) (int, error) { return x.of.count(ctx, in) }

// SetResolver replaces the resolver of the names of agents' hosts, before Run.
func (c *Conductor) SetResolver(resolve func(ctx context.Context, network, host string) ([]netip.Addr, error)) {
	c.engine.resolve = resolve
}

// AddPower adds an event of a power request or of the power sync to the history of its node.
func (c *Conductor) AddPower(e powersync.Event) { c.engine.history.power(e) }

// NewUnreadNodeIndex returns an empty index that no watch has read.
func NewUnreadNodeIndex() NodeIndex { return NodeIndex{newIndex(KindNode, decodeNode)} }

// Creating returns the number of creations that the store has not answered.
func (x NodeIndex) Creating() int { return len(x.of.unanswered) }

// Deleted returns the number of deletions that the watch has not reported yet.
func (x NodeIndex) Deleted() int { return len(x.of.deleted) }

// Watchers returns the number of watches of the index.
func (x NodeIndex) Watchers() int {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	return len(x.of.watchers)
}

var RowsOf = rowsOf

// Watchers returns the number of watches of a kind.
func (m *Memory) Watchers(kind Kind) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.kind(kind).watchers)
}

// Served returns the number of calls that the conductor remembers to have served.
func (c *Conductor) Served() (n int) {
	c.calls.served.Range(func(any, any) bool { n++; return true })
	return n
}

// OwnerOf returns the name of the member that owns a node with a UUID.
func OwnerOf(members []Member, id string) string {
	owner, _ := rendezvous(members, id, func(Member) bool { return true })
	return owner.Hostname
}

// LocalState returns the contents of a conductor's indexes of nodes, allocations and calls as a text, and whether no
// worker is busy. Without a call in flight the conductor's next actions depend on both, and on its session.
func (c *Conductor) LocalState() (known string, idle bool) {
	text := []byte{}
	for _, n := range c.fleet.nodes.all() {
		text = fmt.Appendf(text, "%d ", n.Revision)
	}
	text = fmt.Appendf(text, "%d", len(c.fleet.nodes.deleted))
	for _, kind := range c.config.pendingKinds() {
		for _, o := range c.fleet.of(kind).all() {
			text = fmt.Appendf(text, " %s %d", o.Kind(), o.Meta().Revision)
		}
	}
	return string(text), c.engine.pool.count() == 0
}
