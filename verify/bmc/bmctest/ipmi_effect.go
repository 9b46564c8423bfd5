// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"cmp"
	"fmt"
)

// IPMIMessage is a kind of message that a client sends to an IPMI BMC: one that opens a session, or a command. The
// value of a command is 0x100 times its network function plus its number, so that IPMIMessage(0x0001) is Get Chassis
// Status.
type IPMIMessage int

// The messages of a client that reads and changes the power state and the boot device, with the sections of the IPMI
// specification, version 2.0.
const (
	ChassisStatus    IPMIMessage = 0x0001                // Get Chassis Status, section 28.2
	ChassisControl   IPMIMessage = 0x0002                // Chassis Control, section 28.3
	SetBootOptions   IPMIMessage = 0x0008                // Set System Boot Options, section 28.12
	GetBootOptions   IPMIMessage = 0x0009                // Get System Boot Options, section 28.13
	AuthCapabilities IPMIMessage = 0x0638                // Get Channel Authentication Capabilities, section 22.13
	SetPrivilege     IPMIMessage = 0x063b                // Set Session Privilege Level, section 22.18
	OpenSession      IPMIMessage = 0x10000 + openRequest // Open Session Request, section 13.17
	RAKP1            IPMIMessage = 0x10000 + rakp1       // RAKP Message 1, section 13.20: the answer is RAKP Message 2
	RAKP3            IPMIMessage = 0x10000 + rakp3       // RAKP Message 3, section 13.22: the answer is RAKP Message 4
)

var ipmiMessages = map[IPMIMessage]string{
	ChassisStatus: "ChassisStatus", ChassisControl: "ChassisControl", SetBootOptions: "SetBootOptions",
	GetBootOptions: "GetBootOptions", AuthCapabilities: "AuthCapabilities", SetPrivilege: "SetPrivilege",
	OpenSession: "OpenSession", RAKP1: "RAKP1", RAKP3: "RAKP3",
}

// String returns the name of the constant, and the number in hexadecimal if there is none.
func (m IPMIMessage) String() string { return cmp.Or(ipmiMessages[m], fmt.Sprintf("%#04x", int(m))) }

// opens reports whether the message is one of RMCP+ that opens a session, and no command.
func (m IPMIMessage) opens() bool { return m >= 0x10000 }

// IPMICode is the code with which an IPMI BMC refuses a message: the status code of RMCP+ for a message that opens a
// session (IPMI 2.0, table 13-15), or the completion code of a command (table 5-2).
type IPMICode byte

// Status codes for OpenSession, RAKP1 and RAKP3.
const (
	InsufficientResources IPMICode = 0x01 // for one more session
	InvalidSessionID      IPMICode = 0x02
	InactiveSessionID     IPMICode = 0x08
	UnauthorizedName      IPMICode = 0x0d // of the user
)

// Completion codes of commands.
const (
	NodeBusy        IPMICode = 0xc0
	CommandTimeout  IPMICode = 0xc3 // the command may have been carried out
	OutOfSpace      IPMICode = 0xc4
	BMCInitializing IPMICode = 0xd2 // the firmware of the BMC starts
)

var ipmiCodes = map[IPMICode]string{
	InsufficientResources: "InsufficientResources", InvalidSessionID: "InvalidSessionID", InactiveSessionID: "InactiveSessionID",
	UnauthorizedName: "UnauthorizedName", NodeBusy: "NodeBusy", CommandTimeout: "CommandTimeout", OutOfSpace: "OutOfSpace",
	BMCInitializing: "BMCInitializing",
}

// String returns the name of the constant, and the number in hexadecimal if there is none.
func (c IPMICode) String() string { return cmp.Or(ipmiCodes[c], fmt.Sprintf("%#02x", byte(c))) }

// IPMIEffect is the effect of an [IPMIFault] on one kind of message. It comes from Unanswered, AnswerLost, Refused or
// IPMIEffects. The zero value does nothing.
type IPMIEffect struct {
	name  string
	on    IPMIMessage
	does  func(c *conversation, m message) (answer []byte, passes bool) // nil: nothing
	fails string                                                        // see Fails
}

// String returns the effect's name in the form of a call, such as "Refused(ChassisStatus, NodeBusy)", and "nothing" for
// the zero value.
func (e IPMIEffect) String() string { return cmp.Or(e.name, "nothing") }

// Fails returns why a client should fail if the effect is on one of its messages alone, if the effect is one of
// IPMIEffects. It returns "" for those that a client should survive by sending the message again, or by doing all of
// its work again after a while, and for all other effects. An effect on all messages of its kind ends the work of every
// client, except one that reads the power state after AnswerLost(ChassisControl).
func (e IPMIEffect) Fails() string { return e.fails }

// Unanswered makes the BMC ignore the message, as if it were lost on the way.
func Unanswered(m IPMIMessage) IPMIEffect {
	return IPMIEffect{
		name: fmt.Sprintf("Unanswered(%v)", m), on: m,
		does: func(*conversation, message) ([]byte, bool) { return nil, false },
	}
}

// AnswerLost makes the BMC carry the message out, and the answer is lost on its way.
func AnswerLost(m IPMIMessage) IPMIEffect {
	return IPMIEffect{
		name: fmt.Sprintf("AnswerLost(%v)", m), on: m,
		does: func(c *conversation, _ message) ([]byte, bool) {
			c.lost[m]++
			return nil, true
		},
	}
}

// Refused makes the BMC answer the message with a code, and it does not carry the message out.
func Refused(on IPMIMessage, code IPMICode) IPMIEffect {
	return IPMIEffect{
		name: fmt.Sprintf("Refused(%v, %v)", on, code), on: on,
		does: func(c *conversation, m message) ([]byte, bool) { return c.refusal(m, code), false },
	}
}

// IPMIEffects lists one effect of each kind that people report of BMCs, for tests that go through all of them. In an
// [IPMIFault] with one or two Times it is what a BMC does for the moment, and without Times what a broken BMC does. The
// names have these meanings:
//
//	Unanswered(AuthCapabilities)                 a packet is lost before a session is opened
//	Unanswered(OpenSession)                      the same, a step later; ipmitool only says "Unable to establish"
//	Unanswered(RAKP1), AnswerLost(RAKP1)         "no response from RAKP 1 message", as of a BMC that is slow
//	Unanswered(RAKP3), AnswerLost(RAKP3)         "no response from RAKP 3 message"; the BMC may have the session
//	Refused(OpenSession, InsufficientResources)  there are as many sessions as the BMC has room for
//	Refused(RAKP1, InsufficientResources)        the same, from a BMC that notices it later
//	Refused(RAKP1, InvalidSessionID)             the BMC has forgotten the session that it has opened
//	Refused(RAKP1, InactiveSessionID)            the same, from other BMCs
//	Refused(RAKP1, UnauthorizedName)             the BMC has no such user
//	Refused(SetPrivilege, NodeBusy)              the first command of a session meets a busy BMC
//	Refused(ChassisStatus, NodeBusy)             "Get Chassis Power Status failed: Node busy"
//	Refused(ChassisStatus, CommandTimeout)       a controller behind the BMC has not answered in time
//	Refused(ChassisStatus, OutOfSpace)           the BMC has no memory for the moment
//	Refused(ChassisStatus, BMCInitializing)      the BMC starts, as after an update
//	Refused(ChassisControl, NodeBusy)            the power state is not changed
//	AnswerLost(ChassisControl)                   the power state is changed, and the client does not know
//	Refused(SetBootOptions, NodeBusy)            the boot device is not changed
//
// A wrong password needs no effect: a client detects it by RAKP Message 2.
//
// Source: lanplus.c and ipmi_strings.c of ipmitool 1.8.19, and IPMITOOL_RETRYABLE_FAILURES in
// ironic/drivers/modules/ipmitool.py, by which Ironic repeats a command.
func IPMIEffects() []IPMIEffect {
	unknown := Refused(RAKP1, UnauthorizedName)
	unknown.fails = "the BMC refuses the user"
	return []IPMIEffect{
		Unanswered(AuthCapabilities), Unanswered(OpenSession),
		Unanswered(RAKP1), AnswerLost(RAKP1), Unanswered(RAKP3), AnswerLost(RAKP3),
		Refused(OpenSession, InsufficientResources), Refused(RAKP1, InsufficientResources),
		Refused(RAKP1, InvalidSessionID), Refused(RAKP1, InactiveSessionID), unknown,
		Refused(SetPrivilege, NodeBusy),
		Refused(ChassisStatus, NodeBusy), Refused(ChassisStatus, CommandTimeout), Refused(ChassisStatus, OutOfSpace),
		Refused(ChassisStatus, BMCInitializing),
		Refused(ChassisControl, NodeBusy), AnswerLost(ChassisControl), Refused(SetBootOptions, NodeBusy),
	}
}
