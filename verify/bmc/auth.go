package bmc

import "github.com/ironstate/ironstate/internal/enum"

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

var authWords = &enum.Words{Type: "Auth", Kind: "authentication", Words: []string{
	AuthAuto: "auto", AuthSession: "session", AuthBasic: "basic",
}}

// ParseAuth returns the Auth of a word of Ironic's: "auto", "session" or "basic".
// Any other word is a [*states.UnknownError].
func ParseAuth(word string) (a Auth, err error) {
	err = enum.Unmarshal(authWords, &a, []byte(word))
	return a, err
}

// String returns Ironic's word, or a form like "Auth(9)" for a number that is none.
func (a Auth) String() string { return authWords.String(uint8(a)) }
