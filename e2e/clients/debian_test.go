// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/ironstate/ironstate/e2e/internal/debian"
)

// ErrNotInstalled is matched by the error of a function if a required program is missing.
var ErrNotInstalled = errors.New("not installed")

// Result is the result of a test in a client's suite.
type Result struct {
	Name   string // prefixed by the suite's folder or module
	Passed bool   // false for a skipped test too
	Output string // the reason if the test did not pass
}

// A Debian has the clients that are written in Python.
type Debian struct {
	Root string // its folder, as e2e/ironic makes it; empty for this machine
}

// python returns a command that runs a program with the client's Python interpreter,
// which also has openstacksdk. The program and its child processes end with ctx. The
// environment is env, PATH and LANG only, so that no setting of the user affects the
// program.
func (d Debian) python(ctx context.Context, program, dir string, args, env []string) (*exec.Cmd, error) {
	interpreter, err := debian.Root(d.Root).Interpreter("baremetal")
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("clients: baremetal is %w: "+
			"Debian's packages python3-ironicclient, python3-oslotest and ironic-tempest-plugin are needed", ErrNotInstalled)
	case err != nil:
		return nil, fmt.Errorf("clients: find baremetal's interpreter: %w", err)
	}
	cmd := debian.Root(d.Root).Command(ctx, interpreter, append([]string{"-I", "-c", program}, args...)...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}, env...)
	ownGroup(cmd)
	return cmd, nil
}

// ownGroup puts a command into its own process group, whose processes all end with the
// command's context.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// failed adds the end of a command's output to its error.
func failed(err error, what string, output []byte) error {
	const most = 2000
	output = bytes.TrimSpace(output)
	return fmt.Errorf("clients: %s: %w: %s", what, err, output[max(0, len(output)-most):])
}
