// SPDX-License-Identifier: Apache-2.0

// Package needs skips a test if the real system that it needs is absent. In CI, which
// has all of them, it fails the test: a skip there would hide a failure. With -short, which CI
// passes only besides a run without it, tests of real systems and slow tests are skipped.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Programs skips the test, or fails it in CI, unless the programs are on the PATH. With -short it
// skips the test.
func Programs(t testing.TB, programs ...string) {
	t.Helper()
	Time(t)
	for _, program := range programs {
		_, err := exec.LookPath(program)
		Installed(t, err == nil, "the program "+program)
	}
}

// Time skips the test with -short, because it takes too long: it starts processes, servers or a real
// system, or simulates many histories.
func Time(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes too long for -short")
	}
}

// Installed skips the test, or fails it in CI, unless is is true. The argument what names
// the missing system in the message.
func Installed(t testing.TB, is bool, what string) {
	t.Helper()
	switch {
	case is:
	case os.Getenv("CI") == "true" && !testing.Short():
		t.Fatalf("%s is absent, and CI must have it", what)
	default:
		t.Skipf("%s is absent", what)
	}
}
