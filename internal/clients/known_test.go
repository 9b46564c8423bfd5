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
		"cli": {
			"properties/node show --instance 00000000-0000-0000-0000-000000000a01 --fields chassis_uuid -f yaml": "" +
				"answered by 500: Ironic 21.4.4 looks for a column chassis_uuid, which its table of nodes does not have",
			"properties/node unset one --automated-clean": "" +
				"answered by 500: Ironic 21.4.4 looks at the value of a removal, which has none",
		},
	}
)
