// SPDX-License-Identifier: Apache-2.0

// Package leaks fails tests that leave goroutines behind. It is goleak without its limit of half a second, which a busy
// machine may exceed. A goroutine that runs, or whose dial the kernel has not answered yet, may end later without being
// a leak: net/http's Transport does not wait for the dials of requests that have ended. The goroutines that are left
// are leaks only when all of them are blocked and stay where they are. Only go test's -timeout ends the wait for the
// others.
package leaks

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"go.uber.org/goleak"
)

// looks is in how many looks in a row, each of half a second, leaks are blocked at the same places.
const looks = 5

// waited matches the time in the description of a goroutine.
var waited = regexp.MustCompile(`, \d+ minutes`)

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
	last, same := "", 0
	for {
		err := goleak.Find(options...)
		if err == nil {
			return nil
		}
		text := waited.ReplaceAllString(err.Error(), "")
		if text != last {
			last, same = text, 0
		}
		if same++; same >= looks && !ending.MatchString(text) {
			return err
		}
	}
}
