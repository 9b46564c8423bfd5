// SPDX-License-Identifier: Apache-2.0

package clients

// known names the tests that do not pass, by suite, each with the reason.
type known map[string]map[string]string

var (
	// knownOfSeries are the tests that pass on no server of series 2023.1.
	knownOfSeries = map[string]string{
		"v1/TestNodesFirmwareInterface": "needs API 1.86, and the series has 1.82",
		"v1/TestNodesServicingHold":     "needs API 1.87, and the series has 1.82",
		"v1/TestNodesVirtualMedia":      "needs API 1.93, and the series has 1.82",
	}

	// knownOfTempest are the tests that need a service other than Ironic.
	knownOfTempest = map[string]string{
		"setUpClass (ironic_tempest_plugin.tests.api.admin.test_nodes.TestNodesVif)": "needs a Neutron, and is skipped",
	}

	knownOfDebian = known{
		"gophercloud": knownOfSeries,
		"tempest":     knownOfTempest,
		"cli": because(map[string][]string{
			"answered by 500: Ironic 21.4.4 looks for a column chassis_uuid, which its table of nodes does not have": {
				"properties/node show --instance 00000000-0000-0000-0000-000000000a01 --fields chassis_uuid -f yaml",
			},
			"answered by 500: Ironic 21.4.4 looks at the value of a removal, which has none": {
				"properties/node unset one --automated-clean",
			},
		}),
	}

	// knownOfLater are the known failures of the clients in later Debians; the clients' other results are compared with
	// the Ironic beside them.
	knownOfLater = known{
		"cli": because(map[string][]string{
			"Ironic prints the keys of a step in the order of its code, and ironstate sorts them": {"life/node history list life"},
		}),
		"tempest": because(map[string][]string{
			"needs a Neutron, and is skipped": {"setUpClass (ironic_tempest_plugin.tests.api.admin.test_nodes.TestNodesVif)"},
			"needs the console interface fake-graphical, and is skipped": {
				"setUpClass (ironic_tempest_plugin.tests.api.admin.test_console.TestGraphicalConsole)",
				"setUpClass (ironic_tempest_plugin.tests.api.admin.test_nodes.TestNodeGraphicalConsole)",
			},
		}),
	}

	knownOfConductor = known{
		"gophercloud": knownOfSeries,
		"tempest":     knownOfTempest,
		"cli": because(map[string][]string{
			"retired is false again after its removal, and null in Ironic": {
				"details/node show one --fields retired retired_reason -f yaml #2",
			},
		}),
	}
)

// because inverts a map from reasons to names.
func because(names map[string][]string) map[string]string {
	reasons := map[string]string{}
	for reason, names := range names {
		for _, name := range names {
			reasons[name] = reason
		}
	}
	return reasons
}
