// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/verify/bmc"
)

var (
	// ErrBootMode is the error of a [Management] about a boot device that is set, while the BMC has changed the boot mode.
	// It is [bmc.ErrBootMode].
	ErrBootMode = bmc.ErrBootMode
	// ErrMediaKept is the error of a [MediaManager] about an image that the BMC keeps in its slot, while nothing else has
	// failed. It is [bmc.ErrKept].
	ErrMediaKept = bmc.ErrKept
)

// invalidf returns the error of a record or an argument that is invalid.
func invalidf(format string, args ...any) error {
	return &conductor.Error{Reason: conductor.Invalid, Text: fmt.Sprintf(format, args...)}
}

// noFunction returns the error of a function that the hardware type of a node does not have.
func noFunction(n *conductor.Node, function string) error {
	return &conductor.Error{Reason: conductor.Unsupported, Text: conductor.UnsupportedText(n.Driver, function)}
}

func invalidDevice(device string) error { return invalidf("Invalid boot device %s specified.", device) }
