package graph

import (
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

var (
	// ErrNoTable: the diagram has no table, or one without states.
	ErrNoTable = errors.New("no table: take one from states.Series.Table")
	// ErrNoSuchState: the series has no such state. The error is a
	// [*StateError].
	ErrNoSuchState = errors.New("no such state")
	// ErrNoTransition: a step of the path is not in the table.
	ErrNoTransition = errors.New("no such transition")
	// ErrLink: a state's link is not one that a diagram should have.
	ErrLink = errors.New("unfit link")
	// ErrStyle: there is no such direction or theme.
	ErrStyle = errors.New("unknown style")
)

// StateError says that a diagram names a state that its series does not have. It
// matches [ErrNoSuchState].
type StateError struct {
	Series states.Series
	State  states.State
}

// Error names the state and those that the series has.
func (e *StateError) Error() string {
	return fmt.Sprintf("state %q is not one of %v's: %v", e.State, e.Series, e.Series.Table().States())
}

// Is reports whether target is [ErrNoSuchState].
func (e *StateError) Is(target error) bool { return target == ErrNoSuchState }
