// SPDX-License-Identifier: Apache-2.0

// Package kinds has the kinds of hardware interfaces, and the names that hardware types and their interfaces may have.
package kinds

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/ironstate/ironstate/internal/sorted"
)

// Required are the kinds that each hardware type has.
//
// Source: AbstractHardwareType in ironic/drivers/hardware_type.py.
var Required = []string{"boot", "deploy", "management", "power"}

// Absent returns the hardware interface of a kind that the nodes have whose hardware type leaves the kind out, and ""
// for a required kind.
//
// Source: AbstractHardwareType in ironic/drivers/hardware_type.py.
func Absent(kind string) string {
	switch {
	case slices.Contains(Required, kind):
		return ""
	case kind == "network", kind == "storage":
		return "noop"
	default:
		return None(kind)
	}
}

// None returns the hardware interface of a kind that has no function.
func None(kind string) string { return "no-" + kind }

// Ironic's names are names of Python entry points, for which these characters are recommended. They are parts of URLs
// and of lists with commas.
var form = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$`)

var errName = errors.New("want up to 255 letters, digits, hyphens, dots and underscores that begin with no hyphen or dot")

// CheckName returns an error for a name that no hardware type or hardware interface can have.
func CheckName(name string) error {
	if form.MatchString(name) {
		return nil
	}
	return fmt.Errorf("the name %q is invalid: %w", name, errName)
}

// Check is CheckNames for all interfaces of a hardware type. It returns an error for one without an interface of a
// required kind, too.
func Check(interfaces map[string][]string) error {
	for _, kind := range Required {
		switch names := interfaces[kind]; {
		case len(names) == 0:
			return fmt.Errorf("there is no %s interface", kind)
		case slices.Contains(names, None(kind)):
			return fmt.Errorf("the name %q stands for the lack of a %s interface, which each hardware type has", None(kind), kind)
		}
	}
	return CheckNames(interfaces)
}

// CheckNames returns an error for the name of an interface that no node could have. It gets the names by kind.
func CheckNames(interfaces map[string][]string) error {
	for kind, names := range sorted.All(interfaces) {
		for _, name := range names {
			if err := CheckName(name); err != nil {
				return fmt.Errorf("%s interface: %w", kind, err)
			}
		}
	}
	return nil
}
