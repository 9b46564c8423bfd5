// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Turn waits until no other process runs a test that has called it. The test of a heavy real system, such as Ironic,
// calls it before the start, so that the systems of packages that go test runs at once do not compete for the
// processor. Tests of one process do not wait for each other. Since go test ends a package after 10 minutes, all tests
// of a process together wait for 3 minutes at most; then they run beside the others.
func Turn(t testing.TB) {
	t.Helper()
	turn.enter(t.Logf)
	t.Cleanup(turn.leave)
}

var turn = queue{
	path:     filepath.Join(os.TempDir(), fmt.Sprintf("ironstate-tests-%d.lock", os.Getuid())),
	patience: 3 * time.Minute, interval: 100 * time.Millisecond,
}

// queue is one process's place among those that use the same lock file.
type queue struct {
	path     string
	interval time.Duration // between two attempts

	mu       sync.Mutex
	patience time.Duration // how long the process may still wait
	tests    int           // that have entered
	unlock   func()        // nil without the lock
}

// enter takes the lock for the first test of the process.
func (q *queue) enter(logf func(format string, args ...any)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tests++
	if q.tests > 1 {
		return
	}
	for logged := false; ; q.patience -= q.interval {
		var busy bool
		q.unlock, busy = tryLock(q.path)
		switch {
		case !busy:
			return
		case q.patience <= 0:
			logf("runs beside the heavy test of another process, since it has waited long enough for %s", q.path)
			return
		case !logged:
			logf("waits for the heavy test of another process, up to %v, by %s", q.patience, q.path)
			logged = true
		}
		time.Sleep(q.interval)
	}
}

// leave gives the lock back after the last test of the process.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tests--
	if q.tests == 0 && q.unlock != nil {
		q.unlock()
		q.unlock = nil
	}
}
