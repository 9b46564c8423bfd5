package machine

import (
	"context"
	"slices"
	"sync"
)

// turn is a lock that a waiter can stop waiting for when its context ends. It is
// given in the order in which it was asked for. The zero value is free.
type turn struct {
	mu      sync.Mutex
	taken   bool
	waiting []chan struct{} // each closed to hand the turn over
}

func (t *turn) take(ctx context.Context) error {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.waiting = append(t.waiting, mine)
	t.mu.Unlock()

	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		t.leave(mine)
		return ctx.Err()
	}
}

// leave takes a waiter out of the queue, or gives back the turn that it was
// handed meanwhile.
func (t *turn) leave(mine chan struct{}) {
	t.mu.Lock()
	i := slices.Index(t.waiting, mine)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 {
		t.give()
	}
}

func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.taken = false
		return
	}
	close(t.waiting[0])
	t.waiting = slices.Delete(t.waiting, 0, 1)
}
