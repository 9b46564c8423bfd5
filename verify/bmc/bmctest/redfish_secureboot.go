// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"net/http"
)

// secureBoot is the UEFI secure boot of a system.
type secureBoot struct {
	enabled bool // from the next power on or reset
	current bool // since the last one
}

// SecureBoot reports whether a system has booted with secure boot. The PATCH of a client takes effect when the system
// is powered on or reset, and only in the boot mode UEFI.
func (b *Redfish) SecureBoot(systemID string) bool {
	return ofSystem(b, systemID, func(s *system) bool { return s.secureBoot.current })
}

func (s *system) secureBootObject() object {
	o := newResource(s.path()+"/SecureBoot", "SecureBoot.v1_1_2", "UEFI Secure Boot", object{
		"SecureBootEnable":      s.secureBoot.enabled,
		"SecureBootMode":        "UserMode",
		"SecureBootCurrentBoot": "Disabled",
	})
	if s.secureBoot.current {
		o["SecureBootCurrentBoot"] = "Enabled"
	}
	return o
}

func (s *system) patchSecureBoot(c *call) *reply {
	enabled := s.secureBoot.enabled
	properties := setters{"SecureBootEnable": into(&enabled), "SecureBootMode": readOnly, "SecureBootCurrentBoot": readOnly}
	if refusal := properties.set("", c.body); refusal != nil {
		return refusal
	}
	s.secureBoot.enabled = enabled
	return show(http.StatusOK, s.secureBootObject())
}
