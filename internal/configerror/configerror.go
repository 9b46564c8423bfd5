// SPDX-License-Identifier: Apache-2.0

// Package configerror has the error of an invalid configuration, one for all packages that are configured by a struct.
package configerror

import (
	"fmt"
	"reflect"
)

// Error says which field of a package's Config is invalid, and names a valid value. It never holds a secret.
type Error struct {
	Package string // such as "powersync"
	Field   string
	Value   any    // of the field; nil if it is not set
	Want    string // a value that would have been right
	Err     error  // says more than Value and Want, which are then not used; nil for none
}

// Error returns a text such as "powersync: Workers is -1: want 0 or more".
func (e *Error) Error() string {
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
func (e *Error) Unwrap() error { return e.Err }
