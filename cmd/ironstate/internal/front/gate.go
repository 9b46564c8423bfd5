// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"slices"
	"sort"
	"sync"
)

// gate limits how many callers run at the same time. Further callers wait in a queue: a lower rank goes first, and
// callers of the same rank go in the order of their arrival. If the queue is full, gate refuses the last caller in it.
type gate struct {
	mu      sync.Mutex
	free    int       // callers that can be admitted at once
	queue   int       // callers that can wait
	waiting []*waiter // in the order of their admission; empty while free is not 0
}

type waiter struct {
	rank   int
	answer chan error // receives nil or errBusy, once
}

// errBusy refuses a caller because too many wait.
var errBusy = errors.New("too many wait")

// enter waits until the caller is admitted and returns nil; the caller must then call leave. It returns errBusy if the
// queue is full of others, or the error of the context.
func (g *gate) enter(ctx context.Context, rank int) error {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return nil
	}
	w := &waiter{rank: rank, answer: make(chan error, 1)}
	at := sort.Search(len(g.waiting), func(i int) bool { return g.waiting[i].rank > rank })
	g.waiting = slices.Insert(g.waiting, at, w)
	if last := len(g.waiting) - 1; last == g.queue {
		g.waiting[last].answer <- errBusy
		g.waiting = slices.Delete(g.waiting, last, last+1)
	}
	g.mu.Unlock()
	select {
	case err := <-w.answer:
		return err
	case <-ctx.Done():
	}
	g.mu.Lock()
	at = slices.Index(g.waiting, w) // others may have come and gone
	if at >= 0 {
		g.waiting = slices.Delete(g.waiting, at, at+1)
	}
	g.mu.Unlock()
	if at < 0 && <-w.answer == nil {
		g.leave() // it was admitted just as its context ended
	}
	return ctx.Err()
}

// leave ends the turn of an admitted caller and admits the first one in the queue.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.free++
		return
	}
	g.waiting[0].answer <- nil
	g.waiting = slices.Delete(g.waiting, 0, 1)
}
