package powersync

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// failures are the nodes that failed in a row, which are few.
type failures struct {
	mu    sync.Mutex
	nodes map[string]failure
}

type failure struct {
	count     int
	until     time.Time // when the node may be asked again
	lastError string    // the last error that a round stored; empty where none did
}

func (f *failures) of(id string) failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[id]
}

func (f *failures) set(id string, now failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes == nil {
		f.nodes = make(map[string]failure)
	}
	f.nodes[id] = now
}

// noteError remembers the last error that was stored for a node's last failure.
func (f *failures) noteError(id, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now, ok := f.nodes[id]; ok {
		now.lastError = text
		f.nodes[id] = now
	}
}

func (f *failures) forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, id)
}

func (f *failures) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.nodes)
}

// byCount returns the nodes, those with the most failures first.
func (f *failures) byCount() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := make([]string, 0, len(f.nodes))
	for id := range f.nodes {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(f.nodes[b].count, f.nodes[a].count), cmp.Compare(a, b))
	})
	return ids
}

// noteFailure remembers that the attempts of an event have failed in a row. The
// last error that an earlier attempt stored is remembered until one replaces it.
func (s *Syncer) noteFailure(f *failures, e Event) {
	now := failure{count: e.Attempts, lastError: cmp.Or(e.LastError, f.of(e.ID).lastError)}
	if first := s.config.Backoff; first > 0 {
		wait := s.config.MaxBackoff
		if doublings := now.count - 1; doublings < 32 && first<<doublings>>doublings == first {
			wait = min(first<<doublings, wait)
		}
		now.until = time.Now().Add(wait)
	}
	f.set(e.ID, now)
}
