package plan

import (
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

var (
	// ErrImpossible: the observed states cannot follow one another. The error is
	// an [*ImpossibleError].
	ErrImpossible = errors.New("impossible history")
	// ErrNoPath: nothing leads from one state to the other. The error is a
	// [*PathError].
	ErrNoPath = errors.New("no path")
)

// ImpossibleError says which observed state cannot come after the one before it.
// It matches [ErrImpossible].
type ImpossibleError struct {
	Series   states.Series
	Index    int          // of To among the observations
	From, To states.State // as they were observed; From is NoState for the first
	Before   states.Set   // the states from which To can be reached, To included; empty where To cannot be seen
}

func (e *ImpossibleError) Error() string {
	if e.Before.Len() == 0 {
		return fmt.Sprintf("observation %d: %q cannot be seen in %v", e.Index, e.To, e.Series)
	}
	return fmt.Sprintf("observation %d: %q cannot come after %q in %v; it can come after %v",
		e.Index, e.To, e.From, e.Series, e.Before)
}

// Is reports whether target is [ErrImpossible].
func (e *ImpossibleError) Is(target error) bool { return target == ErrImpossible }

// PathError says that nothing leads from one state to another. It matches
// [ErrNoPath].
type PathError struct {
	Series   states.Series
	From, To states.State
}

func (e *PathError) Error() string {
	return fmt.Sprintf("nothing leads from %q to %q in %v", e.From, e.To, e.Series)
}

// Is reports whether target is [ErrNoPath].
func (e *PathError) Is(target error) bool { return target == ErrNoPath }

// checkStates returns the error of machine's own checks unless the table has all
// of the states.
func checkStates(t *states.Table, all ...states.State) error {
	if t == nil {
		return machine.ErrNoTable
	}
	for _, s := range all {
		if !t.States().Has(s) {
			return &machine.StateError{Series: t.Series(), State: s}
		}
	}
	return nil
}
