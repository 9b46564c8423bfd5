package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// A stopped error says which signal ended the program.
type stopped struct{ by os.Signal }

func (e stopped) Error() string { return fmt.Sprintf("stopped by signal: %v", e.by) }

// status returns the exit status of a program that ended so, as shells have it.
func (e stopped) status() int {
	number, _ := e.by.(syscall.Signal)
	return 128 + int(number)
}

// untilSignal returns a context that SIGINT or SIGTERM ends, with a stopped error
// for its cause. A second signal kills the program. To write to a pipe that its
// reader has closed is an error from now on, and no signal.
func untilSignal() context.Context {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		by := <-signals
		signal.Stop(signals)
		cancel(stopped{by})
	}()
	return ctx
}
