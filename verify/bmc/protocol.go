package bmc

import (
	"fmt"
	"strings"
)

// Protocol is how a BMC is spoken to.
type Protocol uint8

const (
	// Auto is Redfish, then IPMI if the BMC has no Redfish: nothing listens on
	// its port, or what listens has no Redfish service. Any other failure ends
	// the attempt, one of credentials above all.
	Auto Protocol = iota
	// Redfish is DMTF's Redfish over HTTPS (DSP0266).
	Redfish
	// IPMI is IPMI 2.0 over LAN (RMCP+).
	IPMI
)

var protocolWords = [...]string{Auto: "auto", Redfish: "redfish", IPMI: "ipmi"}

// ParseProtocol returns the protocol of a word: "auto", "redfish" or "ipmi".
func ParseProtocol(word string) (Protocol, error) {
	for p, known := range protocolWords {
		if word == known {
			return Protocol(p), nil
		}
	}
	return Auto, fmt.Errorf("unknown protocol %q; known: %s", word, strings.Join(protocolWords[:], ", "))
}

// String returns the protocol's word.
func (p Protocol) String() string {
	if int(p) < len(protocolWords) {
		return protocolWords[p]
	}
	return fmt.Sprintf("Protocol(%d)", uint8(p))
}
