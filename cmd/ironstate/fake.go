// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// fakeFlags are the flags of fake-hardware.
type fakeFlags struct {
	delay   time.Duration
	restart bool // each step ends with a restart of the machine
}

func (f *fakeFlags) define(flags *flag.FlagSet) {
	flags.DurationVar(&f.delay, "fake-delay", 0, "maximum `time` of an operation on fake-hardware; each takes a random part of it")
	flags.BoolVar(&f.restart, "fake-restart", false, "end each step of fake-hardware with a restart of the machine")
}

// fakeHardware is fake-hardware that builds configuration drives, for agents that are real. All else is for tests of
// the service, such as e2e/force: operations take time, and are logged at level DEBUG, so that the test knows which
// conductor was at work on which node, and when.
type fakeHardware struct {
	*conductor.Fake
	restart bool // see fakeFlags
}

// BuildConfigDrive implements [conductor.ConfigDriveBuilder].
func (fakeHardware) BuildConfigDrive(_ context.Context, files map[string][]byte) ([]byte, error) {
	return bootimage.ConfigDrive(files, os.TempDir())
}

// fakeOperation returns the Before function of fake-hardware. Each operation except "read power" takes a random time
// below most and is logged at its start and end, with the time at which it was asked for.
func fakeOperation(most time.Duration, log *slog.Logger) func(context.Context, *conductor.Node, string) error {
	return func(ctx context.Context, n *conductor.Node, operation string) error {
		if operation == "read power" {
			return nil
		}
		log := log.With("node", n.UUID, "operation", operation, "revision", n.Revision, "claim", n.Claim, "asked", ctx.Value(askedKey{}))
		log.Debug("an operation begins")
		var err error
		if most > 0 && !sleep.For(ctx, rand.N(most)) {
			err = context.Cause(ctx)
		}
		log.Debug("an operation has ended", "error", err)
		return err
	}
}

// askedKey is the context key of the time at which an operation was asked for.
type askedKey struct{}

// asked returns the context of an operation that is asked for now. The operation begins once it is permitted, which is
// much later if the process is stopped in between.
func asked(ctx context.Context) context.Context {
	return context.WithValue(ctx, askedKey{}, time.Now())
}

// Verify implements [conductor.Hardware].
func (f fakeHardware) Verify(ctx context.Context, n *conductor.Node) (states.Power, error) {
	return f.Fake.Verify(asked(ctx), n)
}

// SetPower implements [conductor.Hardware].
func (f fakeHardware) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	return f.Fake.SetPower(asked(ctx), n, power)
}

// BootAgent implements [conductor.AgentBooter].
func (f fakeHardware) BootAgent(ctx context.Context, t *conductor.Task) error {
	return f.Fake.BootAgent(asked(ctx), t)
}

// Steps implements [conductor.Hardware].
func (f fakeHardware) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	steps := f.Fake.Steps(n, work)
	for i, step := range steps {
		steps[i].Run = func(ctx context.Context, t *conductor.Task) error {
			if err := step.Run(asked(ctx), t); err != nil || !f.restart {
				return err
			}
			if err := f.SetPower(ctx, t.Node(), states.PowerOff); err != nil {
				return err
			}
			return t.SetPower(ctx, states.PowerOn)
		}
	}
	return steps
}
