// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"time"
)

// Defaults of a Config.
const (
	DefaultWorkers     = defaultWorkers
	DefaultMaxRetries  = defaultMaxRetries
	DefaultTimeout     = defaultTimeout
	DefaultSoftTimeout = defaultSoftTimeout
)

// Outcomes has every outcome, in the order of reports.
var Outcomes = func() (all []Outcome) {
	for _, row := range outcomes {
		all = append(all, row.Outcome)
	}
	return all
}()

// ErrAbandoned is matched by the error of a call that does not return.
var ErrAbandoned = errAbandoned

// Backoff returns how long a node is skipped after so many failures in a row.
var Backoff = backoff

// LeftBehind returns how many nodes have an abandoned call of the driver.
func (s *Syncer) LeftBehind() int {
	return s.fleet.driver.calls.len()
}

// len returns the number of keys with a call that is in flight, waits or is abandoned.
func (c *calls) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.lines)
}

// NewCalls returns a function that makes calls of the caller's code, one at a time per key, and one that returns the
// number of keys that it remembers.
func NewCalls() (do func(ctx context.Context, key string, f func(context.Context) error) error, keys func() int) {
	c := newCalls(0, time.Second)
	return func(ctx context.Context, key string, f func(context.Context) error) error {
		_, err := call(ctx, c, key, func(ctx context.Context) (none, error) { return none{}, f(ctx) })
		return err
	}, c.len
}

// AfterSync makes rounds call a function once a node is handled, before its failures are kept.
func (s *Syncer) AfterSync(f func(id string)) { s.handler = afterSync{s.handler, f} }

type afterSync struct {
	Handler
	f func(id string)
}

func (h afterSync) Sync(ctx context.Context, id string, past Failures) (Action, error) {
	defer h.f(id)
	return h.Handler.Sync(ctx, id, past)
}

// RetryRelease tries again to release a node, as Run does every 5 seconds.
func (s *Syncer) RetryRelease(id string) {
	_ = s.fleet.retryRelease(context.Background(), id)
}
