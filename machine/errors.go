// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/states"
)

// errInHook is a mistake in the calling program. It is not exported, because no program
// needs to distinguish it.
var errInHook = errors.New("a guard or save hook cannot move its own machine")

// EventError says that an event is not allowed in a state, and which events are. It
// matches [states.ErrNotAllowed], for which Ironic's API answers 400.
type EventError struct {
	Series  states.Series
	State   states.State
	Event   states.Event
	Allowed []states.Event
}

func (e *EventError) Error() string {
	words := make([]string, len(e.Allowed))
	for i, event := range e.Allowed {
		words[i] = event.String()
	}
	allowed := "nothing"
	if len(words) > 0 {
		allowed = strings.Join(words, ", ")
	}
	return fmt.Sprintf("event %q is not allowed in state %q; allowed: %s", e.Event, e.State, allowed)
}

// Is reports whether target is [states.ErrNotAllowed].
func (e *EventError) Is(target error) bool { return target == states.ErrNotAllowed }

// StateError says that a node is in a state that the table does not have, or that a
// target is not a stable state of the table; a nil or zero table has none.
type StateError struct {
	Series states.Series // NoSeries for a nil or zero table
	State  states.State
	Role   StateRole
}

// StateRole says what the state of a [StateError] is to the node.
type StateRole uint8

const (
	CurrentState StateRole = iota // the node's state
	StoredTarget                  // the node's target
	NamedTarget                   // the target named with an event
)

// String returns "current", "stored" or "named".
func (r StateRole) String() string { return wordOf(r, "current", "stored", "named") }

func (e *StateError) Error() string {
	switch {
	case e.Series == states.NoSeries:
		return fmt.Sprintf("no table for state %q: take one from states.Series.Table", e.State)
	case e.Role != CurrentState:
		return fmt.Sprintf("%v target %q is not one of %v's stable states: %v",
			e.Role, e.State, e.Series, e.Series.Table().Stable())
	default:
		return fmt.Sprintf("state %q is not one of %v's: %v", e.State, e.Series, e.Series.Table().States())
	}
}

// ConfigError says which field of a package's configuration is invalid, and names a valid value. It never holds a
// secret. Most packages of this repository that have a Config return it: powersync, conductor and others.
type ConfigError struct {
	Package string // such as "powersync"
	Field   string
	Value   any    // of the field; nil if it is not set
	Want    string // a value that would have been right
	Err     error  // says more than Value and Want, which are then not used; nil for none
}

// Error returns a text such as "powersync: Workers is -1: want 0 or more".
func (e *ConfigError) Error() string {
	value := reflect.ValueOf(e.Value)
	switch {
	case e.Err != nil:
		return fmt.Sprintf("%s: %s: %v", e.Package, e.Field, e.Err)
	case e.Value == nil:
		return fmt.Sprintf("%s: %s is not set: want %s", e.Package, e.Field, e.Want)
	case value.Kind() == reflect.String:
		return fmt.Sprintf("%s: %s is %q: want %s", e.Package, e.Field, value.String(), e.Want)
	default:
		return fmt.Sprintf("%s: %s is %v: want %s", e.Package, e.Field, e.Value, e.Want)
	}
}

// Unwrap returns Err.
func (e *ConfigError) Unwrap() error { return e.Err }

// HookKind is a kind of hook; see [Config].
type HookKind uint8

const (
	GuardHook HookKind = iota
	SaveHook
	ExitHook
	EnterHook
)

// String returns "guard", "save", "exit" or "enter".
func (k HookKind) String() string { return wordOf(k, "guard", "save", "exit", "enter") }

func wordOf[T ~uint8](value T, words ...string) string {
	if int(value) < len(words) {
		return words[value]
	}
	return fmt.Sprintf("%T(%d)", value, uint8(value))
}

// HookError says which hook failed, and whether the node had moved by then. It
// unwraps to the hook's error.
type HookError struct {
	Node  string // the machine's name
	Hook  HookKind
	Event states.Event
	Moved bool // false: nothing has happened; true: the node is in its new state
	Err   error
}

func (e *HookError) Error() string {
	outcome := "nothing has changed"
	if e.Moved {
		outcome = "the node has moved"
	}
	node := ""
	if e.Node != "" {
		node = " of node " + e.Node
	}
	return fmt.Sprintf("%v hook%s at event %q (%s): %v", e.Hook, node, e.Event, outcome, e.Err)
}

// Unwrap returns the hook's error.
func (e *HookError) Unwrap() error { return e.Err }

// PanicError is a panic of called code, such as a hook, a Verifier or a driver, as an
// error; packages verify and powersync return it too. The PanicError of a hook is
// wrapped in a [*HookError]. Its text has the value only if the value is a runtime
// error of Go: any other value may hold a secret.
type PanicError struct {
	Value any    // the value of the panic; nil if the code ended its goroutine instead
	Stack []byte // from [runtime/debug.Stack]; nil if Value is nil
}

func (e *PanicError) Error() string { return (*boundedcall.PanicError)(e).Error() }

// Unwrap returns the panic's value if it is an error, otherwise nil.
func (e *PanicError) Unwrap() error { return (*boundedcall.PanicError)(e).Unwrap() }
