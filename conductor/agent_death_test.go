// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// mortalWork is work by an agent during which conductors die.
type mortalWork struct {
	target             string
	from, done, failed states.State
	steps              []string // the commands that change the machine, in their order
	on, cd             bool     // at the end
	again              []string // what a client requests after a failure
	troubles           []string // that the work can have, see mortalRun
	fast               bool     // by fast track: an agent runs when the work begins
}

var mortalWorks = []mortalWork{
	{"provide", states.Manageable, states.Available, states.CleanFail, []string{
		"execute_clean_step erase_devices_metadata", "execute_clean_step reboot_between", "execute_clean_step erase_devices",
	}, false, false, []string{"manage", "provide"}, []string{"fails", "aborted"}, false},
	{"active", states.Available, states.Active, states.DeployFail, []string{
		"execute_deploy_step write_image", "install_bootloader", "power_off",
	}, true, false, []string{"active"}, []string{"fails", "aborted"}, false},
	{"service", states.Active, states.Active, states.ServiceFail, []string{
		"execute_service_step reboot_between", "execute_service_step burnin_cpu",
	}, true, false, []string{"service"}, []string{"fails", "aborted"}, false},
	{
		"rescue", states.Active, states.Rescue, states.RescueFail, []string{"finalize_rescue"},
		true, false, []string{"rescue"}, []string{"aborted"}, false,
	},
	{"unrescue", states.Rescue, states.Active, states.UnrescueFail, []string{}, true, false, []string{"unrescue"}, nil, false},
	{"provide", states.Manageable, states.Available, states.CleanFail, []string{
		"execute_clean_step erase_devices_metadata", "execute_clean_step reboot_between", "execute_clean_step erase_devices",
	}, true, true, []string{"manage", "provide"}, []string{"fails", "aborted"}, true},
	{"active", states.Available, states.Active, states.DeployFail, []string{
		"execute_deploy_step write_image", "install_bootloader", "power_off",
	}, true, false, []string{"active"}, []string{"fails", "aborted"}, true},
}

// TestADeathOfTheConductorAtEachAction kills the conductor at each of its actions in each kind of work by an agent,
// before the action is done and after it. The next conductor ends the work. Work that succeeds has executed each
// command once, work that fails none twice; it leaves nothing of the agent behind, but for a cleaning by fast track,
// and a client can request it again. The same holds for work in which a step fails, and for work that a client aborts.
func TestADeathOfTheConductorAtEachAction(t *testing.T) {
	for _, work := range mortalWorks {
		kind := work.target
		if work.fast {
			kind += " by fast track"
		}
		for _, trouble := range append([]string{""}, work.troubles...) {
			t.Run(kind+" "+trouble, func(t *testing.T) {
				t.Parallel()
				ends := map[states.State]int{}
				for _, acts := range []bool{false, true} {
					first, next := int32(1), int32(1)
					if raced { // the odd actions are not done, and the even ones are
						next = 2
						if acts {
							first = 2
						}
					}
					for action, died := first, true; died && !t.Failed(); action += next {
						t.Run(fmt.Sprintf("action %d %v", action, acts), func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) {
								var end states.State
								died, end = work.withDeath(t, trouble, action, acts)
								ends[end]++
							})
						})
					}
				}
				t.Log(ends)
				require.Positive(t, ends[work.failed])
				require.True(t, trouble != "" || ends[work.done] > 0)
			})
		}
	}
}

// mortalRun is one work during which a conductor dies.
type mortalRun struct {
	mortalWork
	*agentNode
	process *mortal
	machine *bootable
	trouble string // "fails": a step fails; "aborted": a client aborts the work; or empty
	over    bool   // another conductor has taken over
	booted  int    // the boots of the machine when the agent was started
}

// withDeath does the work. It reports whether the conductor has died, and the state of the node after the work.
func (work mortalWork) withDeath(t *testing.T, trouble string, action int32, acts bool) (died bool, end states.State) {
	on := work.fast || work.from == states.Active || work.from == states.Rescue
	r := mortalRun{
		mortalWork: work, trouble: trouble, machine: &bootable{on: on, cd: work.fast}, process: &mortal{Store: &conductor.Memory{}, acts: acts},
	}
	r.agentNode = startMachine(t, work.from, r.config(r.process))
	reboots := step("reboot_between", 50)
	reboots["reboot_requested"] = true
	r.set(func(a *agentProgram) {
		a.steps["clean"] = append(a.steps["clean"], reboots)
		a.steps["service"] = append(a.steps["service"], reboots)
	})
	_, err := r.UpdateNode(r.ctx, r.n.UUID, func(n *conductor.Node) error {
		n.Power, n.DriverInfo = powerOf(on), map[string]any{"fast_track": work.fast}
		return nil
	})
	require.NoError(t, err)
	if work.fast {
		r.playAgent()
	}
	r.process.actions.Store(action)
	if err := r.ask(work.target); err != nil {
		require.True(t, r.process.dead.Load())
		r.takeOver()
		if n := r.settle(r.n); len(n.Transitions) == 0 { // the request was not stored
			require.NoError(t, r.ask(work.target))
		}
	}
	n := r.end()
	if died, end = r.process.dead.Load(), n.ProvisionState; end == work.done && trouble == "" {
		return died, end
	}
	require.True(t, died || trouble != "", n.LastError)
	r.process.actions.Store(0) // it outlives the test
	r.trouble = ""
	if n.Maintenance {
		_, err := r.UpdateNode(r.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance, n.MaintenanceReason = false, ""; return nil })
		require.NoError(t, err)
	}
	for _, word := range work.again {
		require.NoError(t, r.ask(word))
		n = r.end()
	}
	require.Equal(t, work.done, n.ProvisionState, n.LastError)
	return died, end
}

// config configures a process.
func (r *mortalRun) config(process *mortal) func(*conductor.Config) {
	return func(c *conductor.Config) {
		c.Store, c.Membership, c.OnTransition, c.SkipPowerSync = process, nil, nil, true
		c.Hardware["fake-hardware"] = booter{c.Hardware["fake-hardware"].(*conductor.Fake), r.machine, process}
		c.Agent.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := r.agent.dial(ctx, network, address)
			return mortalConn{conn, process}, err
		}
	}
}

// takeOver starts another conductor if the first one has died.
func (r *mortalRun) takeOver() {
	if synctest.Wait(); r.process.dead.Load() && !r.over {
		r.over, r.fleet = true, start(r.t, r.config(&mortal{Store: r.process.Store}))
	}
}

func (r *mortalRun) ask(target string) error {
	request := r.provision(target)
	request.CleanSteps = nil
	request.ServiceSteps = []conductor.StepRequest{{Interface: "deploy", Step: "reboot_between"}, {Interface: "deploy", Step: "burnin_cpu"}}
	return r.Provision(r.ctx, r.n.UUID, request)
}

// end plays the agent until the work has ended, and checks what the work leaves.
func (r *mortalRun) end() *conductor.Node {
	for range 1000 {
		r.takeOver()
		bubble.Sleep(10 * time.Second)
		n, table := r.settle(r.n), r.Table()
		waits := table.Phase(n.ProvisionState) == states.PhaseWaiting
		if waits || table.Stuck().Has(n.ProvisionState) || n.Reservation != "" || n.CleanUp != nil {
			if r.trouble == "aborted" && waits && n.Step().Step != "" {
				_ = r.ask("abort")
			} else {
				r.playAgent()
			}
			continue
		}
		r.check(n)
		return n
	}
	n := r.settle(r.n)
	require.Fail(r.t, "the work does not end", "state %q, reserved by %q, commands %q", n.ProvisionState, n.Reservation, r.heard())
	return nil
}

// playAgent ends the command that the agent executes, and sends a heartbeat. A machine that was booted has a new agent;
// one that boots its disk has none, and so has a machine in rescue.
func (r *mortalRun) playAgent() {
	on, cd, boots := r.machine.state()
	silent := false
	r.set(func(a *agentProgram) {
		if boots > r.booted {
			r.booted, a.commands, a.token = boots, nil, ""
		}
		a.silent = !on || !cd
		if last := len(a.commands) - 1; last >= 0 {
			a.commands[last]["command_status"] = "SUCCEEDED"
			if r.trouble == "fails" && strings.HasPrefix(a.commands[last]["command_name"].(string), "execute_") {
				a.commands[last]["command_status"] = "FAILED"
			}
			a.silent = a.silent || a.commands[last]["command_name"] == "finalize_rescue"
		}
		r.token, silent = a.token, a.silent
	})
	if silent {
		return
	}
	if r.token == "" {
		_, token, err := r.Lookup(r.ctx, agentAt, nil, r.n.UUID)
		if err != nil {
			return
		}
		r.token = token
		r.set(func(a *agentProgram) { a.token = token })
	}
	_ = r.Heartbeat(r.ctx, r.n.UUID, conductor.Heartbeat{
		From:         agentAt,
		CallbackURL:  "http://10.0.0.7:9999",
		AgentVersion: "9.4.3",
		AgentToken:   r.token,
	})
}

// check checks what work that has ended has done and leaves.
func (r *mortalRun) check(n *conductor.Node) {
	if !r.fast || n.ProvisionState != states.Available {
		r.requireForgotten(n)
	}
	steps := []string{}
	for _, name := range r.heard() {
		if slices.Contains(r.steps, name) {
			steps = append(steps, name)
		}
	}
	on, cd, _ := r.machine.state()
	require.Equal(r.t, powerOf(on), n.Power)
	if n.ProvisionState == r.done { // so is a service that was aborted
		require.Equal(r.t, []bool{r.on, r.cd}, []bool{on, cd}, "the machine is on and has a CD")
	} else {
		require.False(r.t, cd, "the CD is ejected")
		require.True(r.t, n.ProvisionState != r.failed || n.LastError != "" || r.trouble == "aborted") // Ironic tells none for a rescue
	}
	if n.ProvisionState == r.done && r.trouble == "" {
		require.Equal(r.t, r.steps, steps, n.LastError)
		require.Empty(r.t, n.LastError)
		return
	}
	require.LessOrEqual(r.t, len(steps), len(r.steps), n.LastError)
	require.Equal(r.t, r.steps[:len(steps)], steps, n.LastError)
}

// TestADeathWhileAnAgentIsAskedAgainForItsSteps kills the conductor at each action that follows a mismatch of versions,
// until the work goes on. The next conductor repeats the step.
func TestADeathWhileAnAgentIsAskedAgainForItsSteps(t *testing.T) {
	for _, acts := range []bool{false, true} {
		for action, waits := int32(1), true; waits && !t.Failed(); action++ {
			t.Run(fmt.Sprintf("action %d %v", action, acts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := mortalRun{machine: &bootable{}, process: &mortal{Store: &conductor.Memory{}, acts: acts}}
					r.agentNode = startMachine(t, states.Manageable, r.config(r.process))
					r.clean("deploy.erase_devices")
					r.boot()
					r.set(func(a *agentProgram) { a.commands[len(a.commands)-1]["command_status"] = "VERSION_MISMATCH" })
					r.process.actions.Store(action)
					_ = r.Heartbeat(r.ctx, r.n.UUID, conductor.Heartbeat{
						From: agentAt, CallbackURL: "http://10.0.0.7:9999", AgentVersion: "9.4.3", AgentToken: r.token,
					})
					r.takeOver()
					require.True(t, r.process.dead.Load())
					if waits = r.settle(r.n).ProvisionState == states.CleanWait; waits {
						r.beat()
						r.requireState(r.agentNode.end("SUCCEEDED", ""), states.Manageable, "")
					}
				})
			})
		}
	}
}

func TestAConductorThatMayHaveLostItsNodeSendsNoCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		membership := &hung{}
		m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.Membership = membership })
		m.clean("deploy.burnin_cpu", "deploy.erase_devices")
		m.boot()
		m.heard()
		m.set(func(a *agentProgram) {
			a.commands[len(a.commands)-1]["command_status"] = "SUCCEEDED"
			a.before = func() { membership.out.Store(true) } // while the agent answers for its commands
		})
		m.beat()
		bubble.Sleep(time.Minute)
		require.Empty(t, m.heard())
		m.requireState(m.settle(m.n), states.Cleaning, "")
		membership.out.Store(false)
		bubble.Sleep(time.Minute)
		require.Equal(t, []string{"execute_clean_step erase_devices"}, m.heard())
	})
}
