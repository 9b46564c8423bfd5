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
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/states"
)

// bmcFlags are the flags of BMCs.
type bmcFlags struct {
	anySetting bool
	bmclib     bool
	verifyCA   string
	timeout    time.Duration
}

func (b *bmcFlags) define(flags *flag.FlagSet) {
	flags.BoolVar(&b.anySetting, "any-bios-setting", false,
		"let the step bios.apply_configuration send settings that the BMC does not describe, as Ironic does; "+
			"their types are unknown, and a BMC may take a wrong value without an error")
	flags.BoolVar(&b.bmclib, "bmclib", false, "have the hardware type bmclib, which manages machines by the providers asrockrack, dell, "+
		"intel-amt, openbmc, rpc and supermicro of bmclib; the BMCs and the providers are trusted: see SECURITY.md")
	flags.StringVar(&b.verifyCA, "bmc-verify-ca", "", "`file` or folder with the certificates of the authorities of BMCs, "+
		"for nodes of redfish whose redfish_verify_ca is true or absent; empty stands for the authorities of the operating system")
	flags.DurationVar(&b.timeout, "bmc-timeout", 0, "`time` for a call of a BMC, with all of its requests; "+
		"0 stands for 30s, and by IPMI for 1m30s; BMCs that are slow to change settings need more")
}

// logoutTimeout bounds the log-out of all BMCs when the program ends.
const logoutTimeout = 3 * time.Second

// hardwareConfig returns the configuration of the hardware types that the flags give.
func (o *options) hardwareConfig() hardware.Config {
	return hardware.Config{
		Sessions: maxSessions, Client: o.images.client, APIURL: o.images.apiURL,
		DefaultDeploy: o.images.deploy, KernelParameters: o.images.parameters, ByArchitecture: o.images.byArchitecture,
		DeployKernel: o.images.kernel, DeployRamdisk: o.images.ramdisk, Bootloader: o.images.bootloader, ImageDownloadSource: o.images.source,
		AnyBIOSSetting: o.bmcs.anySetting, VerifyCA: o.bmcs.verifyCA, Timeout: o.bmcs.timeout, Series: o.series,
		SkipBMCPorts: o.agents.skipBMCPorts, WholeRamdisks: o.images.whole,
	}
}

// newHardware returns the hardware types, and a function that closes them and logs out of the BMCs. The images may be
// nil.
func newHardware(o *options, published *images.Server, log *slog.Logger) (map[string]conductor.Hardware, func(), error) {
	config := o.hardwareConfig()
	config.Images, config.Log = published, log
	redfish, err := hardware.NewRedfish(config)
	if err != nil {
		return nil, nil, err
	}
	ipmi, err := hardware.NewIPMI(config)
	if err != nil {
		return nil, nil, err
	}
	fake := fakeHardware{&conductor.Fake{Series: o.series, Before: fakeOperation(o.fakeDelay, log)}, o.fakeRestart}
	types := map[string]conductor.Hardware{"fake-hardware": fake, "redfish": redfish, "ipmi": ipmi}
	if o.bmcs.bmclib {
		if types["bmclib"], err = hardware.NewBMCLib(config); err != nil {
			return nil, nil, err
		}
	}
	closeAll := func() {
		ctx, cancel := context.WithTimeout(context.Background(), logoutTimeout)
		defer cancel()
		for _, each := range types {
			if closable, ok := each.(interface{ Close(context.Context) error }); ok {
				_ = closable.Close(ctx) // an unreachable BMC expires its sessions itself
			}
		}
	}
	return types, closeAll, nil
}

// maxSessions bounds the Redfish sessions that stay open between two reads of the power state.
const maxSessions = 10_000

// fakeOperation returns the Before function of fake-hardware. Each operation except "read power"
// takes a random time below most and is logged at its start and end, with the time at which it was
// asked for.
func fakeOperation(most time.Duration, log *slog.Logger) func(context.Context, *conductor.Node, string) error {
	return func(ctx context.Context, n *conductor.Node, operation string) error {
		if operation == "read power" {
			return nil
		}
		log := log.With("node", n.UUID, "operation", operation, "revision", n.Revision, "claim", n.Claim, "asked", ctx.Value(askedKey{}))
		log.Debug("an operation begins")
		var err error
		if most > 0 {
			select {
			case <-time.After(rand.N(most)):
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		log.Debug("an operation has ended", "error", err)
		return err
	}
}

// fakeHardware is fake-hardware whose operations have the time at which they were asked for.
type fakeHardware struct {
	*conductor.Fake
	restart bool // each step ends with a restart of the machine
}

// askedKey is the context key of the time at which an operation was asked for.
type askedKey struct{}

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

// BuildConfigDrive implements [conductor.ConfigDriveBuilder].
func (fakeHardware) BuildConfigDrive(_ context.Context, files map[string][]byte) ([]byte, error) {
	return bootimage.ConfigDrive(files, os.TempDir())
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
