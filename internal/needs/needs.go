// Package needs skips tests where the real system that they need is absent, and
// fails them in CI, which has all of them: a skip there would hide a failure.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Programs needs programs on the PATH.
func Programs(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		_, err := exec.LookPath(program)
		Installed(t, err == nil, "the program "+program)
	}
}

// Installed needs something of which the caller has found out whether it is
// there.
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
