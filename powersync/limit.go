package powersync

import (
	"sync"
	"time"
)

// forceLimit bounds how often something happens within any minute.
type forceLimit struct {
	most int // 0 is no bound

	mu    sync.Mutex
	times []time.Time // the last ones, in a ring once there are most
	next  int         // the oldest, then
}

// take reports whether it may happen once more, and counts it if so.
func (l *forceLimit) take(now time.Time) bool {
	if l.most == 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.times) < l.most:
		l.times = append(l.times, now)
		return true
	case now.Sub(l.times[l.next]) < time.Minute:
		return false
	default:
		l.times[l.next] = now
		l.next = (l.next + 1) % l.most
		return true
	}
}
