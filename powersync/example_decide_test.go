// SPDX-License-Identifier: Apache-2.0

package powersync_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// A service with its own loop: somebody has switched a machine off, and its BMC refuses
// to switch it on again.
func ExampleDecide() {
	record := powersync.Record{ID: "node-1", ProvisionState: states.Active, Power: states.PowerOn}
	var failures powersync.Failures
	for range 4 {
		if skip := powersync.SkipSync(record); skip != "" {
			fmt.Println(skip)
			return
		}
		reading := powersync.Reading{Power: states.PowerOff} // from the hardware
		after, action := powersync.Decide(record, reading, failures, powersync.Policy{})
		if action.Outcome == powersync.Forced {
			// Here the record is stored with the service's reservation, the hardware is
			// asked for action.Asked, and the record is loaded again.
			after, action = powersync.Settle(after, action, errors.New("not licensed"))
		}
		// Here the record is stored.
		record, failures = after, action.Failures
		fmt.Println(action.Outcome, failures.Count, record.Power)
	}
	fmt.Println(record.LastError)
	// Output:
	// force_failed 1 power on
	// force_failed 2 power on
	// force_failed 3 power on
	// into_maintenance 4 power off
	// power sync failed 4 times in a row: recorded is "power on", the hardware is in "power off", which is recorded now
}

// A node leaves maintenance once it can be read.
func ExampleDecideRecovery() {
	record := powersync.Record{
		ID: "node-1", ProvisionState: states.Active, Power: states.PowerOn,
		Maintenance: true, MaintenanceReason: "power sync failed 4 times in a row", Fault: powersync.FaultPowerFailure,
	}
	var failures powersync.Failures
	for _, reading := range []powersync.Reading{{Err: errors.New("no answer")}, {Power: states.PowerOff}} {
		after, action := powersync.DecideRecovery(record, reading, failures)
		record, failures = after, action.Failures
		fmt.Println(action.Outcome, record.Maintenance, record.Power)
	}
	// Output:
	// read_failed true power on
	// recovered false power off
}

// A service restarts a machine that is off.
func ExampleAccept() {
	record := powersync.Record{ID: "node-1", ProvisionState: states.Active, Power: states.PowerOff}
	const power = states.PowerRebooting

	record, err := powersync.Accept(record, power) // the API answers 202
	fmt.Println(record.TargetPower, err)
	asked, err := powersync.DecideRequest(power, powersync.Reading{Power: states.PowerOff})
	fmt.Println(asked, err)
	record, event := powersync.SettleRequest(record, power, nil) // the hardware was asked, and is on
	fmt.Println(event.Outcome, record.Power, record.TargetPower)
	// Output:
	// power on <nil>
	// power on <nil>
	// power_set power on none
}

func ExampleDecideRequest() {
	fmt.Println(powersync.DecideRequest(states.PowerOn, powersync.Reading{Power: states.PowerOn}))
	fmt.Println(powersync.DecideRequest(states.PowerOff, powersync.Reading{Power: states.PowerOn}))
	fmt.Println(powersync.DecideRequest(states.PowerOff, powersync.Reading{Err: errors.New("no answer")}))
	// Output:
	// none <nil>
	// power off <nil>
	// none no answer
}

// A machine goes off by itself, just before it is to be switched off, which its BMC then refuses.
func ExampleConfirm() {
	refusal := errors.New("409 Conflict")
	read := func() powersync.Reading { return powersync.Reading{Power: states.PowerOff} } // from the hardware
	for _, power := range []states.Power{states.PowerOff, states.PowerOn, states.PowerRebooting} {
		fmt.Println(power, "|", powersync.Confirm(context.Background(), power, refusal, read))
	}
	// Output:
	// power off | <nil>
	// power on | 409 Conflict
	// rebooting | 409 Conflict
}

// A BMC that cannot restart its machine.
func ExamplePerform() {
	do := func(power states.Power) error { // sets the hardware, and waits
		fmt.Println(power)
		if power == states.PowerRebooting {
			return errors.ErrUnsupported
		}
		return nil
	}
	node := powersync.Record{ID: "node-1", Power: states.PowerOn}
	fmt.Println(powersync.Perform(node, states.PowerRebooting, do))
	node.DisablePowerOff = true
	fmt.Println(powersync.Perform(node, states.PowerRebooting, do))
	// Output:
	// rebooting
	// power off
	// power on
	// <nil>
	// rebooting
	// unsupported operation
}

func ExampleSettleRequest() {
	record := powersync.Record{
		ID: "node-1", Name: "rack 7", ProvisionState: states.Active, Power: states.PowerOn, TargetPower: states.PowerOff,
	}
	record, event := powersync.SettleRequest(record, states.PowerSoftOff, powersync.ErrNotReached)
	fmt.Println(event.Outcome, record.Power, record.TargetPower)
	fmt.Println(record.LastError)
	// Output:
	// power_not_set power on none
	// node rack 7 (node-1): request for "soft power off" failed: power state not reached
}
