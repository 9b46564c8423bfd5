// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"cmp"
	"fmt"
	"time"
)

// Fault selects requests that fail, and how they fail.
type Fault struct {
	// On names the request or command that fails: "inspection", "lookup" or "heartbeat", which the agent sends;
	// "commands", a request for the list of commands; the name of a command such as "get_clean_steps" or "power_off"; or
	// the name of a step such as "write_image". Empty stands for each of them.
	On    string
	Skip  int    // how many requests of that name succeed first, whatever If would return
	Times int    // how many fail after that; all if 0
	Do    Effect // the effect; none if it is the zero value

	// If, if not nil, is asked last: the request fails only if it returns true. It is not asked about a request that Skip
	// lets succeed, nor once as many as Times have failed. It is called while the machine is locked.
	If func() bool
}

// Effect is the effect of a [Fault]. The zero value does nothing.
type Effect struct {
	kind effectKind
	n    int           // of Huge
	wait time.Duration // of Delay
	text string        // of Fail
}

type effectKind int

const (
	effectNone effectKind = iota
	effectSilent
	effectDelay
	effectBusy
	effectWrongToken
	effectVersionMismatch
	effectDie
	effectLie
	effectFail
	effectHuge
	effectGarbage
)

// Silent makes a command get no answer, and the agent send none of its own requests.
func Silent() Effect { return Effect{kind: effectSilent} }

// Delay makes a command or a request take longer. An asynchronous command is accepted at once and then takes longer.
func Delay(d time.Duration) Effect { return Effect{kind: effectDelay, wait: d} }

// Busy refuses a command with 409, as during another command. It has no effect on requests that the agent sends.
func Busy() Effect { return Effect{kind: effectBusy} }

// WrongToken makes the agent use another token than its own: it refuses commands with 401, and sends that
// token in heartbeats.
func WrongToken() Effect { return Effect{kind: effectWrongToken} }

// VersionMismatch makes a step end with the status CLEAN_VERSION_MISMATCH, as if the ramdisk had been replaced.
func VersionMismatch() Effect { return Effect{kind: effectVersionMismatch} }

// Die ends the agent as soon as it has accepted a command, or in place of a request of its own. The machine remains on.
func Die() Effect { return Effect{kind: effectDie} }

// Lie makes a command succeed that the agent has not executed.
func Lie() Effect { return Effect{kind: effectLie} }

// Fail makes a command fail with a text.
func Fail(text string) Effect { return Effect{kind: effectFail, text: text} }

// Huge makes an answer that number of bytes longer. A command is executed.
func Huge(bytes int) Effect { return Effect{kind: effectHuge, n: bytes} }

// Garbage answers a request with a body that is not JSON. A command is not executed.
func Garbage() Effect { return Effect{kind: effectGarbage} }

// Effects lists one effect of each kind, for tests that go through all of them.
func Effects() []Effect {
	return []Effect{
		Silent(), Delay(20 * time.Millisecond), Busy(), WrongToken(), VersionMismatch(), Die(), Lie(),
		Fail("the disk is on fire"), Huge(1 << 20), Garbage(),
	}
}

// String returns the effect as a call, such as "Huge(1024)", and "nothing" for the zero value.
func (e Effect) String() string {
	switch e.kind {
	case effectDelay:
		return fmt.Sprintf("Delay(%v)", e.wait)
	case effectFail:
		return fmt.Sprintf("Fail(%q)", e.text)
	case effectHuge:
		return fmt.Sprintf("Huge(%d)", e.n)
	}
	return [...]string{
		effectNone: "nothing", effectSilent: "Silent()", effectBusy: "Busy()", effectWrongToken: "WrongToken()",
		effectVersionMismatch: "VersionMismatch()", effectDie: "Die()", effectLie: "Lie()", effectGarbage: "Garbage()",
	}[e.kind]
}

// fault is a Fault that counts its requests.
type fault struct {
	Fault
	seen   int // the requests with its name
	failed int // how many of them have failed, by this fault or an earlier one
}

// AddFault adds a fault. If several match a request, the first added takes effect.
func (m *Machine) AddFault(f Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, &fault{Fault: f})
}

// ClearFaults removes all faults. Requests that get no answer continue to get none.
func (m *Machine) ClearFaults() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = nil
}

// effectOn returns the effect on a request that has one of the names.
func (m *Machine) effectOn(names ...string) (found Effect) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.faults {
		for _, name := range names {
			if f.On != "" && f.On != name {
				continue
			}
			f.seen++
			due := f.seen > f.Skip && (f.Times == 0 || f.failed < f.Times)
			if due && (f.If == nil || found.kind == effectNone && f.If()) {
				f.failed++
				found = cmp.Or(found, f.Do)
			}
			break
		}
	}
	return found
}
