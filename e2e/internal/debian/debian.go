// SPDX-License-Identifier: Apache-2.0

// Package debian runs the programs of a Debian in a folder, as e2e/ironic/make.sh makes it.
package debian

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Root is the folder of a Debian. The empty Root is this machine.
type Root string

// enter is a shell script that runs a program of the Debian in the folder $1, in the working directory of the
// script, with this machine's devices and temporary files. The mounts end with the last process in their
// namespace.
//
//go:embed enter.sh
var enter string

// Command returns the command of a program of the Debian.
func (r Root) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	if r == "" {
		return exec.CommandContext(ctx, name, args...)
	}
	inside := append([]string{"--mount", "--", "sh", "-ec", enter, "enter", string(r), name}, args...)
	return exec.CommandContext(ctx, "unshare", inside...)
}

// LookPath returns the path of a program of the Debian as this machine sees it. The error matches
// [exec.ErrNotFound] or [os.ErrNotExist] if the program is missing.
func (r Root) LookPath(program string) (string, error) {
	if r != "" {
		program = filepath.Join(string(r), "/usr/bin", program)
	}
	return exec.LookPath(program)
}

// Interpreter returns the interpreter in the first line of a program, such as "/usr/bin/python3".
func (r Root) Interpreter(program string) (string, error) {
	path, err := r.LookPath(program)
	if err != nil {
		return "", err
	}
	script, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("find the interpreter of %s: %w", program, err)
	}
	line, _, _ := strings.Cut(string(script), "\n")
	interpreter, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return "", fmt.Errorf("%s is no script", path)
	}
	return strings.TrimSpace(interpreter), nil
}
