package api

import (
	"strings"

	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// maxShown bounds the part of a request's text that a fault repeats, in bytes.
const maxShown = 4096

// show returns a value of a request in the form in which a fault repeats it.
func show(v any) string {
	s, ok := v.(string)
	if !ok {
		return repr(v)
	}
	return shorten(s)
}

func shorten(s string) string {
	if len(s) > maxShown {
		return strings.ToValidUTF8(s[:maxShown], "") + "..."
	}
	return s
}

// repr returns a value of a request in the form of Python's repr, as in Ironic's faults, without
// secrets.
func repr(v any) string {
	if s, ok := v.(string); ok {
		return pyrepr.Text(show(s))
	}
	return shorten(pyrepr.Of(masked.Value(v)))
}

func pythonPower(p states.Power) string {
	if p == states.NoPower {
		return "None"
	}
	return p.String()
}
