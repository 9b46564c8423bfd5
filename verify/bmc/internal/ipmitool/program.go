// SPDX-License-Identifier: Apache-2.0

package ipmitool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// maxOutput bounds each output of a program, in bytes.
const maxOutput = 64 << 10

// outputDelay is how long runProgram waits for the output of a program that has
// ended while its child holds the output open. It is a variable because a test needs more time.
var outputDelay = 500 * time.Millisecond

var errOutput = fmt.Errorf("the program writes more than %d KiB", maxOutput>>10)

// runProgram runs a program until it ends, writes too much, or the context ends, and returns its standard output. It
// kills all processes that remain in the program's process group; it does not find one that has left the group, as
// daemons do. The program's environment consists of PATH and the variable.
func runProgram(ctx context.Context, name string, arguments []string, variable string) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	full := func() { cancel(errOutput) }
	stdout, stderr := limitedBuffer{full: full}, limitedBuffer{full: full}

	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), variable}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = outputDelay
	inGroup(cmd)
	err := cmd.Run()
	killGroup(cmd)
	switch {
	case context.Cause(ctx) == errOutput:
		err = failure.New(verify.Protocol, errOutput)
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, exec.ErrWaitDelay): // the program succeeded, and its child holds the output open
		err = nil
	case err != nil:
		err = failure.Protocolf("%s%s: %v", stderr.text, stdout.text, err)
	}
	return string(stdout.text), err
}

// limitedBuffer holds an output up to a limit, and calls full if there is more.
type limitedBuffer struct {
	text []byte
	full func()
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if len(b.text)+len(p) > maxOutput {
		b.full()
		return 0, errOutput
	}
	b.text = append(b.text, p...)
	return len(p), nil
}
