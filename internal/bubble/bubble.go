// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

// Package bubble has what tests in bubbles of testing/synctest need.
package bubble

import (
	"testing/synctest"
	"time"
)

// Sleep is [time.Sleep] and then [synctest.Wait]: what else is due at the same time has happened when it returns.
// Goroutines that wake at the same time run in no fixed order: without the Wait, the caller may run before or after
// them. One goroutine of a bubble calls it at a time.
func Sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
