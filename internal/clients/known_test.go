package clients_test

// known names the tests that do not pass, by suite, each with the reason.
type known map[string]map[string]string

var (
	// knownOfSeries do not pass on any server of series 2023.1.
	knownOfSeries = map[string]string{
		"v1/TestNodesFirmwareInterface": "needs API 1.86, and the series has 1.82",
		"v1/TestNodesServicingHold":     "needs API 1.87, and the series has 1.82",
		"v1/TestNodesVirtualMedia":      "needs API 1.93, and the series has 1.82",
	}

	knownOfDebian = known{
		"gophercloud": knownOfSeries,
		"cli": because(map[string][]string{
			"answered by 500: Ironic 21.4.4 looks for a column chassis_uuid, which its table of nodes does not have": {
				"properties/node show --instance 00000000-0000-0000-0000-000000000a01 --fields chassis_uuid -f yaml",
			},
			"answered by 500: Ironic 21.4.4 looks at the value of a removal, which has none": {
				"properties/node unset one --automated-clean",
			},
		}),
	}

	knownOfConductor = known{
		"gophercloud": knownOfSeries,
		"cli": because(map[string][]string{
			"fake-hardware's deploy interface direct has no agent, so that no cleaning waits for one": {
				"agent/node show agent --fields provision_state target_provision_state last_error maintenance -f yaml",
				"agent/node provide agent #2",
				"agent/node power on agent",
				"agent/node abort agent",
				"agent/node show agent --fields provision_state target_provision_state last_error maintenance fault clean_step -f yaml",
				"agent/node abort agent #2",
				"agent/node show agent --fields provision_state target_provision_state -f yaml",
				"agent/node abort agent #3",
			},
			"fake-hardware keeps no BIOS settings": {
				`cleaning/node bios setting list dirty -f value -c "BIOS setting name" -c "BIOS setting value"`,
				"cleaning/node bios setting show dirty speed -f yaml",
			},
			"the arguments that a step needs are not checked": {
				"cleaning/node show dirty --fields provision_state last_error -f yaml",
				"cleaning/node manage dirty --wait #3",
			},
			"a deployment with a step that the hardware does not have fails": {
				"deploysteps/node show steps --fields provision_state last_error deploy_step -f yaml",
			},
			"a client may change a core step of a deployment": {
				`deploysteps/node rebuild steps --deploy-steps '[{"interface": "deploy", "step": "deploy", "priority": 80, "args": {}}]'`,
			},
			"network data is not checked": {
				`details/node set one --network-data '{"nonsense": 1}'`,
			},
			"retired is false again after its removal, and null in Ironic": {
				"details/node show one --fields retired retired_reason -f yaml #2",
			},
			"no image is looked at, so that its type is not noted": {
				"life/node show life --fields provision_state target_provision_state last_error deploy_step instance_uuid instance_info -f yaml",
			},
			"a port that the machine boots from joins no port group without standalone ports, which Ironic checks with Neutron alone": {
				"portgroups/port set 00000000-0000-0000-0000-000000000501 --port-group $group",
				"portgroups/port list --port-group band -f value -c UUID",
			},
			"--reset-interfaces resets them even where the driver stays the same": {
				"properties/node show one --fields driver rescue_interface vendor_interface -f yaml",
				"properties/node show one -f json",
			},
			"the fault is worded otherwise": {
				"volumes/volume connector create --node 00000000-0000-0000-0000-00000000080f --type ip --connector-id 192.0.2.1",
				"volumes/volume target create --node 00000000-0000-0000-0000-00000000080f --type iscsi --boot-index 1 --volume-id x",
			},
		}),
	}
)

// because returns the reason of each name.
func because(names map[string][]string) map[string]string {
	reasons := map[string]string{}
	for reason, names := range names {
		for _, name := range names {
			reasons[name] = reason
		}
	}
	return reasons
}
