// SPDX-License-Identifier: Apache-2.0

// Package needs skips a test if the real system that it needs is absent. In CI, which
// has all of them, it fails the test: a skip there would hide a failure. With -short, which CI
// passes only besides a run without it, tests of real systems and slow tests are skipped. Tests that
// take minutes run only in CI, and heavy real systems one after the other.
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

// CI reports whether the tests run in CI, which has time for more than a developer. Anyone may set CI=true.
func CI() bool { return os.Getenv("CI") == "true" }

// Long skips the test outside CI, because it takes minutes of processor time. README has the command that runs it.
func Long(t testing.TB) {
	t.Helper()
	Time(t)
	if !CI() {
		t.Skip("takes minutes, and runs with CI=true only")
	}
}

// Installed skips the test, or fails it in CI, unless is is true. The argument what names
// the missing system in the message.
func Installed(t testing.TB, is bool, what string) {
	t.Helper()
	switch {
	case is:
	case CI() && !testing.Short():
		t.Fatalf("%s is absent, and CI must have it", what)
	default:
		t.Skipf("%s is absent", what)
	}
}

// Given returns the value of an environment variable that says where something is that only some have. Without the
// variable it skips the test, also in CI.
func Given(t testing.TB, variable, what string) string {
	t.Helper()
	Time(t)
	value := os.Getenv(variable)
	if value == "" {
		t.Skipf("%s are not part of the repository: the environment variable %s says where they are", what, variable)
	}
	return value
}
