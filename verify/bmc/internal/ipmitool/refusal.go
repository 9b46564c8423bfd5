// SPDX-License-Identifier: Apache-2.0

package ipmitool

import (
	"context"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// reason is a text by which ipmitool says why a command has failed.
type reason struct {
	text  string
	after string // another text that stands before it; empty for none
	kind  verify.Kind
	again bool // the BMC may accept the command after a while
	done  bool // the command may have been carried out
	mute  bool // a message has had no answer, which the text of a BMC that is busy and of one that is silent says
}

// reasons are the texts in the order in which they are looked for. Only a failure of RAKP 2 is about the user or the
// password: in it the BMC names an unknown user, and proves that it has the same password. Such a log-in is not
// repeated, since BMCs lock accounts.
//
// Source: src/plugins/lanplus/lanplus.c, lib/ipmi_strings.c and lib/ipmi_chassis.c of ipmitool 1.8.19;
// IPMITOOL_RETRYABLE_FAILURES in ironic/drivers/modules/ipmitool.py; issue 1812 of github.com/openbmc/openbmc, which
// refuses a privilege after a RAKP message 1 without an answer.
var reasons = []reason{
	{text: "insufficient resources", kind: verify.Unreachable, again: true}, // for one more session
	{text: "RAKP 2 message indicates an error : invalid session ID", kind: verify.Unreachable, again: true},
	{text: "RAKP 2 message indicates an error : inactive session ID", kind: verify.Unreachable, again: true},
	{text: "RAKP 2 message indicates an error", kind: verify.Credentials},
	{text: "RAKP 2 HMAC is invalid", kind: verify.Credentials},
	{text: "Error in open session response", kind: verify.Unsupported}, // the cipher suite
	{text: "Unsupported cipher suite", kind: verify.Unsupported},
	{text: "does not support IPMI v2", kind: verify.Unsupported},
	{text: "Node busy", kind: verify.Unreachable, again: true}, // also for the first command of a session
	{text: "BMC initialization in progress", kind: verify.Unreachable, again: true},
	{text: "Out of space", kind: verify.Unreachable, again: true},
	{text: "Timeout", kind: verify.Unreachable, again: true, done: true},
	{text: "RAKP 4 message", kind: verify.Protocol},
	{
		text: "Set Session Privilege Level to ADMINISTRATOR failed: ", after: "no response from RAKP 1 message",
		kind: verify.Unreachable, again: true, mute: true,
	},
	{text: "Set Session Privilege Level to ADMINISTRATOR failed: ", kind: verify.Protocol}, // and not that there is no answer
	{text: "Unable to establish", kind: verify.Unreachable, again: true, mute: true},       // after any failure to open a session
	{text: "Unable to get Chassis Power Status", kind: verify.Unreachable, again: true, mute: true},
	{text: "Unable to set Chassis Power Control", kind: verify.Unreachable, done: true, mute: true},
}

// refusal is a failure with a known reason.
type refusal struct {
	err    *failure.Error
	reason reason
}

func (r *refusal) Error() string { return r.err.Text }

// repeats reports whether a command may be run again. A restart and an interrupt are not, if they may have happened.
func (r *refusal) repeats(command []string) bool {
	once := slices.ContainsFunc(command, func(word string) bool { return word == "cycle" || word == "diag" })
	return r.reason.again && !(r.reason.done && once)
}

// progress lists the beginnings of the lines by which a verbose ipmitool says what it does.
var progress = []string{
	"Loading IANA PEN", "IANA PEN registry", "Running Get ", "Invalid completion code received", "Discovered ", "RAW RE", "RAW RSP",
}

// withoutProgress returns the output of a verbose ipmitool without those lines.
func withoutProgress(output string) string {
	var said strings.Builder
	for line := range strings.Lines(output) {
		if !slices.ContainsFunc(progress, func(begin string) bool { return strings.HasPrefix(line, begin) }) {
			said.WriteString(line)
		}
	}
	return said.String()
}

// diagnose returns a refusal if ipmitool's failure has a known reason. After a message without an answer it probes the
// BMC.
func (t *Tool) diagnose(ctx context.Context, err error) error {
	said := &failure.Error{Kind: failure.KindOf(err), Text: withoutProgress(err.Error())}
	i := slices.IndexFunc(reasons, func(r reason) bool {
		before, _, found := strings.Cut(said.Text, r.text)
		return found && strings.Contains(before, r.after)
	})
	if i < 0 {
		return said
	}
	if reasons[i].mute {
		if silent := t.probe(ctx); silent != nil {
			return silent
		}
	}
	said.Kind = reasons[i].kind
	return &refusal{said, reasons[i]}
}
