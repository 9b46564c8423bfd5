// SPDX-License-Identifier: Apache-2.0

// Package program runs the main functions of the commands. It adds to [signal.NotifyContext]:
// the exit status tells which signal ended the program, a write to a closed pipe or a full disk
// ends the program as an error does, and the reason is one line on standard error. Examples use
// signal.NotifyContext alone.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/ironstate/ironstate/internal/masked"
)

// The exit statuses. The status after a signal is 128 plus the signal's number, as in
// shells: 129 after a hang-up, 130 after an interrupt, 143 after a termination.
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

// A Func is a program. Its context ends with the first interrupt, termination or
// hang-up, and when a write to out fails; the program then cleans up and returns.
type Func func(ctx context.Context, args []string, out, errOut io.Writer) error

// Main runs a program and ends the process. A second signal other than a hang-up ends the process at once.
func Main(name string, f Func) {
	os.Exit(run(untilSignal(), name, os.Args[1:], os.Stdout, os.Stderr, f))
}

// Serve is Main for a service: a signal is its regular end. The signal is not the cause of the end of
// the context, and the exit status is 0 if the service then returns nil.
func Serve(name string, f Func) {
	signalled := untilSignal()
	os.Exit(Run(name, os.Args[1:], os.Stdout, os.Stderr, func(ctx context.Context, args []string, out, errOut io.Writer) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		context.AfterFunc(signalled, stop)
		return f(ctx, args, out, errOut)
	}))
}

// Ended returns err, or nil if err is the result of the end of ctx, so that a service that is stopped while it starts
// ends as one that is stopped later.
func Ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// untilSignal returns a context that the first interrupt, termination or hang-up ends,
// with a signalError as the cause. A second signal kills the process, except for a
// hang-up: of a terminal that is closed the shell and the kernel each send one. nohup
// has hang-ups ignored. After the call a write to a closed pipe returns an error and
// sends no SIGPIPE.
func untilSignal() context.Context {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals, hangUps := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(hangUps, syscall.SIGHUP)
	}
	ctx, end := context.WithCancelCause(context.Background())
	go func() {
		var s os.Signal
		select {
		case s = <-signals:
		case s = <-hangUps:
		}
		signal.Stop(signals)
		end(signalError{s})
	}()
	return ctx
}

// Run runs a program with these arguments and returns its exit status.
func Run(name string, args []string, out, errOut io.Writer, f Func) int {
	return run(context.Background(), name, args, out, errOut, f)
}

func run(ctx context.Context, name string, args []string, out, errOut io.Writer, f Func) int {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	err := f(ctx, args, &writer{to: out, end: end}, errOut)
	var notWritten writeError
	if cause := context.Cause(ctx); errors.As(cause, &notWritten) || cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	switch {
	case errors.Is(err, ErrVersion):
		_, err = fmt.Fprintf(out, "%s %s\n", name, version(debug.ReadBuildInfo()))
	case errors.Is(err, flag.ErrHelp):
		err = nil
	}
	if err == nil {
		return Good
	}
	fmt.Fprintf(errOut, "%s: %s\n", name, masked.Text(err.Error()))
	var ended signalError
	switch {
	case errors.As(err, &ended):
		number, _ := ended.Signal.(syscall.Signal)
		return signalled + int(number)
	case errors.Is(err, ErrUsage):
		return Usage
	default:
		return Failed
	}
}

type signalError struct{ os.Signal }

func (e signalError) Error() string { return "stopped by signal: " + e.String() }

// writeError is the cause of the end of a program whose output could not be written.
type writeError struct{ error }

func (e writeError) Error() string { return "write standard output: " + e.error.Error() }

func (e writeError) Unwrap() error { return e.error }

// writer ends the context of the program when a write fails.
type writer struct {
	end context.CancelCauseFunc
	mu  sync.Mutex
	to  io.Writer
}

// Write implements [io.Writer].
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.to.Write(p)
	if err != nil {
		var path *fs.PathError // has the name of standard output again
		if errors.As(err, &path) {
			err = path.Err
		}
		w.end(writeError{err})
	}
	return n, err
}

// ErrVersion is the error of [Parse] for -version. A program that returns it ends well, after its version was printed.
var ErrVersion = errors.New("the version is asked for")

// version returns the version, the commit and the Go version of a build.
func version(build *debug.BuildInfo, ok bool) string {
	if !ok {
		return "of an unknown version"
	}
	text := build.Main.Version
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision":
			text += ", commit " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			text += " with changes"
		}
	}
	return text + ", " + build.GoVersion
}

// Parse adds the flag -version, and parses the flags. For an invalid flag, or an argument that is not a flag, it
// returns an error that matches [ErrUsage]. For -h it prints the flags to errOut and returns [flag.ErrHelp], for
// -version it returns [ErrVersion].
func Parse(flags *flag.FlagSet, args []string, errOut io.Writer) error {
	version := flags.Bool("version", false, "print the version of this program and end")
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
		return Usagef("%w, see -h", err)
	case flags.NArg() > 0:
		return Usagef("unexpected argument %q: want flags alone, see -h", flags.Arg(0))
	case *version:
		return ErrVersion
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
