// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// The API's word for an event is not always the table's.
func ExampleEvent() {
	event, err := states.ParseVerb("undeploy")
	fmt.Println(event, event.Verb(), err)
	fmt.Println(states.EventClean.Requires())
	_, err = states.ParseVerb("done") // the conductor's own
	fmt.Printf("%.60v ...\n", err)
	// Output:
	// delete deleted <nil>
	// clean_steps
	// unknown verb "done"; known: manage, provide, active, deploy, ...
}

// Target is the power state of the hardware after a power request.
func ExamplePower() {
	for _, word := range []string{"soft power off", "rebooting"} {
		power, err := states.ParsePower(word)
		fmt.Printf("%v ends in %v, %v\n", power, power.Target(), err)
	}
	// Output:
	// soft power off ends in power off, <nil>
	// rebooting ends in power on, <nil>
}

// A scheduler passes over nodes that are not ready for an instance.
func ExampleCanSchedule() {
	fmt.Println(states.CanSchedule(states.Available, states.PowerOff, false, ""))
	fmt.Println(states.CanSchedule(states.Enroll, states.NoPower, false, ""))
	fmt.Println(states.CanSchedule(states.Available, states.PowerOff, true, ""))
	// Output:
	// true
	// false
	// false
}
