package bmc

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"time"
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

// Secret is a password. However it is printed or logged, it shows as "***", and
// it refuses to be encoded as text or JSON.
type Secret string

// Format implements [fmt.Formatter]: "***" for every verb.
func (Secret) Format(f fmt.State, _ rune) { io.WriteString(f, "***") }

// LogValue implements [slog.LogValuer].
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalText always fails.
func (Secret) MarshalText() ([]byte, error) { return nil, errors.New("a secret is not encoded") }

// Config says which BMC is asked, and how. Its zero value lacks a Host and a
// User, all else has a default.
type Config struct {
	Host     string // a name or an address, without a port
	User     string
	Password Secret
	Protocol Protocol

	// RedfishPort and IPMIPort are used where not 0; they default to 443 and
	// 623.
	RedfishPort, IPMIPort int

	// RootCAs are the authorities that may sign the BMC's certificate; nil
	// stands for the system's.
	RootCAs *x509.CertPool
	// InsecureSkipTLSVerify takes any certificate. Whoever is on the way to the
	// BMC can then read its password.
	InsecureSkipTLSVerify bool

	// SystemName chooses among the systems of a Redfish service that has
	// several, by the system's Name.
	SystemName string

	// CipherSuite is IPMI's, such as "17". Empty tries 3, then 17 if the BMC
	// lacks 3.
	CipherSuite string

	// Timeout bounds one verification, log-out included; 0 stands for 30 s.
	Timeout time.Duration
}

// withDefaults fills in what is left to a default.
func (c Config) withDefaults() Config {
	c.RedfishPort = cmp.Or(c.RedfishPort, 443)
	c.IPMIPort = cmp.Or(c.IPMIPort, 623)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	return c
}

// check returns what makes the configuration unusable.
func (c Config) check() error {
	switch {
	case c.Host == "":
		return errors.New("the host is empty")
	case !validHost(c.Host):
		return fmt.Errorf("the host %q is not a name or an address; a port goes into RedfishPort or IPMIPort", c.Host)
	case c.User == "":
		return errors.New("the user is empty")
	case strings.ContainsRune(c.User+string(c.Password), 0):
		return errors.New("the user or the password has a NUL in it")
	case int(c.Protocol) >= len(protocolWords):
		return fmt.Errorf("unknown protocol %v", c.Protocol)
	case c.RedfishPort < 1 || c.RedfishPort > 65535:
		return fmt.Errorf("the Redfish port %d is not from 1 to 65535", c.RedfishPort)
	case c.IPMIPort < 1 || c.IPMIPort > 65535:
		return fmt.Errorf("the IPMI port %d is not from 1 to 65535", c.IPMIPort)
	case c.Timeout < 0:
		return fmt.Errorf("the timeout %v is negative", c.Timeout)
	case strings.Trim(c.CipherSuite, "0123456789") != "":
		return fmt.Errorf("the cipher suite %q is not a number", c.CipherSuite)
	case c.Protocol == IPMI:
		return c.checkIPMI()
	default:
		return nil
	}
}

// checkIPMI returns what IPMI 2.0 cannot carry (section 13.20: 16 bytes of user
// name, section 22.30: 20 of password).
func (c Config) checkIPMI() error {
	switch {
	case len(c.User) > 16:
		return errors.New("the user name is longer than IPMI's 16 bytes")
	case len(c.Password) > 20:
		return errors.New("the password is longer than IPMI's 20 bytes")
	default:
		return nil
	}
}

// validHost reports whether host is an IP address or could be a name: bmclib puts
// it into URLs and argument lists.
func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return !strings.HasPrefix(host, "-") && !strings.ContainsFunc(host, func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
