// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/ironstate/ironstate/verify"
)

const (
	// maxOutput bounds each output of a program, in bytes.
	maxOutput = 64 << 10
	// outputDelay is how long runProgram waits for the output of a program that has
	// ended while its child holds the output open.
	outputDelay = 500 * time.Millisecond
)

var errOutput = fmt.Errorf("the program writes more than %d KiB", maxOutput>>10)

// runProgram runs a program until it ends, writes too much, or the context ends,
// and returns its standard output. It kills all processes that remain in the program's
// process group; it does not find one that has left the group, as daemons do. The
// program's environment consists of PATH and the variable.
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
	return string(stdout.text), programError(ctx, err, string(stderr.text)+string(stdout.text))
}

// programError returns the error of a program, from its exit status and its output.
func programError(ctx context.Context, err error, output string) error {
	switch {
	case context.Cause(ctx) == errOutput:
		return fail(verify.Protocol, errOutput)
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // the program succeeded, and its child holds the output open
		return nil
	default:
		return garbled(output + ": " + err.Error())
	}
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
