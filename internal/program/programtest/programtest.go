// SPDX-License-Identifier: Apache-2.0

// Package programtest runs commands as processes in their own tests.
package programtest

import (
	"os"
	"os/exec"
)

// asProgram is the environment variable that makes a test binary run as the program.
const asProgram = "IRONSTATE_AS_PROGRAM"

// Main runs main in a process that [Command] started, and reports whether it did so. A
// TestMain calls it and runs the tests only if it returns false.
func Main(main func()) bool {
	if os.Getenv(asProgram) == "" {
		return false
	}
	main()
	return true
}

// Command returns a command that runs the test binary as the program.
func Command(args ...string) *exec.Cmd {
	program := exec.Command(os.Args[0], args...)
	program.Env = append(os.Environ(), asProgram+"=1")
	return program
}
