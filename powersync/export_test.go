// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
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
