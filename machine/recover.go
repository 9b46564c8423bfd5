// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"time"

	"github.com/ironstate/ironstate/states"
)

// Orphaned reports whether a stored node must be failed once the process that worked
// on it has died. In the stuck states ([states.Table.Stuck]), whose work is lost, ok is
// true, and lastError is the text to report with EventFail:
//
//	if lastError, ok := node.Orphaned(table); ok {
//		node, err = node.Report(table, states.EventFail, lastError)
//	}
//
// In any other state there is nothing to report, because the node waits for a call,
// for a client or for an operator. The caller drops the dead process's reservations
// first.
//
// Source: ironic/conductor/base_manager.py, which does so when a conductor starts.
func (n Node) Orphaned(t *states.Table) (lastError string, ok bool) {
	if !t.Stuck().Has(n.State) {
		return "", false
	}
	return fmt.Sprintf("the work of state %q was lost: the process that did it has died", n.State), true
}

// Timeouts holds the timeouts of the waits for a call, by the work that waits. A
// timeout of 0 or less is infinite.
type Timeouts struct {
	Deploy, Clean, Inspect, Rescue, Service time.Duration
}

// DefaultTimeouts returns Ironic's defaults, half an hour each: the options
// deploy_callback_timeout, clean_callback_timeout, inspect_wait_timeout,
// rescue_callback_timeout and service_callback_timeout of its section
// [conductor].
func DefaultTimeouts() Timeouts {
	const half = 30 * time.Minute
	return Timeouts{Deploy: half, Clean: half, Inspect: half, Rescue: half, Service: half}
}

// Of returns the timeout of a work's wait, 0 for work that does not wait.
func (w Timeouts) Of(work states.Work) time.Duration {
	switch work {
	case states.WorkDeploy:
		return w.Deploy
	case states.WorkClean:
		return w.Clean
	case states.WorkInspect:
		return w.Inspect
	case states.WorkRescue:
		return w.Rescue
	case states.WorkService:
		return w.Service
	default:
		return 0
	}
}

// TimedOut reports whether a node that has been in its state for a time must be
// failed: once a waiting state has reached its timeout, ok is true, and lastError is
// the text to report with EventFail, as with [Node.Orphaned].
//
// Source: the periodic checks of ironic/conductor/manager.py.
func (n Node) TimedOut(waited time.Duration, limits Timeouts) (lastError string, ok bool) {
	work := n.State.Work()
	limit := limits.Of(work)
	if n.State != work.Waiting() || limit <= 0 || waited < limit {
		return "", false
	}
	return fmt.Sprintf("no call in %v in state %q", limit, n.State), true
}
