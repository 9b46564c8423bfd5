package powersync

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"time"
)

// failures holds the nodes whose last attempts failed. They are few.
type failures struct {
	mu    sync.Mutex
	nodes map[string]failure
}

type failure struct {
	count     int
	until     time.Time // when the backoff ends
	lastError string    // the last error that a round stored; empty if none did
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

// noteError records the last error that was stored for a node's last failure.
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

// noteFailure records an event's count of failed attempts. It keeps the last error
// that an earlier attempt stored until another one replaces it.
func (s *Syncer) noteFailure(f *failures, e Event) {
	now := failure{count: e.Attempts, lastError: cmp.Or(e.LastError, f.of(e.ID).lastError)}
	if s.config.Backoff > 0 {
		now.until = time.Now().Add(backoff(s.config.Backoff, s.config.MaxBackoff, now.count))
	}
	f.set(e.ID, now)
}

// backoff returns how long a node is skipped after a number of failures in a row:
// first, doubled with each further failure, up to most.
func backoff(first, most time.Duration, failures int) time.Duration {
	if doublings := failures - 1; bits.Len64(uint64(first))+doublings < 64 {
		return min(first<<doublings, most)
	}
	return most // the product would overflow
}
