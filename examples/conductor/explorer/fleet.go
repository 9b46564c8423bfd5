package explorer

import (
	"maps"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// fleet is in which states the nodes are, and the latest moves between states.
type fleet struct {
	mu     sync.Mutex
	synced bool
	states map[string]states.State // by UUID
	counts map[states.State]int
	moves  [maxMoves]move // that with the number n is at n modulo the length
	moved  int            // the number of moves so far
	hops   map[hop]int    // how many there were of each
	wakers map[chan struct{}]bool
}

// maxMoves is how many moves are kept.
const maxMoves = 4096

// hop is from one state to another.
type hop struct{ from, to states.State }

// move is a move of a node from the state in which it was seen to another one. It may
// have been in others in between.
type move struct {
	hop
	uuid, name string
	at         time.Time
}

func newFleet() *fleet {
	return &fleet{
		states: map[string]states.State{}, counts: map[states.State]int{}, hops: map[hop]int{}, wakers: map[chan struct{}]bool{},
	}
}

// take takes a change that was seen at a time.
func (f *fleet) take(change conductor.NodeChange, seen time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if change == (conductor.NodeChange{}) {
		f.synced = true
		f.wake()
		return
	}
	from, known := f.states[change.UUID]
	switch {
	case change.Node == nil && !known, change.Node != nil && known && from == change.Node.ProvisionState:
		return
	case change.Node == nil:
		delete(f.states, change.UUID)
		f.count(from, -1)
	default:
		n := change.Node
		f.states[n.UUID] = n.ProvisionState
		f.count(n.ProvisionState, 1)
		if known {
			f.count(from, -1)
			if n.ProvisionUpdatedAt != nil {
				seen = *n.ProvisionUpdatedAt
			}
			m := move{hop{from, n.ProvisionState}, n.UUID, n.Name, seen}
			f.moves[f.moved%maxMoves] = m
			f.moved++
			f.hops[m.hop]++
		}
	}
	if f.synced {
		f.wake()
	}
}

func (f *fleet) count(s states.State, by int) {
	if f.counts[s] += by; f.counts[s] == 0 {
		delete(f.counts, s)
	}
}

// wake tells those who listen that there is something new. The lock is held.
func (f *fleet) wake() {
	for w := range f.wakers {
		select {
		case w <- struct{}{}:
		default: // it was told
		}
	}
}

// listen returns a channel that has an element whenever there is something new, at once
// where the nodes are known. The function ends that.
func (f *fleet) listen() (news <-chan struct{}, end func()) {
	w := make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wakers[w] = true
	if f.synced {
		w <- struct{}{}
	}
	return w, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.wakers, w)
	}
}

// snapshot is the fleet at one moment.
type snapshot struct {
	nodes  int
	counts map[states.State]int
	last   []move      // oldest first
	moved  int         // the number of moves so far
	hops   map[hop]int // how many there were of each
}

// now returns the fleet as it is, with up to some of its last moves.
func (f *fleet) now(last int) snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := snapshot{nodes: len(f.states), counts: maps.Clone(f.counts), moved: f.moved, hops: maps.Clone(f.hops)}
	for n := max(f.moved-min(last, maxMoves), 0); n < f.moved; n++ {
		s.last = append(s.last, f.moves[n%maxMoves])
	}
	return s
}

// movesOf returns the moves of a node that are kept, oldest first.
func (f *fleet) movesOf(uuid string) []move {
	var own []move
	for _, m := range f.now(maxMoves).last {
		if m.uuid == uuid {
			own = append(own, m)
		}
	}
	return own
}
