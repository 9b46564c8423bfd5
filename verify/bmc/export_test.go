// SPDX-License-Identifier: Apache-2.0

package bmc

import "time"

// LengthenGrace makes each of the grace times longer by a factor. It must be called before all tests.
func LengthenGrace(by time.Duration) {
	graceTime *= by
	loginGrace *= by
}
