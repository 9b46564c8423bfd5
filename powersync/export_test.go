// SPDX-License-Identifier: Apache-2.0

package powersync

// Defaults of a Config.
const (
	DefaultWorkers     = defaultWorkers
	DefaultMaxRetries  = defaultMaxRetries
	DefaultTimeout     = defaultTimeout
	DefaultSoftTimeout = defaultSoftTimeout
)

// Outcomes has every outcome, in the order of reports.
var Outcomes = outcomes

// ErrAbandoned is matched by the error of a call that does not return.
var ErrAbandoned = errAbandoned

// Backoff returns how long a node is skipped after so many failures in a row.
var Backoff = backoff

// LeftBehind returns how many nodes have an abandoned call of the driver.
func (s *Syncer) LeftBehind() int {
	s.driver.calls.mu.Lock()
	defer s.driver.calls.mu.Unlock()
	return len(s.driver.calls.left)
}
