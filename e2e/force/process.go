// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/internal/sleep"
)

// process is a program that can be restarted.
type process struct {
	name    string
	dir     string                          // the folder of its logs
	command func() *exec.Cmd                // returns the command of the next start
	ready   func(line string) (bool, error) // reports whether a line of the output says that it is ready
	onExit  func(error)                     // called when it ends by itself after it was ready

	mu      sync.Mutex
	running *exec.Cmd
	starts  int
	serving bool          // ready, and not killed on purpose
	exited  chan struct{} // closed when it has ended
	begun   time.Time     // the beginning of the present outage; zero if there is none
	outages []history.Outage
}

// start starts the process and waits until it is ready.
func (p *process) start(ctx context.Context) error {
	p.mu.Lock()
	p.starts++
	file := filepath.Join(p.dir, fmt.Sprintf("%s.%03d.log", p.name, p.starts))
	p.mu.Unlock()
	log, err := os.Create(file)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own file descriptor
	command := p.command()
	command.Stderr = log
	command.SysProcAttr = dieWithParent()
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	exited, ready := make(chan struct{}), make(chan error, 1)
	p.mu.Lock()
	p.running, p.serving, p.exited = command, false, exited
	p.endOutage()
	p.mu.Unlock()
	go func() {
		p.awaitReady(out, ready)
		p.awaitExit(command, exited)
	}()
	select {
	case err := <-ready:
		return err
	case <-exited:
		return fmt.Errorf("%s ended before it was ready, see %s: %s", p.name, file, tail(file))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitReady reads the output of the process to its end. It sends the result of the line that says whether the process
// is ready.
func (p *process) awaitReady(out io.Reader, result chan<- error) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if is, err := p.ready(lines.Text()); is || err != nil {
			p.mu.Lock()
			p.serving = err == nil
			p.mu.Unlock()
			result <- err
			break
		}
	}
	_, _ = io.Copy(io.Discard, out)
}

// awaitExit waits for the end of the process, which begins an outage, and closes exited.
func (p *process) awaitExit(command *exec.Cmd, exited chan<- struct{}) {
	err := command.Wait()
	p.mu.Lock()
	p.beginOutage()
	serving := p.serving
	p.mu.Unlock()
	close(exited)
	if serving {
		p.onExit(errors.Join(fmt.Errorf("%s has ended by itself", p.name), err))
	}
}

// beginOutage begins an outage unless one has begun. The caller holds mu.
func (p *process) beginOutage() {
	if p.begun.IsZero() {
		p.begun = time.Now()
	}
}

// endOutage ends the present outage, if there is one. The caller holds mu.
func (p *process) endOutage() {
	if !p.begun.IsZero() {
		p.outages = append(p.outages, history.Outage{Conductor: p.name, Begin: p.begun, End: time.Now()})
		p.begun = time.Time{}
	}
}

// signal sends a signal, and returns the channel that is closed when the process ends.
func (p *process) signal(s syscall.Signal) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s {
	case syscall.SIGKILL, syscall.SIGTERM:
		p.serving = false
	case syscall.SIGSTOP:
		p.beginOutage()
	case syscall.SIGCONT:
		defer p.endOutage()
	}
	if p.running != nil {
		_ = p.running.Process.Signal(s) // fails if the process has ended
	}
	return p.exited
}

// resume continues a stopped process, or restarts a dead one.
func (p *process) resume(ctx context.Context) error {
	p.signal(syscall.SIGCONT)
	for p.down() {
		if err := p.start(ctx); err == nil {
			return nil
		}
		sleep.For(ctx, 200*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("%s does not start: %w", p.name, ctx.Err())
		}
	}
	return nil
}

// down reports whether the process has ended.
func (p *process) down() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// outagesUntil returns the outages, including the present one.
func (p *process) outagesUntil(end time.Time) []history.Outage {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := append([]history.Outage(nil), p.outages...)
	if !p.begun.IsZero() {
		all = append(all, history.Outage{Conductor: p.name, Begin: p.begun, End: end})
	}
	return all
}

// tail returns the last lines of a file.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
