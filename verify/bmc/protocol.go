package bmc

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Protocol is how a BMC is spoken to. The zero value stands for [Auto].
type Protocol string

const (
	// Auto is Redfish, then IPMI if the BMC has no Redfish: nothing listens on
	// its port, or what listens has no Redfish service. Any other failure ends
	// the attempt, one of credentials above all.
	Auto Protocol = "auto"
	// Redfish is DMTF's Redfish over HTTPS (DSP0266).
	Redfish Protocol = "redfish"
	// IPMI is IPMI 2.0 over LAN (RMCP+).
	IPMI Protocol = "ipmi"
)

// Auth is how Redfish credentials are presented, as Ironic's redfish_auth_type
// says it. The zero value stands for [AuthAuto].
type Auth string

const (
	// AuthAuto opens a session, or uses HTTP Basic authentication where the
	// service has no sessions. A log-in that fails for another reason is not
	// repeated by Basic authentication, as sushy, which Ironic uses, does (4.3.3,
	// auth.py): with a wrong password that is a second failed login.
	AuthAuto Auth = "auto"
	// AuthSession opens a session, and fails where the service has none.
	AuthSession Auth = "session"
	// AuthBasic sends the user and the password with each request.
	AuthBasic Auth = "basic"
)

// oneOf returns an error unless a word is one of those that are known.
func oneOf[T ~string](kind string, word T, all ...T) error {
	if slices.Contains(all, word) {
		return nil
	}
	e := &states.UnknownError{Kind: kind, Word: string(word)}
	for _, w := range all {
		e.Known = append(e.Known, string(w))
	}
	return e
}
