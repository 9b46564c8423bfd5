// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"slices"
	"strings"
)

// Vendor reads who made the firmware of a node's BMC, and who made the machine; each is "" if the BMC does not report
// it. An IPMI BMC has one manufacturer, which stands for the machine's.
func (d *Driver) Vendor(ctx context.Context, id string) (firmware, machine string, err error) {
	err = d.do(ctx, call{id: id, op: "read the vendor", shares: true}, func(ctx context.Context, conn connection) (err error) {
		firmware, machine, err = conn.vendor(ctx)
		return err
	})
	return firmware, machine, err
}

// Source: Vendor of the service root and Manufacturer of the system in DSP8010.
func (r *redfishConnection) vendor(ctx context.Context) (firmware, machine string, err error) {
	firmware, _ = r.root.at("Vendor").(string) // of another type, it tells nothing
	system, err := r.readSystem(ctx)
	if err == nil {
		err = system.raw.Get("Manufacturer", &machine)
	}
	return firmware, machine, err
}

// Health reads the health of a node's machine with all of its parts: "OK", "WARNING" or "CRITICAL", or "" if the BMC
// does not report it. Over IPMI the error is of the kind [verify.Unsupported].
//
// Source: get_node_health in ironic/drivers/modules/redfish/management.py; Health in Status of DSP8010.
func (d *Driver) Health(ctx context.Context, id string) (string, error) {
	return fromSystem(ctx, d, call{id: id, op: "read the health", shares: true}, func(r *reader) (string, error) {
		var status struct{ Health string }
		err := r.raw.Get("Status", &status)
		if health := strings.ToUpper(status.Health); err == nil && slices.Contains([]string{"OK", "WARNING", "CRITICAL"}, health) {
			return health, nil
		}
		return "", err
	})
}

// BootProgress reads how far a node's machine has booted, such as "OSBootStarted", or "" if the BMC does not report it.
// Over IPMI the error is of the kind [verify.Unsupported].
//
// Source: LastState in BootProgress of ComputerSystem in DSP8010, since version 1.13.
func (d *Driver) BootProgress(ctx context.Context, id string) (string, error) {
	return fromSystem(ctx, d, call{id: id, op: "read the boot progress"}, func(r *reader) (string, error) {
		var progress struct{ LastState string }
		_ = r.raw.Get("BootProgress", &progress) // of another type, it tells nothing
		return progress.LastState, nil
	})
}
