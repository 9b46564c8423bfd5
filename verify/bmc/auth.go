package bmc

import (
	"fmt"
	"slices"
	"strings"
)

// Auth is how Redfish credentials are presented, as Ironic's redfish_auth_type
// says it.
type Auth uint8

const (
	// AuthAuto opens a session, or uses HTTP Basic authentication where the
	// service has no sessions. A log-in that fails for another reason is not
	// repeated by Basic authentication, as sushy, which Ironic uses, does (4.3.3,
	// auth.py): with a wrong password that is a second failed login.
	AuthAuto Auth = iota
	// AuthSession opens a session, and fails where the service has none.
	AuthSession
	// AuthBasic sends the user and the password with each request.
	AuthBasic
)

var authWords = [...]string{AuthAuto: "auto", AuthSession: "session", AuthBasic: "basic"}

// ParseAuth returns the Auth of a word of Ironic's: "auto", "session" or "basic".
func ParseAuth(word string) (Auth, error) {
	i := slices.Index(authWords[:], word)
	if i < 0 {
		return AuthAuto, fmt.Errorf("unknown authentication %q; known: %s", word, strings.Join(authWords[:], ", "))
	}
	return Auth(i), nil
}

// String returns Ironic's word.
func (a Auth) String() string {
	if int(a) < len(authWords) {
		return authWords[a]
	}
	return fmt.Sprintf("Auth(%d)", uint8(a))
}
