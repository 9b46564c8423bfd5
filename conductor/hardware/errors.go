// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"

	"github.com/ironstate/ironstate/conductor"
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
