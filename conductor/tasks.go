package conductor

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errShutdown is why work was given up when the conductor stops.
var errShutdown = errors.New("the conductor was stopped")

// tasks knows which nodes this process works on, and bounds how many. It is safe for
// concurrent use.
type tasks struct {
	limit int

	mu     sync.Mutex
	busy   map[string]chan struct{} // by node UUID; closed when the work is over
	closed bool
	idle   chan struct{} // closed when none is busy after close
}

func newTasks(limit int) *tasks {
	return &tasks{limit: limit, busy: map[string]chan struct{}{}, idle: make(chan struct{})}
}

// take reserves a worker for a node. Where this process works on the node already, it
// waits until that is over: its record says so a moment earlier. It is refused where
// there is no free worker, or the conductor stops.
func (t *tasks) take(ctx context.Context, id string) error {
	for {
		t.mu.Lock()
		over, busy := t.busy[id]
		var err error
		switch {
		case t.closed:
			err = refuse(NoWorker, "no worker is free: %v", errShutdown)
		case busy:
		case len(t.busy) >= t.limit:
			err = refuse(NoWorker, "no worker is free: %d nodes are worked on", len(t.busy))
		default:
			t.busy[id] = make(chan struct{})
		}
		t.mu.Unlock()
		if err != nil || !busy {
			return err
		}
		select {
		case <-over:
		case <-ctx.Done():
			return refuse(Locked, "node %s is locked: somebody works on it", id)
		}
	}
}

// tryTake is take without waiting; it reports whether it has reserved a worker.
func (t *tasks) tryTake(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, busy := t.busy[id]; busy || t.closed || len(t.busy) >= t.limit {
		return false
	}
	t.busy[id] = make(chan struct{})
	return true
}

// free ends what take began.
func (t *tasks) free(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.busy[id])
	delete(t.busy, id)
	t.checkIdle()
}

// count returns how many nodes this process works on.
func (t *tasks) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.busy)
}

func (t *tasks) checkIdle() {
	if t.closed && len(t.busy) == 0 {
		select {
		case <-t.idle:
		default:
			close(t.idle)
		}
	}
}

// close refuses new work and waits until what is under way is done. After the timeout
// it calls stop and waits until that has had its effect.
func (t *tasks) close(timeout time.Duration, stop func()) {
	t.mu.Lock()
	t.closed = true
	t.checkIdle()
	t.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-t.idle:
	case <-timer.C:
		stop()
		<-t.idle
	}
}
