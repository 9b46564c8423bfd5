// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
	"net/netip"

	"golang.org/x/crypto/bcrypt"

	"github.com/ironstate/ironstate/conductor/internal/index"
	"github.com/ironstate/ironstate/powersync"
)

// ForwardTimeout is forwardTimeout.
const ForwardTimeout = forwardTimeout

func init() {
	hashPassword = func(password []byte) ([]byte, error) {
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

// Put changes a node without the rules for the changes of clients, such as its provision state.
func (c *Conductor) Put(ctx context.Context, ident string, change func(*Node)) error {
	_, _, err := c.fleet.edit(ctx, ident, func(n *Node) error { change(n); return nil })
	return err
}

// IndexOf returns the index of a conductor's nodes.
func IndexOf(c *Conductor) *index.Index[*Node] { return c.fleet.nodes }

// SetResolver replaces the resolver of the names of agents' hosts, before Run.
func (c *Conductor) SetResolver(resolve func(ctx context.Context, network, host string) ([]netip.Addr, error)) {
	c.engine.resolve = resolve
}

// AddPower adds an event of a power request or of the power sync to the history of its node.
func (c *Conductor) AddPower(e powersync.Event) { c.engine.history.power(context.Background(), e) }

var RowsOf = rowsOf

// Queues returns the number of nodes that the conductor has a queue of transitions for.
func (c *Conductor) Queues() int { return c.engine.transitions.Len() }

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
	for _, n := range c.fleet.nodes.All() {
		text = fmt.Appendf(text, "%d ", n.Revision)
	}
	text = fmt.Appendf(text, "%d", c.fleet.nodes.Unreported())
	for _, kind := range c.config.pendingKinds() {
		for _, o := range c.fleet.of(kind).All() {
			text = fmt.Appendf(text, " %s %d", o.Kind(), o.Meta().Revision)
		}
	}
	return string(text), c.engine.pool.Busy() == 0
}
