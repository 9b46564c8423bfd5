package bmc

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"strconv"
	"strings"

	bmclib "github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers/ipmitool"

	"github.com/ironstate/ironstate/verify"
)

// ipmiLink is IPMI over LAN, by bmclib's ipmitool driver.
type ipmiLink struct {
	config Config
	driver *guarded
}

func newIPMI(c Config) *ipmiLink { return &ipmiLink{config: c} }

func (l *ipmiLink) protocol() string { return IPMI.String() }

func (l *ipmiLink) provider() *guarded { return l.driver }

func (l *ipmiLink) address() string {
	return net.JoinHostPort(l.config.Host, strconv.Itoa(l.config.IPMIPort))
}

// defaultSuites are tried in this order. Suite 17 is the stronger one and needs a
// BMC of 2013 or later; 3 is what all have.
var defaultSuites = []string{"3", "17"}

func (l *ipmiLink) open(ctx context.Context) (*bmclib.Client, error) {
	if err := l.config.checkIPMI(); err != nil {
		return nil, &failure{verify.Misconfigured, err}
	}
	program, err := exec.LookPath("ipmitool")
	if err != nil {
		err = errors.New("the program ipmitool is not installed: IPMI needs it (Debian package ipmitool)")
		return nil, &failure{verify.Misconfigured, err}
	}
	if err := probeIPMI(ctx, l.address()); err != nil {
		return nil, err
	}

	suites := defaultSuites
	if l.config.CipherSuite != "" {
		suites = []string{l.config.CipherSuite}
	}
	for i, suite := range suites {
		var client *bmclib.Client
		client, err = l.openWith(ctx, program, suite)
		if err == nil || i == len(suites)-1 || !suiteRefused(err) {
			return client, err
		}
	}
	return nil, err
}

// openWith opens the driver with one cipher suite. Left alone it tries two, and
// the second also after a wrong password, which is a second failed login.
func (l *ipmiLink) openWith(ctx context.Context, program, suite string) (*bmclib.Client, error) {
	host := l.config.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	conn, err := ipmitool.New(host, l.config.User, string(l.config.Password),
		ipmitool.WithPort(strconv.Itoa(l.config.IPMIPort)),
		ipmitool.WithCipherSuite(suite),
		ipmitool.WithIpmitoolPath(program),
	)
	if err != nil {
		return nil, err
	}
	l.driver = &guarded{provider: conn}
	client := newClient(l.config, l.driver, IPMI, ipmitool.Features)
	if err := client.Open(ctx); err != nil {
		return nil, l.diagnose(ctx, l.driver.cause(err))
	}
	return client, nil
}

// suiteRefused reports whether the BMC refused the cipher suite, which it does
// before the user is named.
func suiteRefused(err error) bool {
	text := err.Error()
	return strings.Contains(text, "Error in open session response") && !strings.Contains(text, "resource")
}

// diagnose tells why ipmitool found no session. Its text is the same for a BMC
// that refuses and one that is silent, so the BMC is asked once more.
func (l *ipmiLink) diagnose(ctx context.Context, err error) error {
	seen := errors.New(l.config.scrub(err.Error()))
	switch {
	case ctx.Err() != nil:
		return err
	case suiteRefused(err), strings.Contains(err.Error(), "Unsupported cipher suite"):
		return &failure{verify.Unsupported, seen}
	case !strings.Contains(err.Error(), "Unable to establish"):
		return &failure{verify.Protocol, seen}
	}
	if silent := probeIPMI(ctx, l.address()); silent != nil {
		return silent
	}
	return &failure{verify.Credentials, seen}
}

// checkManagement has nothing to ask: IPMI has the boot device in its set of
// chassis commands, which the power state is read with too.
func (l *ipmiLink) checkManagement(context.Context, *bmclib.Client) error { return nil }

// close has nothing to do: each run of ipmitool closes its session.
func (l *ipmiLink) close(context.Context) {}

func (l *ipmiLink) explain(err error) (verify.Kind, error) {
	var known *failure
	if errors.As(err, &known) {
		return known.kind, known.err
	}
	return verify.Protocol, errors.New(l.config.scrub(err.Error()))
}
