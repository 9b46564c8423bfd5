// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"log/slog"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardware/images"
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

// newHardware returns the hardware types, and a list of the types that log out of BMCs when they are closed. The images
// may be nil.
func newHardware(o *options, published *images.Server, log *slog.Logger) (map[string]conductor.Hardware, []closer, error) {
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
	fake := fakeHardware{&conductor.Fake{Series: o.series, Before: fakeOperation(o.fake.delay, log)}, o.fake.restart}
	types := map[string]conductor.Hardware{"fake-hardware": fake, "redfish": redfish, "ipmi": ipmi}
	closers := []closer{redfish, ipmi}
	if o.bmcs.bmclib {
		bmclib, err := hardware.NewBMCLib(config)
		if err != nil {
			return nil, nil, err
		}
		types["bmclib"], closers = bmclib, append(closers, bmclib)
	}
	return types, closers, nil
}

type closer interface{ Close(context.Context) error }

// closeAll closes hardware types within logoutTimeout.
func closeAll(all []closer) {
	ctx, cancel := context.WithTimeout(context.Background(), logoutTimeout)
	defer cancel()
	for _, each := range all {
		_ = each.Close(ctx) // an unreachable BMC expires its sessions itself
	}
}

// maxSessions bounds the Redfish sessions that stay open between two reads of the power state.
const maxSessions = 10_000
