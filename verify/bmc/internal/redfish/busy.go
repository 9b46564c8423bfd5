// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"bytes"
	"net/http"
	"slices"
)

// The attempts at a change that the BMC refuses because it is busy, which its message says, or a status that the caller
// knows.
const (
	busyAttempts   = 8
	statusAttempts = 3
)

// busyMessages are parts of the messages by which a BMC says that it is busy: an iDRAC after a job, and an iLO while
// its machine starts.
//
// Source: check_retry_on_exception in sushy/connector.py; HPE's iLO message registry.
var busyMessages = [][]byte{[]byte("SYS518"), []byte("InvalidOperationForSystemState"), []byte("UnableToModifyDuringSystemPOST")}

// repeats reports whether a refused request is sent again after so many attempts.
func (a *Answer) repeats(attempts int) bool {
	switch {
	case a == nil, a.Status < http.StatusBadRequest, a.Request.Method == http.MethodGet:
		return false
	case slices.ContainsFunc(busyMessages, func(message []byte) bool { return bytes.Contains(a.Body, message) }):
		return attempts < busyAttempts
	default:
		return slices.Contains(a.Request.Repeat, a.Status) && attempts < statusAttempts
	}
}
