// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/ipmitool"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/secret"
)

// Config selects a BMC and how to connect to it. Host, User and Password are required; all other fields have defaults.
type Config struct {
	Host     string // a name or an address, without a port
	User     string
	Password secret.Text
	// Protocol is "redfish" (DMTF's Redfish over HTTPS, DSP0266), "ipmi" (IPMI 2.0 over LAN, RMCP+), or "auto", which is
	// the default: Redfish, then IPMI if the BMC has no Redfish, because nothing listens on the Redfish port, or the
	// server there has no Redfish service or lets nobody read its root without credentials. Any other failure ends the
	// attempt, in particular refused credentials.
	Protocol string

	// RedfishPort and IPMIPort are the ports; 0 stands for 443 and 623.
	RedfishPort, IPMIPort int

	// RootCAs are the authorities that may sign the BMC's certificate; nil stands for the system's. A BMC that refuses a
	// TLS handshake is offered RSA key exchange in a second one, and then until the session ends, since some BMCs have TLS
	// 1.2 with it alone. Their certificates are verified, too, but there is no forward secrecy: who records the connection
	// and learns the BMC's key later can read the password.
	RootCAs *x509.CertPool
	// Fingerprint pins the BMC's certificate: the SHA-256 sum of its DER form in hexadecimal, colons allowed, as openssl
	// prints it. The certificate's authority, name and dates are then not checked.
	Fingerprint string
	// InsecureSkipTLSVerify accepts any certificate. An attacker in the network path
	// to the BMC can then read its password.
	InsecureSkipTLSVerify bool

	// Auth is the authentication method of Redfish, in the words of Ironic's redfish_auth_type: "session" opens a session,
	// and fails if the service has none; "basic" sends the user and the password with each request; "auto", which is the
	// default, opens a session, or uses HTTP Basic authentication if the service has no sessions, or says that it can have
	// no further one. After a log-in that fails for another reason, "auto" does not try Basic authentication. sushy, which
	// Ironic uses, does (4.3.3, auth.py): with a wrong password that is a second failed login.
	Auth string

	// BasePath precedes /redfish/v1/ in the paths of a Redfish service behind a proxy, such as "/bmc/17"; usually empty.
	BasePath string
	// SystemName or SystemID selects one of several systems of a Redfish service: by
	// the Name property, or by the last element of the resource's path. Without them it is the only one that can be booted
	// and reset; a system that cannot be read for the moment may be that one, so that the call fails.
	SystemName, SystemID string

	// CheckManagement makes a verification check the management interface as well: whether a system has a boot override.
	// Ironic's enroll specification has that step; its code in every release examined (4.2.5, 10.1.10, 21.4.4, 39.0.0)
	// validates only the power interface and reads the power state, which machines without a boot override have too.
	CheckManagement bool

	// AnyBIOSSetting lets [Driver.SetBIOS] send a setting of which the BMC has no registry, as Ironic does. Its type is
	// the type of its present value, and its value is not checked.
	AnyBIOSSetting bool

	// CipherSuite is IPMI's, such as "17". Empty tries 3, then 17 if the BMC lacks 3.
	CipherSuite string
	// BootMode is how the machine boots, "uefi" or "bios". A request for a boot device sets it: over IPMI always, with
	// "uefi" for empty; over Redfish if the BMC reports another mode, and never for empty.
	BootMode string
	// Vendor is who made the machine, as [Driver.Vendor] reads it. Over IPMI, the disk of a machine of Supermicro has
	// another boot device selector in UEFI mode.
	Vendor string
	// KeepBootTimeout leaves out the request that an IPMI BMC keep a boot device for
	// longer than 60 s (IPMI 2.0, section 28.13, parameter 3). Some BMCs refuse it.
	KeepBootTimeout bool

	// The following limits apply to one verification, or one call of a [Driver], of a Redfish BMC; 0 stands for the
	// default. Exceeding one is an error of the kind [verify.Protocol]; the log-out that follows does not count. Each run
	// of ipmitool may write 64 KiB.
	MaxBytes       int64 // bytes read in all, TLS and headers included; 16 MiB
	MaxAnswerBytes int64 // bytes of one answer's body, decompressed; 1 MiB
	MaxRequests    int   // requests sent; 64
	MaxMembers     int   // members read of the collection of systems; 256

	// Timeout bounds one verification, or one call of a [Driver]; 0 stands for 30 s over Redfish, and for another 90 s
	// over IPMI, since a BMC that cannot open a session at the moment is asked for up to a minute. A call of a Driver over
	// Redfish that reads or changes much, such as virtual media, has two minutes at least. Logging out of a BMC
	// that has stopped answering may take another two seconds. [verify.Manage] and [verify.Run] end a verification after
	// a minute if their context has no deadline.
	Timeout time.Duration
	// StepTimeout bounds each step of a verification: opening a session (the power interface), checking the boot device
	// (the management interface), and reading the power state. 0 means no bound other than Timeout.
	StepTimeout time.Duration

	// Pause is the time until a Redfish request is sent again that has failed for the moment; 0 stands for 3 s. Up to ten
	// attempts are made, in the time of the call, at a request that the BMC has not received and at one that only reads,
	// and between 3 and 22 at a change that a busy BMC refuses. Credentials that are refused are not sent again.
	Pause time.Duration

	// Log is told of each request that fails for the moment and that is repeated, and of a panic while a connection is
	// closed; nil stands for none.
	Log *slog.Logger

	redfishShare time.Duration // of the default Timeout with the protocol "auto"; 0 if Redfish may take all of it
}

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

// The defaults of Config.Timeout over Redfish and over IPMI, which is the time of the repetitions, and of one run of
// ipmitool.
const (
	defaultRedfishTimeout = 30 * time.Second
	defaultIPMITimeout    = ipmitool.RetryTime + 30*time.Second
)

// complete returns the configuration with its defaults, or an error if it is invalid.
func (c Config) complete() (Config, error) {
	c.Protocol = cmp.Or(c.Protocol, autoProtocol)
	c.Auth = cmp.Or(c.Auth, redfish.AutoAuth)
	c.RedfishPort = cmp.Or(c.RedfishPort, 443)
	c.IPMIPort = cmp.Or(c.IPMIPort, 623)
	switch {
	case c.Timeout != 0:
	case c.Protocol == ipmiProtocol:
		c.Timeout = defaultIPMITimeout
	case c.Protocol == redfishProtocol:
		c.Timeout = defaultRedfishTimeout
	default:
		c.Timeout, c.redfishShare = defaultRedfishTimeout+defaultIPMITimeout, defaultRedfishTimeout
	}
	c.Pause = cmp.Or(c.Pause, pauseTime)
	c.MaxBytes = cmp.Or(c.MaxBytes, 16<<20)
	c.MaxAnswerBytes = cmp.Or(c.MaxAnswerBytes, 1<<20)
	c.MaxRequests = cmp.Or(c.MaxRequests, 64)
	c.MaxMembers = cmp.Or(c.MaxMembers, 256)
	if err := c.check(); err != nil {
		return Config{}, misconfigured(err)
	}
	return c, nil
}

func misconfigured(err error) *verify.Error {
	return &verify.Error{Op: "configure", Kind: verify.Misconfigured, Err: err}
}

// equal reports whether both configurations are the same but for the log. It compares pools of
// certificates by their contents.
func (c Config) equal(other Config) bool {
	if !c.RootCAs.Equal(other.RootCAs) {
		return false
	}
	if c.Password.Reveal() != other.Password.Reveal() {
		return false
	}
	c.RootCAs, other.RootCAs = nil, nil
	c.Password, other.Password = secret.Text{}, secret.Text{}
	c.Log, other.Log = nil, nil
	return c == other
}

// check returns an error if the configuration is invalid.
func (c Config) check() error {
	switch {
	case c.Host == "":
		return errors.New("the host is empty")
	case !validHost(c.Host) && strings.Contains(c.Host, "@"): // it is not quoted, since it may have a password
		return errors.New("the host has an @ in it: want a name or an address; the user and the password go into User and Password")
	case !validHost(c.Host):
		return fmt.Errorf("the host %q is not a name or an address; a port goes into RedfishPort or IPMIPort", c.Host)
	case c.User == "":
		return errors.New("the user is empty")
	case c.Password.IsZero():
		return errors.New("the password is empty")
	case strings.ContainsRune(c.User+c.Password.Reveal(), 0):
		return errors.New("the user or the password has a NUL in it")
	case c.RedfishPort < 1 || c.RedfishPort > 65535:
		return fmt.Errorf("the Redfish port %d is not from 1 to 65535", c.RedfishPort)
	case c.IPMIPort < 1 || c.IPMIPort > 65535:
		return fmt.Errorf("the IPMI port %d is not from 1 to 65535", c.IPMIPort)
	case strings.Trim(c.CipherSuite, "0123456789") != "":
		return fmt.Errorf("the cipher suite %q is not a number", c.CipherSuite)
	case c.MaxBytes < 0 || c.MaxAnswerBytes < 0 || c.MaxRequests < 0 || c.MaxMembers < 0:
		return errors.New("a limit is negative")
	case c.Timeout < 0 || c.StepTimeout < 0 || c.Pause < 0:
		return fmt.Errorf("the timeout %v is negative", min(c.Timeout, c.StepTimeout, c.Pause))
	}
	if err := cmp.Or(
		oneOf("protocol", c.Protocol, autoProtocol, redfishProtocol, ipmiProtocol),
		oneOf("authentication", c.Auth, redfish.AutoAuth, redfish.SessionAuth, redfish.BasicAuth),
		oneOf("boot mode", c.BootMode, "", uefiMode, biosMode),
		c.checkTLS(),
	); err != nil {
		return err
	}
	if err := c.checkRedfish(); err != nil {
		return err
	}
	if c.Protocol == ipmiProtocol {
		return c.checkIPMI()
	}
	return nil
}

func (c Config) checkRedfish() error {
	switch {
	case c.BasePath != "" && (path.Clean(c.BasePath) != c.BasePath || !path.IsAbs(c.BasePath)):
		return fmt.Errorf("the base path %q is not an absolute path without a slash at its end", c.BasePath)
	case c.SystemName != "" && c.SystemID != "":
		return errors.New("SystemName and SystemID exclude one another")
	case strings.Contains(c.SystemID, "/"):
		return fmt.Errorf("the system ID %q has a slash in it", c.SystemID)
	default:
		return nil
	}
}

// checkIPMI returns an error for credentials that are too long for IPMI 2.0 (section
// 13.20: 16 bytes of user name, section 22.30: 20 bytes of password).
func (c Config) checkIPMI() error {
	switch {
	case len(c.User) > 16:
		return errors.New("the user name is longer than IPMI's 16 bytes")
	case len(c.Password.Reveal()) > 20:
		return errors.New("the password is longer than IPMI's 20 bytes")
	default:
		return nil
	}
}

// validHost reports whether host is an IP address or a possible host name: bmclib puts
// the host into URLs and argument lists.
func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return !strings.HasPrefix(host, "-") && !strings.ContainsFunc(host, func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// oneOf returns an error unless a word is one of the others.
func oneOf(kind, word string, all ...string) error {
	if slices.Contains(all, word) {
		return nil
	}
	return &states.UnknownError{Kind: kind, Word: word, Known: all}
}
