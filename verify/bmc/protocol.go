package bmc

import "github.com/ironstate/ironstate/internal/enum"

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

var protocolWords = &enum.Words{Type: "Protocol", Kind: "protocol", Words: []string{
	Auto: "auto", Redfish: "redfish", IPMI: "ipmi",
}}

// ParseProtocol returns the protocol of a word: "auto", "redfish" or "ipmi". Any
// other word is a [*states.UnknownError].
func ParseProtocol(word string) (p Protocol, err error) {
	err = enum.Unmarshal(protocolWords, &p, []byte(word))
	return p, err
}

// String returns the protocol's word, or a form like "Protocol(9)" for a number
// that is none.
func (p Protocol) String() string { return protocolWords.String(uint8(p)) }
