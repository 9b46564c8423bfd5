// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/machine"
)

// workFlags are the flags of the work on nodes that waits for agents.
type workFlags struct {
	timeouts   machine.Timeouts
	priorities map[string]int // of the steps of automated cleaning

	verifyCA   string // see conductor.Config.AgentVerifyCA
	requireTLS bool   // of agents

	fastTrack        bool
	fastTrackTimeout time.Duration
}

func (w *workFlags) define(flags *flag.FlagSet) {
	w.timeouts, w.priorities = machine.DefaultTimeouts(), map[string]int{}
	t := &w.timeouts
	flags.DurationVar(&t.Deploy, "deploy-callback-timeout", t.Deploy, "`time` without a heartbeat of the agent after which a deployment fails; 0 disables it, as with the next four flags")
	flags.DurationVar(&t.Clean, "clean-callback-timeout", t.Clean, "`time` without a heartbeat after which a cleaning fails")
	flags.DurationVar(&t.Inspect, "inspect-wait-timeout", t.Inspect, "`time` after which an inspection fails for which no agent has sent data")
	flags.DurationVar(&t.Rescue, "rescue-callback-timeout", t.Rescue, "`time` without a heartbeat after which a rescue fails")
	flags.DurationVar(&t.Service, "service-callback-timeout", t.Service, "`time` without a heartbeat after which a service fails")
	flags.StringVar(&w.verifyCA, "agent-verify-ca", "true", "how the certificate of an agent is verified that sends none in its heartbeats: true, false, or the path of a `file` with certificates; agent_verify_ca in driver_info overrides it")
	flags.BoolVar(&w.requireTLS, "agent-require-tls", false, "refuse the heartbeats of agents that serve their API without TLS")
	flags.BoolVar(&w.fastTrack, "fast-track", false, "leave machines on after an inspection or a cleaning, so that the agent that runs does the next work without a boot; fast_track in driver_info overrides it")
	flags.DurationVar(&w.fastTrackTimeout, "fast-track-timeout", 5*time.Minute, "`time` since the last heartbeat after which such an agent is taken for dead; 0 stands for 5m0s")
	flags.Func("clean-step-priority", "`interface.step:priority` of a step of automated cleaning, such as deploy.erase_devices:0, which leaves that step out; may be repeated; without it the agent's and the driver's priorities apply", w.setPriority)
}

// setPriority parses a value of -clean-step-priority.
func (w *workFlags) setPriority(value string) error {
	name, text, _ := strings.Cut(value, ":")
	priority, err := strconv.Atoi(text)
	if kind, step, _ := strings.Cut(name, "."); kind == "" || step == "" || err != nil || priority < 0 {
		return errors.New("want interface.step:priority, such as deploy.erase_devices:0")
	}
	w.priorities[name] = priority
	return nil
}
