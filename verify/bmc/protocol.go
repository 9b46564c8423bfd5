// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// The words of Config.Protocol.
const (
	autoProtocol    = "auto"
	redfishProtocol = "redfish"
	ipmiProtocol    = "ipmi"
)

// The words of Config.BootMode.
const (
	uefiMode = "uefi"
	biosMode = "bios"
)

// The words of Config.Auth.
const (
	autoAuth    = "auto"
	sessionAuth = "session"
	basicAuth   = "basic"
)

// oneOf returns an error unless a word is one of the others.
func oneOf(kind, word string, all ...string) error {
	if slices.Contains(all, word) {
		return nil
	}
	return &states.UnknownError{Kind: kind, Word: word, Known: all}
}
