// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
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

func (x NodeIndex) Put(n *Node)                                           { x.of.put(n) }
func (x NodeIndex) Drop(id string, revision int64, own bool)              { x.of.drop(id, revision, own) }
func (x NodeIndex) Created() map[string]time.Time                         { return x.of.created() }
func (x NodeIndex) DropUnseen(unseen map[string]time.Time)                { x.of.dropUnseen(unseen) }
func (x NodeIndex) All() []*Node                                          { return x.of.all() }
func (x NodeIndex) Count(ctx context.Context, in states.Set) (int, error) { return x.of.count(ctx, in) }

// AddPower adds an event of a power request or of the power sync to the history of its node.
func (c *Conductor) AddPower(e powersync.Event) { c.engine.history.power(e) }

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
