package conductor

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errShutdown is the cause of cancelled and refused work when the conductor stops.
var errShutdown = errors.New("the conductor was stopped")

// tasks is the conductor's worker pool. It allows one worker per node and at most limit workers. It
// is safe for concurrent use.
type tasks struct {
	limit int

	mu     sync.Mutex
	busy   map[string]chan struct{} // by node UUID; the channel is closed when the work ends
	closed bool
	idle   chan struct{} // closed when no worker is busy after close
}

func newTasks(limit int) *tasks {
	return &tasks{limit: limit, busy: map[string]chan struct{}{}, idle: make(chan struct{})}
}

// take reserves a worker for a node. If the node has a worker already, take waits until that worker
// is free, because the node's record shows the end of the work shortly before. The error matches
// [NoWorker] if no worker is free or the conductor stops, and [Locked] if the context ends.
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
			err = refuse(NoWorker, "no worker is free: all %d are busy", len(t.busy))
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
			return refuse(Locked, "node %s is locked: a worker is busy with it", id)
		}
	}
}

// tryTake is take without waiting. It reports whether it has reserved a worker.
func (t *tasks) tryTake(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, busy := t.busy[id]; busy || t.closed || len(t.busy) >= t.limit {
		return false
	}
	t.busy[id] = make(chan struct{})
	return true
}

// free releases a node's worker.
func (t *tasks) free(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.busy[id])
	delete(t.busy, id)
	t.checkIdle()
}

// count returns the number of busy workers.
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

// close refuses new work and waits until all workers are free. After the timeout it calls stop,
// which must cancel the work, and continues to wait.
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
