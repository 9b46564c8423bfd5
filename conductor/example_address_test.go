// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"fmt"
	"net/netip"

	"github.com/ironstate/ironstate/conductor"
)

// Agents of one network speak through a proxy, so that their heartbeats come from its address.
func ExampleAgentNetworks() {
	networks := conductor.AgentNetworks{netip.MustParsePrefix("10.2.0.0/16")}
	config := conductor.Config{AgentAddress: networks.Check}
	proxy := netip.MustParseAddr("192.0.2.1")
	for _, agent := range []string{"10.2.0.7", "10.3.0.7", "127.0.0.1"} {
		fmt.Println(config.AgentAddress(proxy, netip.MustParseAddr(agent)))
	}
	// Output:
	// <nil>
	// 10.3.0.7 is neither the address of the heartbeat, 192.0.2.1, nor in a network of agents
	// 127.0.0.1 is in 127.0.0.0/8, which no network of agents lists
}
