// SPDX-License-Identifier: Apache-2.0

package promises_test

import (
	"fmt"
	"log"

	"github.com/ironstate/ironstate/conductor/promises"
	"github.com/ironstate/ironstate/states"
)

// The log of a store has two versions of a node, in which a conductor took over the work of another that was alive.
func ExampleRules() {
	rules := promises.Rules{Table: states.Latest().Table(), MaxTransitions: 20}
	var versions []*promises.Version
	for _, value := range []string{
		`{"provision_state": "cleaning", "target_provision_state": "available", "reservation": "alpha", "claim": "alpha/1"}`,
		`{"provision_state": "cleaning", "target_provision_state": "available", "reservation": "beta", "claim": "beta/1"}`,
	} {
		v, err := promises.Decode([]byte(value))
		if err != nil {
			log.Fatal(err)
		}
		versions = append(versions, v)
	}
	added, broken := rules.Write(versions[0], versions[1], true)
	fmt.Println(len(added), "transitions")
	for _, text := range broken {
		fmt.Println(text)
	}
	// Output:
	// 0 transitions
	// the reservation of alpha (alpha/1) passed to beta (beta/1) without being dropped
}
