// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
)

//go:embed python/baremetal.py
var baremetalProgram string

// Baremetal runs commands of the client baremetal. Make it with [Debian.StartBaremetal] and
// Close it. It is not safe for concurrent use.
type Baremetal struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors bytes.Buffer
}

// Output is the output of a command with its exit status.
type Output struct {
	Status int
	Stdout string
	Stderr string
}

// StartBaremetal loads the client. Its commands use the API at endpoint without
// authentication and the folder dir for files; they end with ctx.
func (d Debian) StartBaremetal(ctx context.Context, endpoint, dir string) (*Baremetal, error) {
	cmd, err := d.python(ctx, baremetalProgram, dir, nil, []string{"OS_AUTH_TYPE=none", "OS_ENDPOINT=" + endpoint})
	if err != nil {
		return nil, err
	}
	b := &Baremetal{cmd: cmd}
	cmd.Stderr = &b.errors
	if b.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("clients: input of baremetal: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("clients: output of baremetal: %w", err)
	}
	b.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("clients: start baremetal: %w", err)
	}
	return b, nil
}

// Run runs one command. The text is the part of the command line after "baremetal", on
// any number of lines, quoted as in a shell. An error means that the command did not
// run; the command's own errors are in the output.
func (b *Baremetal) Run(command string) (Output, error) {
	line, err := json.Marshal(command)
	if err != nil {
		return Output{}, fmt.Errorf("clients: run baremetal: %w", err)
	}
	if _, err := b.in.Write(append(line, '\n')); err != nil {
		return Output{}, fmt.Errorf("clients: run baremetal %s: %w", command, err)
	}
	answer, err := b.out.ReadBytes('\n')
	if err != nil {
		return Output{}, fmt.Errorf("clients: run baremetal %s: %w", command, err)
	}
	var output Output
	if err := json.Unmarshal(answer, &output); err != nil {
		return Output{}, fmt.Errorf("clients: run baremetal %s: %w", command, err)
	}
	return output, nil
}

// Close ends the client. Call it once, after the last Run has returned.
func (b *Baremetal) Close() error {
	closed := b.in.Close()
	if err := b.cmd.Wait(); err != nil {
		return failed(err, "end of baremetal", b.errors.Bytes())
	}
	return closed
}
