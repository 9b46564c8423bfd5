package machine

import (
	"fmt"
	"time"

	"github.com/ironstate/ironstate/states"
)

// Recover returns what to apply to a stored node once the process that worked on
// it has died: EventFail, with a last error that says so, in the stuck states
// ([states.Table.Stuck]), whose work is lost. In any other state there is nothing
// to do, and the Event is NoEvent: stable states rest, failed and held ones want
// a person, and the waiting ones are moved by a call or by [Node.Expire].
//
// The errors are those of [Node.Apply] for the node itself. Source: what
// ironic/conductor/base_manager.py does when a conductor starts; first drop the
// reservations that the dead one held.
func (n Node) Recover(t *states.Table) (Input, error) {
	if err := n.check(t); err != nil || !t.Stuck().Has(n.State) {
		return Input{}, err
	}
	return Input{
		Event:     states.EventFail,
		LastError: fmt.Sprintf("the work of state %q was lost: the process that did it has died", n.State),
	}, nil
}

// Timeouts says how long a node may wait for a call, by what it waits for. A time
// of 0 or less is for ever.
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

func (w Timeouts) of(s states.State) time.Duration {
	switch s {
	case states.DeployWait:
		return w.Deploy
	case states.CleanWait:
		return w.Clean
	case states.InspectWait:
		return w.Inspect
	case states.RescueWait:
		return w.Rescue
	case states.ServiceWait:
		return w.Service
	default:
		return 0
	}
}

// Expire returns what to apply to a node that has been in its state for a time:
// EventFail, with a last error that says so, once a waiting state has reached its
// timeout; otherwise the Event is NoEvent. Cleaning, inspection and rescue keep
// the node's target, so that a manual cleaning that timed out is still headed for
// manageable; the others take the default.
//
// The errors are those of [Node.Apply] for the node itself. Source: the periodic
// checks of ironic/conductor/manager.py.
func (n Node) Expire(t *states.Table, waited time.Duration, limits Timeouts) (Input, error) {
	if err := n.check(t); err != nil {
		return Input{}, err
	}
	limit := limits.of(n.State)
	if limit <= 0 || waited < limit {
		return Input{}, nil
	}
	in := Input{
		Event:     states.EventFail,
		LastError: fmt.Sprintf("no call in %v in state %q", limit, n.State),
	}
	switch n.State {
	case states.CleanWait, states.InspectWait, states.RescueWait:
		in.Target = n.Target
	}
	return in, nil
}
