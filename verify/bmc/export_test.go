// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"testing"
	"time"
)

var usualBusyTime = busyTime

// ShortenLoginGrace makes the grace time of a log-in short for a test, which must not be parallel to others.
func ShortenLoginGrace(t *testing.T) {
	before := loginGrace
	loginGrace = time.Millisecond
	t.Cleanup(func() { loginGrace = before })
}

// LengthenGrace makes each of the grace times longer by a factor. It must be called before all tests.
func LengthenGrace(by time.Duration) {
	graceTime *= by
	loginGrace *= by
}

// ShortenBusy makes the time until a refused request is repeated short. It must be called before all tests.
func ShortenBusy() { busyTime = time.Millisecond }

// UsualBusy takes back ShortenBusy for a test, which must not be parallel to others.
func UsualBusy(t *testing.T) {
	busyTime = usualBusyTime
	t.Cleanup(ShortenBusy)
}
