// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"slices"
	"sync"
	"time"
)

// forceLimit bounds how often hardware is set within any minute.
type forceLimit struct {
	most int // 0 is unlimited

	mu    sync.Mutex
	times []time.Time // within the last minute, the oldest first
}

// take reports whether hardware may be set once more, and counts that if so. If the
// hardware was not set after all, the caller calls undo.
func (l *forceLimit) take(now time.Time) (undo func(), ok bool) {
	if l.most == 0 {
		return func() {}, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = slices.DeleteFunc(l.times, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if len(l.times) >= l.most {
		return nil, false
	}
	l.times = append(l.times, now)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(l.times, now); i >= 0 {
			l.times = slices.Delete(l.times, i, i+1)
		}
	}, true
}
