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
	s.driver.calls.mu.Lock()
	defer s.driver.calls.mu.Unlock()
	return len(s.driver.calls.lines)
}

// NewCalls returns a function that makes calls of the caller's code, one at a time per key.
func NewCalls() func(ctx context.Context, key string, f func(context.Context) error) error {
	c := newCalls(0, time.Second)
	return func(ctx context.Context, key string, f func(context.Context) error) error {
		_, err := call(ctx, c, key, func(ctx context.Context) (none, error) { return none{}, f(ctx) })
		return err
	}
}
