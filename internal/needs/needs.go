// SPDX-License-Identifier: Apache-2.0

// Package needs skips a test if the real system that it needs is absent. In CI, which
// has all of them, it fails the test: a skip there would hide a failure.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Programs skips the test, or fails it in CI, unless the programs are on the PATH.
func Programs(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		_, err := exec.LookPath(program)
		Installed(t, err == nil, "the program "+program)
	}
}

// Installed skips the test, or fails it in CI, unless is is true. The argument what names
// the missing system in the message.
func Installed(t testing.TB, is bool, what string) {
	t.Helper()
	switch {
	case is:
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is absent, and CI must have it", what)
	default:
		t.Skipf("%s is absent", what)
	}
}
