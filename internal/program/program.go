// Package program is the common part of the examples' main functions. After a signal or
// an error the program cleans up; the process then prints one line with the reason and
// ends with an exit status for scripts.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// The exit statuses. The status after a signal is 128 plus the signal's number, as in
// shells: 130 after an interrupt, 143 after a termination.
const (
	Good = iota
	Failed
	Usage
	signalled = 128
)

// ErrUsage is matched by the errors for wrong arguments.
var ErrUsage = errors.New("wrong use")

// usageError is an error for wrong arguments. It matches ErrUsage, whose text is not part
// of the error's text.
type usageError struct{ error }

func (usageError) Is(target error) bool { return target == ErrUsage }

// Usagef returns an error that matches [ErrUsage].
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// A Func is a program. Its context ends with the first interrupt or termination, and
// when a write to out fails; the program then cleans up and returns.
type Func func(ctx context.Context, args []string, out, errOut io.Writer) error

// Main runs a program and ends the process. A second signal ends the process at once.
func Main(name string, f Func) {
	os.Exit(run(UntilSignal(), name, os.Args[1:], os.Stdout, os.Stderr, f))
}

// UntilSignal returns a context that the first interrupt or termination ends, with a
// cause for [SignalStatus]. A second signal kills the program. After the call a write to
// a closed pipe returns an error and sends no SIGPIPE. UntilSignal is for programs that
// cannot use Main.
func UntilSignal() context.Context {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, end := context.WithCancelCause(context.Background())
	go func() {
		s := <-signals
		signal.Stop(signals)
		end(signalError{s})
	}()
	return ctx
}

// SignalStatus returns the exit status for the error of a program that a signal has
// ended; ok is false if err does not come from a signal.
func SignalStatus(err error) (status int, ok bool) {
	var ended signalError
	if !errors.As(err, &ended) {
		return 0, false
	}
	number, _ := ended.Signal.(syscall.Signal)
	return signalled + int(number), true
}

// Run runs a program with these arguments and returns its exit status.
func Run(name string, args []string, out, errOut io.Writer, f Func) int {
	return run(context.Background(), name, args, out, errOut, f)
}

func run(ctx context.Context, name string, args []string, out, errOut io.Writer, f Func) int {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	written := &writer{to: out, end: end}
	err := f(ctx, args, written, errOut)
	if failed := written.failure(); failed != nil {
		err = failed
	} else if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	return status(name, err, errOut)
}

func status(name string, err error, errOut io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return Good
	}
	fmt.Fprintf(errOut, "%s: %v\n", name, err)
	if errors.Is(err, ErrUsage) {
		return Usage
	}
	if status, ok := SignalStatus(err); ok {
		return status
	}
	return Failed
}

type signalError struct{ os.Signal }

func (e signalError) Error() string { return "stopped by signal: " + e.String() }

// writer ends the program when a write fails.
type writer struct {
	to  io.Writer
	end context.CancelCauseFunc

	mu  sync.Mutex
	err error
}

// Write implements [io.Writer].
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.to.Write(p)
	if err != nil {
		w.err = fmt.Errorf("write the output: %w", err)
		w.end(w.err)
	}
	return n, err
}

func (w *writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Parse parses flags. For an invalid flag, or an argument that is not a flag, it returns
// an error that matches [ErrUsage]. For -h it prints the flags to errOut and returns
// [flag.ErrHelp].
func Parse(flags *flag.FlagSet, args []string, errOut io.Writer) error {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(errOut, "usage of %s:\n", flags.Name())
		flags.SetOutput(errOut)
		flags.PrintDefaults()
		return err
	case err != nil:
		return usageError{err}
	case flags.NArg() > 0:
		return Usagef("unexpected argument %q: want flags alone, see -h", flags.Arg(0))
	default:
		return nil
	}
}

// Between returns an error that matches [ErrUsage] unless a flag's value is between low
// and high, inclusive.
func Between(name string, value, low, high int) error {
	if value < low || value > high {
		return Usagef("-%s is %d: want %d to %d", name, value, low, high)
	}
	return nil
}
