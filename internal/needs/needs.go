// SPDX-License-Identifier: Apache-2.0

// Package needs skips the tests that the command "go test work" leaves out, unless the environment variable
// IRONSTATE_TESTS asks for them. That command is the gate of each change: its tests are quick, and their outcome
// depends on the code alone. The program .ci/search runs the others:
//
//   - systems: tests of processes, servers, clusters, browsers and real systems, and tests that take long. They
//     cannot be skipped there: an absent system is a failure.
//   - search: tests whose outcome depends on chance or on the machine, such as random histories of real processes,
//     and the memory that a whole process needs.
//
// The file .ci/left-out lists the tests that "go test work" skips.
package needs

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Variable is the environment variable that asks for more tests: [Systems], [Search], or both with a comma.
const Variable = "IRONSTATE_TESTS"

// The values of [Variable].
const (
	Systems = "systems"
	Search  = "search"
)

// Asked reports whether IRONSTATE_TESTS asks for the tests of a part. A test that has more cases there asks it.
func Asked(part string) bool {
	return slices.Contains(strings.Split(os.Getenv(Variable), ","), part)
}

func unless(t testing.TB, part, why string) {
	t.Helper()
	if !Asked(part) {
		t.Skip(why + ", and runs with " + Variable + "=" + part + " only")
	}
}

// Time skips the test unless IRONSTATE_TESTS asks for systems, because it takes too long: it starts processes, servers
// or a real system, or simulates many histories.
func Time(t testing.TB) {
	t.Helper()
	unless(t, Systems, "starts a system, or takes long")
}

// Programs skips the test as Time does. Where it is asked for, an absent program is a failure.
func Programs(t testing.TB, programs ...string) {
	t.Helper()
	Time(t)
	for _, program := range programs {
		_, err := exec.LookPath(program)
		Installed(t, err == nil, "the program "+program)
	}
}

// Chance skips the test unless IRONSTATE_TESTS asks for a search, because its outcome depends on chance or on the
// machine.
func Chance(t testing.TB) {
	t.Helper()
	unless(t, Search, "depends on chance or on the machine")
}

// Installed skips the test unless is is true. If IRONSTATE_TESTS asks for systems or a search, the test fails instead,
// because a skip there would hide a failure. The argument what names the missing system in the message.
func Installed(t testing.TB, is bool, what string) {
	t.Helper()
	switch {
	case is:
	case Asked(Systems), Asked(Search):
		t.Fatalf("%s is absent, and %s=%s must have it", what, Variable, os.Getenv(Variable))
	default:
		t.Skipf("%s is absent", what)
	}
}

// Given returns the value of an environment variable that says where something is that only some have. It skips the
// test as Time does, and also without the variable.
func Given(t testing.TB, variable, what string) string {
	t.Helper()
	Time(t)
	value := os.Getenv(variable)
	if value == "" {
		t.Skipf("%s are not part of the repository: the environment variable %s says where they are", what, variable)
	}
	return value
}
