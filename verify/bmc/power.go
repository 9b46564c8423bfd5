// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"strings"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// parsePower returns the power state of a driver's answer: Redfish's PowerState, or the
// line that ipmitool prints. As in Ironic's redfish driver, a machine that is powering
// on counts as on, and one that is powering off as off.
func parsePower(answer string) (states.Power, error) {
	word := strings.ToLower(strings.TrimSpace(answer))
	switch strings.TrimPrefix(word, "chassis power is ") {
	case "on", "poweringon":
		return states.PowerOn, nil
	case "off", "poweringoff":
		return states.PowerOff, nil
	default:
		return states.NoPower, failure.Unsupportedf("the power state read is %q", answer)
	}
}
