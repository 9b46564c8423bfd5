// SPDX-License-Identifier: Apache-2.0

package conductor

import "github.com/ironstate/ironstate/machine/admission"

// rulebook decides by the configuration and by the descriptions of the hardware types what happens to a node's record.
// Its methods do no I/O: they get the time and the answers of hardware types from their callers. They are in the files
// rules_*.go by what they decide, or beside the functions that carry it out.
type rulebook struct {
	config *Config
	types  *descriptions
}

// admission returns the rules of package admission, with the configured options.
func (b *rulebook) admission() admission.Rules {
	return admission.Rules{
		Table: b.config.Table, NoProvisioningInMaintenance: b.config.NoProvisioningInMaintenance,
		KeepAvailable: b.config.KeepAvailable, DisallowedSteps: b.config.DisallowedSteps,
		DisallowedBootModes: b.config.DisallowedBootModes,
	}
}
