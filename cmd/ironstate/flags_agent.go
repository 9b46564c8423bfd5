// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"errors"
	"flag"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/oslobool"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// agentFlags are the flags of agents, and of the work on nodes that waits for them.
type agentFlags struct {
	timeouts   machine.Timeouts
	priorities map[string]int           // of the steps of automated cleaning
	disallowed map[states.Work][]string // see conductor.Config.DisallowedSteps; nil without the flag
	bootModes  admission.BootModes      // see conductor.Config.DisallowedBootModes

	verifyCA   string // see conductor.Config.AgentVerifyCA
	requireTLS *bool  // see conductor.Config.RequireAgentTLS; nil without the flag

	listen   string // host:port for agents alone; empty if they share the API's port
	networks conductor.AgentNetworks

	biosBootloaders, withoutMD5 bool // see api.Config.BIOSBootloaders and AgentsWithoutMD5

	keepPXE, skipBMCPorts bool     // see conductor.Config.KeepPXEEnabled and hardware.Config.SkipBMCPorts
	hooks                 []string // see conductor.Config.InspectionHooks

	fastTrack        bool
	fastTrackTimeout time.Duration
}

func (a *agentFlags) define(flags *flag.FlagSet) {
	a.timeouts, a.priorities = machine.DefaultTimeouts(), map[string]int{}
	t := &a.timeouts
	flags.DurationVar(&t.Deploy, "deploy-callback-timeout", t.Deploy,
		"`time` without a heartbeat of the agent after which a deployment fails; 0 disables it, as with the next four flags")
	flags.DurationVar(&t.Clean, "clean-callback-timeout", t.Clean, "`time` without a heartbeat after which a cleaning fails")
	flags.DurationVar(&t.Inspect, "inspect-wait-timeout", t.Inspect, "`time` after which an inspection fails for which no agent has sent data")
	flags.DurationVar(&t.Rescue, "rescue-callback-timeout", t.Rescue, "`time` without a heartbeat after which a rescue fails")
	flags.DurationVar(&t.Service, "service-callback-timeout", t.Service, "`time` without a heartbeat after which a service fails")
	flags.StringVar(&a.verifyCA, "agent-verify-ca", "true",
		"how the certificate of an agent is verified that sends none in its heartbeats: true, false, or the path of a `file` with "+
			"certificates; agent_verify_ca in driver_info overrides it")
	flags.BoolFunc("agent-require-tls", "refuse the heartbeats of agents that serve their API without TLS; -agent-require-tls=false permits "+
		"them; without it they are refused since 2024.2", a.setRequireTLS)
	flags.BoolVar(&a.biosBootloaders, "agent-bios-bootloaders", false,
		"permit agents to install the boot loaders of partition images in machines that boot by BIOS, "+
			"in which the image may run code in the agent (CVE-2026-43003)")
	flags.BoolVar(&a.withoutMD5, "agent-without-md5", false, "tell agents to refuse images whose checksum is by MD5, since 2023.2")
	flags.StringVar(&a.listen, "agent-listen", "",
		"`host:port` for agents alone, which have no password: lookups, heartbeats and inspection data are answered there and get "+
			"403 at -listen; with TLS if -listen has it")
	flags.Func("agent-network", "`CIDR` of a network of machines, such as 10.0.0.0/24; may be repeated; "+
		"lookups, heartbeats and inspection data from elsewhere get 403, "+
		"and commands are sent to the addresses that it has; without it they come from everywhere, and commands are sent only to "+
		"the address from which a heartbeat comes; "+
		"a proxy in front needs it, with the proxy's own address; 0.0.0.0/0 has no loopback, link-local and multicast addresses, 127.0.0.0/8 has",
		a.addNetwork)
	flags.BoolVar(&a.keepPXE, "inspection-keeps-pxe-enabled", false,
		"leave pxe_enabled of the ports that a node has as it is when the node is inspected")
	flags.BoolVar(&a.skipBMCPorts, "inspection-without-bmc-ports", false,
		"create no ports of the network interfaces that the BMC reports before an agent inspects the machine")
	flags.Func("inspection-hooks", "comma-separated `names` of hooks that handle the data of an inspection after Ironic's default ones: "+
		strings.Join(conductor.InspectionHooks(states.Latest()), ", "), a.setHooks)
	flags.BoolVar(&a.fastTrack, "fast-track", false,
		"leave machines on after an inspection or a cleaning, so that the agent that runs does the next work without a boot; "+
			"fast_track in driver_info overrides it")
	flags.DurationVar(&a.fastTrackTimeout, "fast-track-timeout", 5*time.Minute,
		"`time` since the last heartbeat after which such an agent is taken for dead; 0 stands for 5m0s")
	flags.Func("clean-step-priority", "`interface.step:priority` of a step of automated cleaning, such as deploy.erase_devices:0, "+
		"which leaves that step out; may be repeated; without it the agent's and the driver's priorities apply", a.setPriority)
	flags.Func("disallow-step", "`work:interface.step` of a step that is refused in requests and left out of automatic work, "+
		"such as clean:bios.factory_reset; work is clean, deploy or service; may be repeated; without it vendor.send_raw since 2025.1",
		a.disallow)
	flags.Func("disallow-boot-mode", "`request:mode` of a boot mode that is refused, such as deploy:bios; request is enroll, for the "+
		"capabilities of nodes, or deploy; mode is bios or uefi; may be repeated, since 2024.2", a.disallowMode)
}

// check refuses a -agent-verify-ca by which no agent could be verified.
func (a *agentFlags) check() error {
	if _, isBool := oslobool.Parse(a.verifyCA); isBool || a.verifyCA == "" {
		return nil
	}
	text, err := readFile(a.verifyCA)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(text) {
		err = errors.New("it has none")
	}
	if err != nil {
		return program.Usagef("-agent-verify-ca is %q: want true, false, or a file with certificates in PEM: %w", a.verifyCA, err)
	}
	return nil
}

// addNetwork parses a value of -agent-network.
func (a *agentFlags) addNetwork(value string) error {
	network, err := netip.ParsePrefix(value)
	if err != nil || network != network.Masked() || network.Addr().Is4In6() {
		return errors.New("want a network, such as 10.0.0.0/24 or 2001:db8::/64")
	}
	a.networks = append(a.networks, network)
	return nil
}

// setRequireTLS parses the value of -agent-require-tls.
func (a *agentFlags) setRequireTLS(value string) error {
	required, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("want true or false")
	}
	a.requireTLS = &required
	return nil
}

// setHooks parses the value of -inspection-hooks.
func (a *agentFlags) setHooks(value string) error {
	a.hooks = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	return nil
}

// setPriority parses a value of -clean-step-priority.
func (a *agentFlags) setPriority(value string) error {
	name, text, _ := strings.Cut(value, ":")
	priority, err := strconv.Atoi(text)
	if kind, step, _ := strings.Cut(name, "."); kind == "" || step == "" || err != nil || priority < 0 {
		return errors.New("want interface.step:priority, such as deploy.erase_devices:0")
	}
	a.priorities[name] = priority
	return nil
}

// disallow parses a value of -disallow-step.
func (a *agentFlags) disallow(value string) error {
	kind, name, _ := strings.Cut(value, ":")
	work := map[string]states.Work{"clean": states.WorkClean, "deploy": states.WorkDeploy, "service": states.WorkService}[kind]
	if iface, step, _ := strings.Cut(name, "."); work == states.NoWork || iface == "" || step == "" {
		return errors.New("want clean:interface.step, or deploy or service in place of clean, such as clean:bios.factory_reset")
	}
	if a.disallowed == nil {
		a.disallowed = map[states.Work][]string{}
	}
	a.disallowed[work] = append(a.disallowed[work], name)
	return nil
}

// disallowMode parses a value of -disallow-boot-mode.
func (a *agentFlags) disallowMode(value string) error {
	request, mode, _ := strings.Cut(value, ":")
	list := map[string]*[]string{"enroll": &a.bootModes.Enrollment, "deploy": &a.bootModes.Deployment}[request]
	if list == nil || mode != "bios" && mode != "uefi" {
		return errors.New("want enroll:bios, enroll:uefi, deploy:bios or deploy:uefi")
	}
	*list = append(*list, mode)
	return nil
}
