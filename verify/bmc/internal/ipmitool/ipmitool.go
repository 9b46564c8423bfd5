// SPDX-License-Identifier: Apache-2.0

// Package ipmitool talks IPMI over LAN to one BMC, with the program ipmitool. A run of the
// program is bounded in time and output, leaves no process, and logs in once.
package ipmitool

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/secret"
)

// Tool runs ipmitool for one BMC. Each run opens its own session. A Tool is used by one
// goroutine at a time.
type Tool struct {
	Host        string
	Port        int
	User        string
	Password    secret.Text
	CipherSuite string        // such as "17"; Open chooses one if it is empty
	ProbeWait   time.Duration // how long a BMC may take to answer a request without credentials

	program string
	suite   string // the cipher suite in use
}

// probe checks whether the BMC answers.
func (t *Tool) probe(ctx context.Context) error {
	return probe(ctx, t.Address(), slices.Repeat([]time.Duration{t.ProbeWait}, probeTries)...)
}

// Address returns the BMC's host and port.
func (t *Tool) Address() string { return net.JoinHostPort(t.Host, strconv.Itoa(t.Port)) }

// defaultSuites are tried in this order. Suite 17 is the stronger one and needs a BMC
// of 2013 or later; all BMCs have suite 3. Without an explicit suite, ipmitool would
// also try a second one after a wrong password, which is a second failed login.
var defaultSuites = []string{"3", "17"}

// Open finds the program, and a cipher suite that the BMC accepts. It reads the power state
// to check the credentials.
func (t *Tool) Open(ctx context.Context) error {
	program, err := exec.LookPath("ipmitool")
	if err != nil {
		err = errors.New("the program ipmitool is not installed: IPMI needs it (Debian package ipmitool)")
		return failure.New(verify.Misconfigured, err)
	}
	t.program = program
	if err := t.probe(ctx); err != nil {
		return err
	}
	suites := defaultSuites
	if t.CipherSuite != "" {
		suites = []string{t.CipherSuite}
	}
	for _, t.suite = range suites {
		if _, err = t.PowerState(ctx); err == nil || !suiteRefused(err) {
			break
		}
	}
	return err
}

// PowerState reads the power state, in ipmitool's words.
func (t *Tool) PowerState(ctx context.Context) (string, error) {
	said, err := t.Run(ctx, "chassis", "power", "status")
	if err != nil {
		return "", err
	}
	word, ok := strings.CutPrefix(strings.TrimSpace(said), "Chassis Power is ")
	if !ok {
		return "", failure.Protocolf("ipmitool says %q, and no power state", said)
	}
	return word, nil
}

// Run runs ipmitool with a command, if the context permits it, and returns its output.
// The error says why no session was opened.
func (t *Tool) Run(ctx context.Context, command ...string) (string, error) {
	arguments := append([]string{
		"-I", "lanplus", "-H", t.Host, "-p", strconv.Itoa(t.Port), "-U", t.User, "-C", t.suite, "-N", "5", "-E",
	}, command...)
	if err := fence.Check(ctx); err != nil {
		return "", err
	}
	said, err := runProgram(ctx, t.program, arguments, "IPMITOOL_PASSWORD="+t.Password.Reveal())
	if err != nil {
		err = t.diagnose(ctx, err)
	}
	return said, err
}

// diagnose returns why ipmitool opened no session. Its text is the same for a BMC that
// refuses and one that is silent, so diagnose probes the BMC.
func (t *Tool) diagnose(ctx context.Context, err error) error {
	text := err.Error()
	switch {
	case ctx.Err() != nil:
		return err
	case suiteRefused(err), strings.Contains(text, "Unsupported cipher suite"):
		return failure.Unsupportedf("%s", text)
	case strings.Contains(text, "insufficient resources"): // for one more session
		return &failure.Error{Kind: verify.Unreachable, Text: text}
	case !strings.Contains(text, "Unable to establish"):
		return err
	}
	if silent := t.probe(ctx); silent != nil {
		return silent
	}
	return &failure.Error{Kind: verify.Credentials, Text: text}
}

// suiteRefused reports whether the BMC refused the cipher suite, which it does
// before the user is named.
func suiteRefused(err error) bool {
	text := err.Error()
	return strings.Contains(text, "Error in open session response") && !strings.Contains(text, "resource")
}
