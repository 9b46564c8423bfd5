// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"maps"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// fleet holds the nodes and their latest transitions, which are called moves.
type fleet struct {
	mu     sync.Mutex
	synced bool
	nodes  map[string]*conductor.Node // by UUID
	counts map[states.State]int
	moves  [shownMoves]move          // ring buffer: move number n is at n modulo the length
	moved  int                       // the number of moves so far
	rows   map[states.Transition]int // the number of moves so far, by transition
	rates  rates

	listeners map[chan struct{}]bool
}

// move is a transition of a node.
type move struct {
	states.Transition
	uuid, name string
	at         time.Time
}

func newFleet() *fleet {
	return &fleet{
		nodes: map[string]*conductor.Node{}, counts: map[states.State]int{}, rows: map[states.Transition]int{},
		listeners: map[chan struct{}]bool{},
	}
}

// apply applies a change of a node. The moves are the transitions of the new record that the record
// before lacks.
func (f *fleet) apply(change conductor.NodeChange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, now := f.nodes[change.UUID], change.Node
	switch {
	case change == conductor.NodeChange{}:
		f.synced = true
		f.wake()
		return
	case old != nil:
		f.count(old.ProvisionState, -1)
	}
	if now == nil {
		delete(f.nodes, change.UUID)
	} else {
		f.nodes[change.UUID] = now
		f.count(now.ProvisionState, 1)
	}
	if old != nil && now != nil {
		transitions := now.TransitionsSince(old)
		f.rates.add(time.Now(), len(transitions))
		for _, t := range transitions {
			row := states.Transition{From: t.From, Event: t.Event, To: t.To}
			f.moves[f.moved%shownMoves] = move{row, now.UUID, now.Name, t.Time}
			f.moved++
			f.rows[row]++
		}
	}
	if f.synced && (old == nil || now == nil || old.ProvisionState != now.ProvisionState || old.Maintenance != now.Maintenance) {
		f.wake()
	}
}

// count changes the number of nodes in a state. The caller holds the lock.
func (f *fleet) count(s states.State, by int) {
	if f.counts[s] += by; f.counts[s] == 0 {
		delete(f.counts, s)
	}
}

// wake wakes all listeners. The caller holds the lock.
func (f *fleet) wake() {
	for w := range f.listeners {
		select {
		case w <- struct{}{}:
		default: // already woken
		}
	}
}

// listen returns a channel with capacity 1 that receives an element after changes, and at once if the
// nodes have been read. The caller calls end when it no longer receives.
func (f *fleet) listen() (news <-chan struct{}, end func()) {
	w := make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners[w] = true
	if f.synced {
		w <- struct{}{}
	}
	return w, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, w)
	}
}

// snapshot is the fleet at one moment.
type snapshot struct {
	nodes  int
	counts map[states.State]int
	last   []move                    // the latest moves, oldest first
	moved  int                       // the number of moves so far
	rows   map[states.Transition]int // the number of moves so far, by transition
	rates  []int                     // transitions in each of the last minutes, oldest first
	second int                       // seconds since the last of these minutes began
}

// snapshot returns the fleet as it is now.
func (f *fleet) snapshot() snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := time.Now()
	s := snapshot{
		nodes:  len(f.nodes),
		counts: maps.Clone(f.counts),
		moved:  f.moved,
		rows:   maps.Clone(f.rows),
		rates:  f.rates.perMinute(at),
		second: at.Second(),
	}
	for n := max(f.moved-shownMoves, 0); n < f.moved; n++ {
		s.last = append(s.last, f.moves[n%shownMoves])
	}
	return s
}
