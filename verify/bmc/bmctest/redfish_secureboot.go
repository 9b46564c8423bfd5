// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"encoding/json"
	"net/http"

	"github.com/ironstate/ironstate/internal/sorted"
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
	o := newResource(s.path()+"/SecureBoot", "SecureBoot.v1_1_2", "UEFI Secure Boot")
	o["SecureBootEnable"] = s.secureBoot.enabled
	o["SecureBootMode"] = "UserMode"
	o["SecureBootCurrentBoot"] = "Disabled"
	if s.secureBoot.current {
		o["SecureBootCurrentBoot"] = "Enabled"
	}
	return o
}

func (s *system) patchSecureBoot(c *call) reply {
	body, ok := members(c.body)
	if !ok {
		return badJSON()
	}
	enabled := s.secureBoot.enabled
	for name, raw := range sorted.All(body) {
		property := member{name: name}
		switch name {
		case "SecureBootEnable":
			if string(raw) == "null" || json.Unmarshal(raw, &enabled) != nil {
				return property.wrongType(string(raw))
			}
		case "SecureBootMode", "SecureBootCurrentBoot":
			return property.readOnly()
		default:
			return property.unknown()
		}
	}
	s.secureBoot.enabled = enabled
	return show(http.StatusOK, s.secureBootObject())
}
