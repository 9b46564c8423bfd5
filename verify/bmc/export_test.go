// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"testing"
	"time"
)

// ShortenLoginGrace makes the grace time of a log-in short for a test, which must not be parallel to others.
func ShortenLoginGrace(t *testing.T) {
	before := loginGrace
	loginGrace = time.Millisecond
	t.Cleanup(func() { loginGrace = before })
}

// LengthenGrace makes the times longer by a factor that a BMC has to answer after a context has ended, and to answer a
// probe over IPMI. It must be called before all tests.
func LengthenGrace(by time.Duration) {
	probeWait *= by
	graceTime *= by
	loginGrace *= by
}

// usualPauseTime is the time before ShortenPause.
var usualPauseTime = pauseTime

// ShortenPause makes the time until a failed request is repeated short. It must be called before all tests.
func ShortenPause() { pauseTime = time.Millisecond }

// LengthenPause makes that time two hours for a test, which must not be parallel to others.
func LengthenPause(t *testing.T) {
	pauseTime = 2 * time.Hour
	t.Cleanup(ShortenPause)
}
