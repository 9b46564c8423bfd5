// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"strings"

	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// MaxShown bounds the part of a request's text that a fault repeats, in bytes.
const MaxShown = 4096

// Show returns a value of a request in the form in which a fault repeats it.
func Show(v any) string {
	s, ok := v.(string)
	if !ok {
		return Repr(v)
	}
	return shorten(masked.Text(s))
}

// shorten returns a text of at most MaxShown bytes, with three dots in place of the rest.
func shorten(s string) string {
	if len(s) > MaxShown {
		return strings.ToValidUTF8(s[:MaxShown], "") + "..."
	}
	return s
}

// Repr returns a value of a request in the form of Python's repr, as in Ironic's faults, without
// secrets.
func Repr(v any) string {
	if s, ok := v.(string); ok {
		return pyrepr.Text(Show(s))
	}
	return shorten(pyrepr.Of(masked.Value(v)))
}

// Power returns a power state in the form in which a fault shows it.
func Power(p states.Power) string {
	if p == states.NoPower {
		return "None"
	}
	return p.String()
}
