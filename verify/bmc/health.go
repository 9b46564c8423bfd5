// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"slices"
	"strings"
)

// Manufacturer reads who made a node's machine, "" if the BMC does not report it. Over IPMI the error is of the kind
// [verify.Unsupported].
func (d *Driver) Manufacturer(ctx context.Context, id string) (manufacturer string, err error) {
	err = d.redfish(ctx, 0, id, "read the manufacturer", func(ctx context.Context, r *redfishConnection) error {
		system, err := readSystem(ctx, r.client)
		if err != nil {
			return err
		}
		return system.Get("Manufacturer", &manufacturer)
	})
	return manufacturer, err
}

// Health reads the health of a node's machine with all of its parts: "OK", "WARNING" or "CRITICAL", or "" if the BMC
// does not report it. Over IPMI the error is of the kind [verify.Unsupported].
//
// Source: get_node_health in ironic/drivers/modules/redfish/management.py; Health in Status of DSP8010.
func (d *Driver) Health(ctx context.Context, id string) (health string, err error) {
	err = d.redfish(ctx, 0, id, "read the health", func(ctx context.Context, r *redfishConnection) error {
		system, err := readSystem(ctx, r.client)
		if err != nil {
			return err
		}
		var status struct{ Health string }
		if err := system.Get("Status", &status); err != nil {
			return err
		}
		health = strings.ToUpper(status.Health)
		if !slices.Contains([]string{"OK", "WARNING", "CRITICAL"}, health) {
			health = ""
		}
		return nil
	})
	return health, err
}
