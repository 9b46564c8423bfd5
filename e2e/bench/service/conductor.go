// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

// startTimeout bounds the start of a service.
const startTimeout = 2 * time.Minute

// conductor is a running cmd/ironstate.
type conductor struct {
	url     string
	took    time.Duration // from the start of the process until it was ready
	process *exec.Cmd
	read    sync.WaitGroup

	mu     sync.Mutex
	rounds []round       // finished rounds of power sync
	over   chan struct{} // closed and replaced at the end of each round
}

// startConductor starts the program and waits until it is ready; args select its store.
func startConductor(ctx context.Context, program string, args ...string) *conductor {
	args = append(args, "-series", states.Antelope.String(), "-demo", "0", "-log-level", "DEBUG")
	c := &conductor{over: make(chan struct{}), process: exec.Command(program, args...)}
	c.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, log := try.Get(c.process.StdoutPipe()), try.Get(c.process.StderrPipe())
	start := time.Now()
	try.OK(c.process.Start())
	var last string // line of the log
	c.read.Go(func() { last = c.readLog(log) })
	ready := make(chan string, 1)
	c.read.Go(func() {
		defer close(ready)
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		if url, ok := strings.CutPrefix(line, "listening on "); ok {
			ready <- strings.TrimSpace(url)
		}
		_, _ = io.Copy(io.Discard, lines)
	})
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case url, ok := <-ready:
		if !ok {
			err := c.stop()
			try.Failf("the conductor has ended before it was ready: %w: %s", err, last)
		}
		c.url, c.took = url, time.Since(start)
	case <-ctx.Done():
		try.OK(errors.Join(fmt.Errorf("the conductor is not ready: %w", context.Cause(ctx)), c.stop()))
	}
	return c
}

// readLog records the rounds of power sync in a log, and returns the last line.
func (c *conductor) readLog(log io.Reader) (last string) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		last = lines.Text()
		if !strings.Contains(last, `msg="power sync round" round=sync`) {
			continue
		}
		_, rest, _ := strings.Cut(last, " took=")
		text, _, _ := strings.Cut(rest, " ")
		took, err := time.ParseDuration(text)
		if err != nil {
			continue
		}
		now := time.Now()
		c.mu.Lock()
		c.rounds = append(c.rounds, round{now.Add(-took), now})
		close(c.over)
		c.over = make(chan struct{})
		c.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, log) // the scanner stops at a line that is too long
	return last
}

// finished returns the finished rounds of power sync.
func (c *conductor) finished() []round {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.rounds)
}

// afterRounds is the time for which roundsOver waits after the last round.
const afterRounds = time.Second

// roundsOver waits until that many rounds of power sync have ended, and for afterRounds.
func (c *conductor) roundsOver(ctx context.Context, rounds int) error {
	for {
		c.mu.Lock()
		enough, over := len(c.rounds) >= rounds, c.over
		c.mu.Unlock()
		if enough {
			sleep.For(ctx, afterRounds)
			return context.Cause(ctx)
		}
		select {
		case <-over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// kill kills the process without a warning, as a crash does, and waits for its end.
func (c *conductor) kill() {
	_ = c.process.Process.Kill()
	c.read.Wait()
	_ = c.process.Wait() // it was killed
}

// stop terminates the process, as an operator does, and waits for its end.
func (c *conductor) stop() error {
	_ = c.process.Process.Signal(syscall.SIGTERM) // it may have ended
	kill := time.AfterFunc(startTimeout, func() { _ = c.process.Process.Kill() })
	defer kill.Stop()
	c.read.Wait()
	if err := c.process.Wait(); err != nil {
		return fmt.Errorf("the conductor: %w", err)
	}
	return nil
}
