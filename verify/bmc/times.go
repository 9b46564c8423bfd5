// SPDX-License-Identifier: Apache-2.0

package bmc

import "time"

// These are variables because tests on a busy machine need more time.
var (
	// graceTime is how long a call may continue after its context has ended, in order to leave no session open.
	graceTime = 1900 * time.Millisecond
	// loginGrace is the part of graceTime for the answer to a log-in.
	loginGrace = 1200 * time.Millisecond
	// probeWait is the time for the answer to a request over IPMI without credentials, of which four are sent.
	probeWait = time.Second
	// pauseTime is the time until a request is repeated that has failed for the moment.
	pauseTime = 3 * time.Second
)
