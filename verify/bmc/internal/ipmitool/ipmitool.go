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
	"github.com/ironstate/ironstate/verify/bmc/internal/retry"
	"github.com/ironstate/ironstate/verify/secret"
)

// Tool runs ipmitool for one BMC. Each run opens its own session. A Tool is used by one goroutine at a time.
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

// Open finds the program, and a cipher suite that the BMC accepts. It reads the power state to check the credentials.
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
		if _, err = t.PowerState(ctx); failure.KindOf(err) != verify.Unsupported {
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

// RetryTime is for how long a command is repeated that the BMC refuses for the moment, such as one for which it cannot
// open a session, and RetryPause is the time between two attempts.
//
// Source: [ipmi]command_retry_timeout and min_command_interval in ironic/conf/ipmi.py.
const (
	RetryTime  = time.Minute
	RetryPause = 5 * time.Second
)

// Run runs ipmitool with a command, if the context permits it, and returns its output.
// The error says why no session was opened.
func (t *Tool) Run(ctx context.Context, command ...string) (string, error) {
	begun := time.Now()
	for attempt := 1; ; attempt++ {
		started := time.Now()
		said, err := t.runOnce(ctx, command)
		var found *refusal
		if !errors.As(err, &found) {
			return said, err
		}
		if !found.repeats(command) || time.Since(begun)+RetryPause > RetryTime || !suffices(ctx, time.Since(started)) ||
			!retry.Wait(ctx, RetryPause, attempt, found.err) {
			return "", found.err
		}
	}
}

// suffices reports whether the time of a context suffices for a pause and another attempt as long as the last, which is
// most of a minute if a BMC does not answer. Otherwise the error is the reason of the last attempt, and not the end of
// the context.
func suffices(ctx context.Context, took time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) >= RetryPause+took
}

// runOnce runs ipmitool once. The verbose ipmitool says at which message a session has failed.
func (t *Tool) runOnce(ctx context.Context, command []string) (string, error) {
	if err := fence.Check(ctx); err != nil {
		return "", err
	}
	arguments := append([]string{
		"-I", "lanplus", "-H", t.Host, "-p", strconv.Itoa(t.Port), "-U", t.User, "-C", t.suite, "-N", "5", "-v", "-E",
	}, command...)
	said, err := runProgram(ctx, t.program, arguments, "IPMITOOL_PASSWORD="+t.Password.Reveal())
	if err == nil || ctx.Err() != nil {
		return said, err
	}
	return "", t.diagnose(ctx, err)
}
