package explorer

import (
	"maps"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// fleet holds the states of all nodes and their latest moves.
type fleet struct {
	mu     sync.Mutex
	synced bool
	states map[string]states.State // by UUID
	counts map[states.State]int
	moves  [maxMoves]move // ring buffer: move number n is at n modulo the length
	moved  int            // the number of moves so far
	pairs  map[pair]int   // the number of moves so far, by pair of states
	wakers map[chan struct{}]bool
}

// maxMoves bounds the stored moves.
const maxMoves = 4096

// pair is a pair of states.
type pair struct{ from, to states.State }

// move is an observed change of a node's state. It may combine several transitions, since the watch
// may omit states in between.
type move struct {
	pair
	uuid, name string
	at         time.Time
}

func newFleet() *fleet {
	return &fleet{
		states: map[string]states.State{}, counts: map[states.State]int{}, pairs: map[pair]int{}, wakers: map[chan struct{}]bool{},
	}
}

// take applies a change that was observed at the time seen.
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
			m := move{pair{from, n.ProvisionState}, n.UUID, n.Name, seen}
			f.moves[f.moved%maxMoves] = m
			f.moved++
			f.pairs[m.pair]++
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

// wake wakes all listeners. The caller holds the lock.
func (f *fleet) wake() {
	for w := range f.wakers {
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
	last   []move       // the latest moves, oldest first
	moved  int          // the number of moves so far
	pairs  map[pair]int // the number of moves so far, by pair of states
}

// now returns a snapshot with up to last of the latest moves.
func (f *fleet) now(last int) snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := snapshot{nodes: len(f.states), counts: maps.Clone(f.counts), moved: f.moved, pairs: maps.Clone(f.pairs)}
	for n := max(f.moved-min(last, maxMoves), 0); n < f.moved; n++ {
		s.last = append(s.last, f.moves[n%maxMoves])
	}
	return s
}

// movesOf returns the stored moves of a node, oldest first.
func (f *fleet) movesOf(uuid string) []move {
	var own []move
	for _, m := range f.now(maxMoves).last {
		if m.uuid == uuid {
			own = append(own, m)
		}
	}
	return own
}
