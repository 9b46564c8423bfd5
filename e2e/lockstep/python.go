// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/ironstate/ironstate/internal/try"
)

// python is a running Python program that answers each line of JSON with a line of
// JSON. It ends when its standard input is closed, and thus with this process. It is
// safe for concurrent use.
type python struct {
	cmd *exec.Cmd

	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
}

// startPython starts a program with Ironic's Python interpreter, which has Ironic's
// modules.
func startPython(i Installation, program string, args ...string) *python {
	interpreter := try.Get(i.interpreter())
	p := &python{cmd: i.command(context.Background(), interpreter, append([]string{"-I", "-c", program}, args...)...)}
	p.cmd.Stderr = os.Stderr
	p.in, p.out = try.Get(p.cmd.StdinPipe()), bufio.NewReader(try.Get(p.cmd.StdoutPipe()))
	try.OKf(p.cmd.Start(), "lockstep: start python")
	return p
}

// ask sends a question and decodes the answer.
func (p *python) ask(question, answer any) {
	line := try.Get(json.Marshal(question))
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.in.Write(append(line, '\n'))
	try.OKf(err, "lockstep: ask python")
	line, err = p.out.ReadBytes('\n')
	try.OKf(err, "lockstep: python's answer")
	try.OK(json.Unmarshal(line, answer))
}

func (p *python) close() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }
