package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// ErrNotInstalled is matched by the error of a function of which a program is
// missing.
var ErrNotInstalled = errors.New("not installed")

// Result is how a test of a client's suite went.
type Result struct {
	Name   string // with the suite's folder or module before it
	Passed bool   // false for a skipped test too
	Output string // why it did not pass
}

// python prepares a program for the interpreter that the client runs with, which has
// openstacksdk too. It ends with ctx, with all that it started. Of the environment it
// has env and the path alone, so that no setting of who runs the tests reaches it.
func python(ctx context.Context, program, dir string, args, env []string) (*exec.Cmd, error) {
	path, err := exec.LookPath("baremetal")
	if err != nil {
		return nil, fmt.Errorf("clients: baremetal is %w: "+
			"Debian's packages python3-ironicclient and python3-oslotest are needed", ErrNotInstalled)
	}
	script, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("clients: find baremetal's interpreter: %w", err)
	}
	line, _, _ := strings.Cut(string(script), "\n")
	interpreter, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return nil, fmt.Errorf("clients: %s is no script: its first line is %q", path, line)
	}
	cmd := exec.CommandContext(ctx, strings.TrimSpace(interpreter), append([]string{"-I", "-c", program}, args...)...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}, env...)
	ownGroup(cmd)
	return cmd, nil
}

// ownGroup makes a command's end that of all processes that it has started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// failed adds to a command's error the end of what it wrote.
func failed(err error, what string, output []byte) error {
	const most = 2000
	output = bytes.TrimSpace(output)
	return fmt.Errorf("clients: %s: %w: %s", what, err, output[max(0, len(output)-most):])
}
