// SPDX-License-Identifier: Apache-2.0

package states

import "database/sql/driver"

// Power is a power state: one that the hardware is in, or one that a client requests.
// The zero value is [NoPower].
//
// The API refuses a power request (status 400) while the node is in Cleaning or
// CleanWait.
//
// As with [State], the numbers may change between releases; the words do not.
// Source: ironic/common/states.py.
type Power uint8

const (
	// NoPower is the absence of a power state, null in JSON and SQL and "none"
	// as text: none is known yet, or none is requested.
	NoPower Power = iota
	// PowerOn ("power on"): the machine is on.
	PowerOn
	// PowerOff ("power off"): the machine is off.
	PowerOff
	// PowerRebooting ("rebooting") asks for a hard restart.
	PowerRebooting
	// PowerSoftRebooting ("soft rebooting") asks the operating system to
	// restart. Since API version 1.27.
	PowerSoftRebooting
	// PowerSoftOff ("soft power off") asks the operating system to shut down.
	// Since API version 1.27.
	PowerSoftOff
	// PowerError ("error") is a reading: the driver answered, but not with a power
	// state.
	PowerError
)

var powerWords = newVocabulary("power state", []string{
	NoPower:            "none",
	PowerOn:            "power on",
	PowerOff:           "power off",
	PowerRebooting:     "rebooting",
	PowerSoftRebooting: "soft rebooting",
	PowerSoftOff:       "soft power off",
	PowerError:         "error",
})

// ParsePower returns the power state of a word. "none" and the empty text are
// NoPower. Any other word is an [*UnknownError], including the words of BMCs, such as
// Redfish's "On".
func ParsePower(word string) (Power, error) { return parse[Power](powerWords, word) }

// Target returns the power state of the hardware once a request for p is complete:
// PowerOn for a start or restart, PowerOff for a shutdown. It is NoPower if p cannot
// be requested (NoPower, PowerError, a number that is no power state).
func (p Power) Target() Power {
	switch p {
	case PowerOn, PowerRebooting, PowerSoftRebooting:
		return PowerOn
	case PowerOff, PowerSoftOff:
		return PowerOff
	default:
		return NoPower
	}
}

// String returns Ironic's word for the power state, or a form like "Power(99)"
// for a number that is none.
func (p Power) String() string { return powerWords.word(uint8(p), "Power") }

// MarshalText returns String. A number that is no power state is an [*UnknownError].
func (p Power) MarshalText() ([]byte, error) { return marshalText(powerWords, uint8(p), p) }

// UnmarshalText is [ParsePower]; p keeps its value on error.
func (p *Power) UnmarshalText(text []byte) error { return setWord(p, powerWords, string(text)) }

// MarshalJSON returns the word as a JSON string, NoPower as null.
func (p Power) MarshalJSON() ([]byte, error) { return marshalJSON(powerWords, uint8(p), p) }

// UnmarshalJSON accepts the output of MarshalJSON, "none", the form of NoPower as a map
// key, and ""; p keeps its value on error.
func (p *Power) UnmarshalJSON(data []byte) error { return unmarshalJSON(p, powerWords, data) }

// Value implements [driver.Valuer]: the word, NULL for NoPower.
func (p Power) Value() (driver.Value, error) { return sqlValue(powerWords, uint8(p), p) }

// Scan implements [database/sql.Scanner]: it accepts the output of Value, as a string
// or as bytes, and "none" and ""; p keeps its value on error.
func (p *Power) Scan(src any) error { return scan(p, powerWords, src) }
