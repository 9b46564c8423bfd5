// SPDX-License-Identifier: Apache-2.0

// Package keylock has locks by key.
package keylock

import (
	"context"
	"sync"
)

// Locks has a lock for each key. A key needs memory only while a caller holds its lock or waits for it. The zero value
// is ready for use. It is safe for concurrent use.
type Locks struct {
	mu    sync.Mutex
	locks map[string]*lock
}

type lock struct {
	held  chan struct{} // full while a caller holds the lock
	users int           // the callers that hold the lock or wait for it; guarded by Locks.mu
}

// Lock waits until no other caller holds a key's lock, and takes it. Callers take it in the order in which they called.
// If ctx has ended by then, Lock returns its error without the lock.
func (l *Locks) Lock(ctx context.Context, key string) error {
	l.mu.Lock()
	k := l.locks[key]
	if k == nil {
		if l.locks == nil {
			l.locks = make(map[string]*lock)
		}
		k = &lock{held: make(chan struct{}, 1)}
		l.locks[key] = k
	}
	k.users++
	l.mu.Unlock()

	select {
	case k.held <- struct{}{}:
		if ctx.Err() == nil {
			return nil
		}
		<-k.held
	case <-ctx.Done():
	}
	l.forget(key, k)
	return ctx.Err()
}

// Unlock releases a key's lock, which the caller holds.
func (l *Locks) Unlock(key string) {
	l.mu.Lock()
	k := l.locks[key]
	l.mu.Unlock()
	<-k.held
	l.forget(key, k)
}

// forget ends the use of a lock, and removes a lock without users.
func (l *Locks) forget(key string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k.users--
	if k.users == 0 {
		delete(l.locks, key)
	}
}
