package powersync

import (
	"context"
	"sync"
	"time"
)

// maxGrace is how long a driver may take to return once its context ended.
const maxGrace = 2 * time.Second

// watchdog answers calls that are late. Calls are many and hardly any is late,
// so that beginning and ending one touches no timer: the timer goes off now and
// then, and looks.
type watchdog struct {
	grace time.Duration
	quit  func() bool // stops to watch the context

	mu       sync.Mutex
	timer    *time.Timer
	at       time.Time // when it goes off; zero while it is not running
	number   int       // of the call, or of the last one
	answers  chan<- answer
	deadline time.Time // of the call; zero while there is none
	ended    time.Time // when the context did; zero while it has not
}

func newWatchdog(ctx context.Context, timeout time.Duration) *watchdog {
	w := &watchdog{grace: min(maxGrace, timeout/4)}
	w.quit = context.AfterFunc(ctx, w.contextEnded)
	return w
}

func (w *watchdog) close() {
	w.quit()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = time.Time{}
	if w.timer != nil {
		w.timer.Stop()
	}
}

// begin watches a call until end, and returns its number. An answer that says
// that it is late will come some grace after the deadline.
func (w *watchdog) begin(deadline time.Time, answers chan<- answer) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number++
	w.answers = answers
	w.deadline = deadline.Add(w.grace)
	if until := w.until(); w.at.IsZero() || until.Before(w.at) {
		w.wake(until)
	}
	return w.number
}

func (w *watchdog) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = time.Time{}
}

func (w *watchdog) contextEnded() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = time.Now()
	if !w.deadline.IsZero() {
		w.wake(w.until())
	}
}

// until returns when the call is late.
func (w *watchdog) until() time.Time {
	if last := w.ended.Add(w.grace); !w.ended.IsZero() && last.Before(w.deadline) {
		return last
	}
	return w.deadline
}

// wake has the watchdog look at a time. The caller holds mu.
func (w *watchdog) wake(at time.Time) {
	w.at = at
	if w.timer == nil {
		w.timer = time.AfterFunc(time.Until(at), w.look)
	} else {
		w.timer.Reset(time.Until(at))
	}
}

// look answers a call that is late.
func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = time.Time{}
	if w.deadline.IsZero() {
		return
	}
	if at := w.until(); time.Now().Before(at) {
		w.wake(at)
		return
	}
	w.deadline = time.Time{}
	w.answers <- answer{number: w.number, late: true}
}
