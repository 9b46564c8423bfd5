// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/verify/secret"
)

// The user of a BMC whose configuration names none.
const (
	DefaultUser     = "admin"
	DefaultPassword = "bmctest-password"
)

// Power states of a system, as the ComputerSystem schema spells them.
const (
	powerOn  = "On"
	powerOff = "Off"

	poweringOn  = "PoweringOn"
	poweringOff = "PoweringOff"
)

// RedfishConfig configures a Redfish BMC. The zero value is a BMC without faults on a free port of the loopback
// interface, with one user and one system "1" that is off.
type RedfishConfig struct {
	Addr    string   // host:port to listen on; "127.0.0.1:0" if empty
	Systems []System // one system if empty; its ID is the profile's, or else "1"

	// Profile is the family of BMCs that this one belongs to, such as Lenovo(). The zero value has no quirks.
	Profile Profile

	// Users has the password of each user; DefaultUser with DefaultPassword if empty.
	Users map[string]secret.Text

	Certificate Certificate // the defect of the BMC's certificate, if any
	// Authority signs the BMC's certificate, so that clients trust many BMCs with one file; [NewAuthority] makes one.
	// It has a Leaf and an ECDSA key. If Authority is nil, the BMC has its own.
	Authority *tls.Certificate

	Faults []Fault // set from the start, as by AddFault

	// OnMedia, if not nil, is called when an image is inserted into the slot with an ID, and with an empty image when it
	// is ejected. The BMC is locked then, as for System.OnPower.
	OnMedia func(slot, image string)

	// LockAfter is the number of failed logins in a row after which an account is locked: the BMC then answers 403 even
	// to the right password. If LockAfter is 0, accounts are never locked.
	LockAfter int

	// NoSessions leaves out the session service: clients use HTTP Basic authentication, as with the emulator of
	// sushy-tools.
	NoSessions bool

	// MaxSessions is the number of sessions that may be open at a time; 0 stands for 16. The answer to one more is 503.
	MaxSessions int

	// SessionTimeout is the time after which an unused session ends; 0 stands for 30 minutes.
	SessionTimeout time.Duration

	// PowerDelay is the time that a system takes to power on or off; until then it is PoweringOn or PoweringOff. If
	// PowerDelay is 0, the change is immediate.
	PowerDelay time.Duration
}

// System is one server behind a BMC.
type System struct {
	ID    string // last element of its URI: letters, digits, '-', '_' and '.'; the profile's if empty
	Name  string // the name by which clients select it; the ID if empty
	Power string // the power state at the start, "On" or "Off"; "Off" if empty; any text is allowed

	Hardware Hardware // its parts; a small server if zero

	// OnPower, if not nil, is called when the system is powered on, reset or powered off, also by SetPower. When it is on,
	// source is the target of the boot override in force, such as "Cd", or "None", and image is the URL of the image in
	// the slot that the source stands for. A CD is "Cd", also if the profile has another word for it. The function is
	// called while the BMC is locked: it must return soon and must not call the BMC. Machine.Power of package agenttest is
	// such a function.
	OnPower func(on bool, source, image string)
}

const (
	defaultMaxSessions    = 16
	defaultSessionTimeout = 30 * time.Minute
)

var validID = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// complete returns the configuration with its defaults, or an error if it is invalid.
func (c RedfishConfig) complete() (RedfishConfig, error) {
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.MaxSessions == 0 {
		c.MaxSessions = defaultMaxSessions
	}
	if c.SessionTimeout == 0 {
		c.SessionTimeout = defaultSessionTimeout
	}
	c.Users = usersOrDefault(c.Users)
	c.Profile = c.Profile.complete()
	c.Systems = slices.Clone(c.Systems)
	if len(c.Systems) == 0 {
		c.Systems = make([]System, 1)
	}
	for i := range c.Systems {
		s := &c.Systems[i]
		s.ID = cmp.Or(s.ID, c.Profile.SystemID)
		s.Name = cmp.Or(s.Name, s.ID)
		s.Power = cmp.Or(s.Power, powerOff)
	}
	return c, c.check()
}

func (c RedfishConfig) check() error {
	var errs []error
	invalid := func(field string, value any, want string) {
		errs = append(errs, &machine.ConfigError{Package: "bmctest", Field: field, Value: value, Want: want})
	}
	for name, value := range sorted.All(map[string]int64{
		"LockAfter":      int64(c.LockAfter),
		"MaxSessions":    int64(c.MaxSessions),
		"SessionTimeout": int64(c.SessionTimeout),
		"PowerDelay":     int64(c.PowerDelay),
	}) {
		if value < 0 {
			invalid(name, value, "0 or more")
		}
	}
	if bad := BadCertificates(); c.Certificate != "" && !slices.Contains(bad, c.Certificate) {
		invalid("Certificate", c.Certificate, fmt.Sprintf("one of %q", bad))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Users)) {
		if name == "" || strings.Contains(name, ":") {
			invalid("Users", name, "names without a colon")
		}
		if c.Users[name].IsZero() {
			invalid("Users", name, "a password for each user")
		}
	}
	if c.Authority != nil {
		if err := checkAuthority(c.Authority); err != nil {
			invalid("Authority", err, "a certificate with its Leaf and an ECDSA key")
		}
	}
	c.Profile.check(invalid)
	seen := map[string]bool{c.Profile.Baseboard: true}
	for _, s := range c.Systems {
		if !validID.MatchString(s.ID) || seen[s.ID] {
			invalid("Systems.ID", s.ID, "IDs of letters, digits, '-', '_' and '.', each once")
		}
		seen[s.ID] = true
	}
	return errors.Join(errs...)
}

func usersOrDefault(users map[string]secret.Text) map[string]secret.Text {
	if len(users) == 0 {
		return map[string]secret.Text{DefaultUser: secret.New(DefaultPassword)}
	}
	return maps.Clone(users)
}

// seconds rounds up, because Redfish has times in whole seconds.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
