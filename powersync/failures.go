// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"sync"
	"time"
)

// failingNodes holds the nodes whose last attempts failed, and those that have recovered with a last error of a round.
// They are few.
type failingNodes struct {
	first, most time.Duration // of the backoff; first is 0 for none

	mu    sync.Mutex
	nodes map[string]failingNode
}

// failingNode has the failures of a node, and how long rounds skip it.
type failingNode struct {
	Failures
	until time.Time // when the backoff ends
}

func (f *failingNodes) of(id string) failingNode {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[id]
}

// keep records a node's failures after an attempt and starts its backoff; after a success it removes the node. past has
// the failures before the attempt.
func (f *failingNodes) keep(a Action, past Failures) {
	if a.Failures.Count == 0 {
		f.forget(a.ID)
		return
	}
	now := failingNode{Failures: a.Failures}
	if f.first > 0 {
		now.until = time.Now().Add(backoff(f.first, f.most, now.Count))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.LastError == past.LastError { // the attempt stored none itself, but a late release may have noted one meanwhile
		now.LastError = f.nodes[a.ID].LastError
	}
	f.put(a.ID, now)
}

// noteError records the last error that was stored for a node's last failure, also before keep has recorded the
// failure.
func (f *failingNodes) noteError(id, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.nodes[id]
	now.LastError = text
	f.put(id, now)
}

// put replaces a node, and removes one without failures. The caller holds mu.
func (f *failingNodes) put(id string, now failingNode) {
	if (now.Failures == Failures{}) {
		delete(f.nodes, id)
		return
	}
	if f.nodes == nil {
		f.nodes = make(map[string]failingNode)
	}
	f.nodes[id] = now
}

// endCount ends the count and the backoff of a node that has recovered. The last error that a round has stored is kept,
// so that the next success clears it if [DecideRecovery] has not, since somebody has changed the reason of the
// maintenance.
func (f *failingNodes) endCount(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(id, failingNode{Failures: Failures{LastError: f.nodes[id].LastError}})
}

func (f *failingNodes) forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, id)
}

// retain forgets the nodes that are not listed.
func (f *failingNodes) retain(listed map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.nodes, func(id string, _ failingNode) bool { return !listed[id] })
}

// failing returns how many nodes there are whose last attempt failed.
func (f *failingNodes) failing() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, now := range f.nodes {
		if now.Count > 0 {
			n++
		}
	}
	return n
}

// byCount returns the nodes, those with the most failures first.
func (f *failingNodes) byCount() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := make([]string, 0, len(f.nodes))
	for id := range f.nodes {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(f.nodes[b].Count, f.nodes[a].Count), cmp.Compare(a, b))
	})
	return ids
}

// backoff returns how long a node is skipped after a number of failures in a row:
// first, doubled with each further failure, up to most.
func backoff(first, most time.Duration, failures int) time.Duration {
	if doublings := failures - 1; bits.Len64(uint64(first))+doublings < 64 {
		return min(first<<doublings, most)
	}
	return most // the product would overflow
}
