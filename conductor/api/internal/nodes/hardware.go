// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
)

// hardwareFault returns an error with which clients get the text of a hardware error. The errors of hardware types
// contain no secrets, see [conductor.Hardware]. Other errors remain as they are.
func hardwareFault(err error) error {
	var hardware *conductor.HardwareError
	if errors.As(err, &hardware) && fault.Of(err) == fault.Internal {
		return &fault.Fault{Status: http.StatusInternalServerError, Text: hardware.Error()}
	}
	return err
}
