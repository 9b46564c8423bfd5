// SPDX-License-Identifier: Apache-2.0

// Package leaks fails tests that leave goroutines behind. It is goleak with one more rule: goleak waits for
// half a second, and a goroutine that is runnable, or whose dial the kernel has not answered yet, may end
// later without being a leak. net/http's Transport does not wait for the dials of requests that have ended.
package leaks

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// limit is how long goroutines that end by themselves may take. A dial sends its first packet again after 1, 3, 7 and
// 15 seconds.
const limit = 30 * time.Second

// ending matches the description of goroutines among which one ends by itself, unless it is a busy loop or dials for
// ever.
var ending = regexp.MustCompile(`in state run(nable|ning)|\snet\.\(\*netFD\)\.connect\(`)

// Main is the TestMain of a package whose tests leave no goroutine behind. It does not return.
func Main(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := find(options...); err != nil {
			fmt.Fprintln(os.Stderr, "leaks after tests that have passed:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Check fails the test if goroutines are left. A test that calls it, usually by defer, is not parallel to others.
func Check(t testing.TB, options ...goleak.Option) {
	t.Helper()
	if err := find(options...); err != nil {
		t.Error(err)
	}
}

// find returns an error that describes the goroutines that are left.
func find(options ...goleak.Option) error {
	begun := time.Now()
	for {
		err := goleak.Find(options...)
		if err == nil || !ending.MatchString(err.Error()) || time.Since(begun) > limit {
			return err
		}
	}
}
