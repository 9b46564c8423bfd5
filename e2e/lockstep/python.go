// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
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
func startPython(i Installation, program string, args ...string) (*python, error) {
	interpreter, err := i.interpreter()
	if err != nil {
		return nil, err
	}
	p := &python{cmd: i.command(context.Background(), interpreter, append([]string{"-I", "-c", program}, args...)...)}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("lockstep: input of python: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("lockstep: output of python: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("lockstep: start python: %w", err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, nil
}

// ask sends a question and decodes the answer.
func (p *python) ask(question, answer any) error {
	line, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("lockstep: ask python: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("lockstep: ask python: %w", err)
	}
	if line, err = p.out.ReadBytes('\n'); err != nil {
		return fmt.Errorf("lockstep: python's answer: %w", err)
	}
	return json.Unmarshal(line, answer)
}

func (p *python) close() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }
