// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/verify"
)

// ipmiConnection is IPMI over LAN with the program ipmitool. Each run of ipmitool opens
// its own session.
type ipmiConnection struct {
	config Config
	scrub  *scrubber

	program string
	suite   string // the cipher suite that the BMC accepts
}

func newIPMI(c Config) *ipmiConnection {
	conn := &ipmiConnection{config: c, scrub: &scrubber{user: c.User}}
	conn.scrub.add(c.Password)
	return conn
}

func (c *ipmiConnection) protocol() string { return ipmiProtocol }

func (c *ipmiConnection) address() string {
	return net.JoinHostPort(c.config.Host, strconv.Itoa(c.config.IPMIPort))
}

func (c *ipmiConnection) begin() {}

func (c *ipmiConnection) expires() bool { return false }

func (c *ipmiConnection) scrubber() *scrubber { return c.scrub }

// defaultSuites are tried in this order. Suite 17 is the stronger one and needs a BMC
// of 2013 or later; all BMCs have suite 3. Without an explicit suite, ipmitool would
// also try a second one after a wrong password, which is a second failed login.
var defaultSuites = []string{"3", "17"}

func (c *ipmiConnection) open(ctx context.Context) error {
	if err := c.config.checkIPMI(); err != nil {
		return fail(verify.Misconfigured, err)
	}
	program, err := exec.LookPath("ipmitool")
	if err != nil {
		err = errors.New("the program ipmitool is not installed: IPMI needs it (Debian package ipmitool)")
		return fail(verify.Misconfigured, err)
	}
	c.program = program
	if err := probeIPMI(ctx, c.address()); err != nil {
		return err
	}
	suites := defaultSuites
	if c.config.CipherSuite != "" {
		suites = []string{c.config.CipherSuite}
	}
	for _, c.suite = range suites {
		if _, err = c.powerState(ctx); err == nil || !suiteRefused(err) {
			break
		}
	}
	return err
}

// suiteRefused reports whether the BMC refused the cipher suite, which it does
// before the user is named.
func suiteRefused(err error) bool {
	text := err.Error()
	return strings.Contains(text, "Error in open session response") && !strings.Contains(text, "resource")
}

// diagnose returns why ipmitool opened no session. Its text is the same for a BMC that
// refuses and one that is silent, so diagnose probes the BMC.
func (c *ipmiConnection) diagnose(ctx context.Context, err error) error {
	text := err.Error()
	switch {
	case ctx.Err() != nil:
		return err
	case suiteRefused(err), strings.Contains(text, "Unsupported cipher suite"):
		return unsupported(text)
	case !strings.Contains(text, "Unable to establish"):
		return err
	}
	if silent := probeIPMI(ctx, c.address()); silent != nil {
		return silent
	}
	return &failure{kind: verify.Credentials, text: text}
}

// checkManagement has nothing to check: the boot device is in the same set of IPMI
// chassis commands as the power state.
func (c *ipmiConnection) checkManagement(context.Context) error { return nil }

func (c *ipmiConnection) powerState(ctx context.Context) (string, error) {
	said, err := c.run(ctx, "chassis", "power", "status")
	if err != nil {
		return "", err
	}
	word, ok := strings.CutPrefix(strings.TrimSpace(said), "Chassis Power is ")
	if !ok {
		return "", garbled(fmt.Sprintf("ipmitool says %q, and no power state", said))
	}
	return word, nil
}

// setPower requests a power state if the machine is in another one.
func (c *ipmiConnection) setPower(ctx context.Context, word string) error {
	now, err := c.powerState(ctx)
	if err != nil {
		return err
	}
	if now == word || now == "off" && word == "soft" {
		return nil
	}
	said, err := c.run(ctx, "chassis", "power", word)
	if err == nil && !strings.HasPrefix(said, "Chassis Power Control: ") {
		err = garbled(fmt.Sprintf("ipmitool says %q, and not that the power is set", said))
	}
	return err
}

// close has nothing to do: each run of ipmitool closes its session.
func (c *ipmiConnection) close(context.Context) {}

// run runs ipmitool with a command, if the context permits it, and returns its output.
// The error says why no session was opened.
func (c *ipmiConnection) run(ctx context.Context, command ...string) (string, error) {
	arguments := append([]string{
		"-I", "lanplus", "-H", c.config.Host, "-p", strconv.Itoa(c.config.IPMIPort), "-U", c.config.User,
		"-C", c.suite, "-N", "5", "-E",
	}, command...)
	if err := fence.Check(ctx); err != nil {
		return "", err
	}
	said, err := runProgram(ctx, c.program, arguments, "IPMITOOL_PASSWORD="+c.config.Password.Reveal())
	if err != nil {
		err = c.diagnose(ctx, err)
	}
	return said, err
}
