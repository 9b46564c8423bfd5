// SPDX-License-Identifier: Apache-2.0

package agentdeploy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/agentdeploy"
	"github.com/ironstate/ironstate/conductor/internal/agentimage"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// task is a [agentdeploy.Task], and the agent, which notes what the steps do. The call with the name in fails returns
// errFailed.
type task struct {
	node   agentdeploy.Node
	writes bool
	drive  any    // the configuration drive
	root   string // the partition that the agent reports
	reads  []reading
	fails  string
	calls  []string
	log    bytes.Buffer
	took   time.Duration
}

// reading is the answer of a BMC that is asked for the power state.
type reading struct {
	power states.Power
	err   error
}

var (
	errWait    = errors.New("the step waits")
	errFailed  = errors.New("it fails")
	errNoAgent = errors.New("no heartbeat has come")
	errNoRoot  = errors.New("no root UUID returned from the ramdisk")
	errRefused = &verify.Error{Kind: verify.Credentials, Err: errFailed}
)

func (t *task) call(name string) error {
	t.calls = append(t.calls, name)
	if name == t.fails {
		return errFailed
	}
	return nil
}

func (t *task) Node() agentdeploy.Node { return t.node }
func (t *task) Log() *slog.Logger      { return slog.New(slog.NewTextHandler(&t.log, nil)) }
func (t *task) Agent() (agentdeploy.Agent, error) {
	if !t.node.Booted {
		return nil, errNoAgent
	}
	return t, nil
}
func (t *task) WritesImage(context.Context) (bool, error) {
	if t.fails == "ask" {
		return false, errFailed
	}
	return t.writes, nil
}
func (t *task) BootAgent(context.Context) error { return errors.Join(t.call("boot"), errWait) }
func (t *task) ConfigDrive(context.Context) (any, error) {
	return t.drive, t.call("drive")
}
func (t *task) Send(_ context.Context, args map[string]any) error {
	image := args["image_info"].(map[string]any)
	return errors.Join(t.call(fmt.Sprint("image ", image["id"], " with ", args["configdrive"], " and ", image["configdrive"])), errWait)
}
func (t *task) CleanUpAgent(context.Context) error    { return t.call("clean up") }
func (t *task) PrepareInstance(context.Context) error { return t.call("boot the disk") }
func (t *task) ReadPower(context.Context) (states.Power, error) {
	r := t.reads[0]
	if len(t.reads) > 1 {
		t.reads = t.reads[1:]
	}
	return r.power, errors.Join(r.err, t.call("read"))
}
func (t *task) SetPower(_ context.Context, power states.Power) error { return t.call(power.String()) }
func (t *task) NoteRoot(_ context.Context, root string) error        { return t.call("root " + root) }

func (t *task) PartitionUUIDs(context.Context) (agent.PartitionUUIDs, error) {
	return agent.PartitionUUIDs{Root: t.root}, t.call("partitions")
}

func (t *task) InstallBootloader(_ context.Context, b agent.Bootloader) error {
	return t.call("boot loader for " + b.Root)
}
func (t *task) PowerOff(context.Context) error { return t.call("agent off") }
func (t *task) Sync(context.Context) error     { return t.call("sync") }

// run runs a step of the deployment of an image.
func (t *task) run(test *testing.T, name string) (err error) {
	for _, step := range agentdeploy.Steps(true) {
		if step.Name == name {
			synctest.Test(test, func(test *testing.T) {
				began := time.Now()
				err = step.Run(test.Context(), t)
				t.took = time.Since(began)
			})
			return err
		}
	}
	return errors.New("no such step")
}

func TestStepsOfADeployment(t *testing.T) {
	on, off := reading{power: states.PowerOn}, reading{power: states.PowerOff}
	whole := true
	image := node(agentimage.Node{WholeDisk: &whole, InstanceInfo: map[string]any{"image_source": "http://h/x"}})
	type calls = []string
	for name, test := range map[string]struct {
		step  string
		task  task
		calls calls
		err   error
	}{
		"boots":      {"deploy", task{}, calls{"boot"}, errWait},
		"fast track": {"deploy", task{node: agentdeploy.Node{Ready: true, Booted: true}}, nil, nil},

		"an image without a configuration drive": {"write_image", task{node: image}, calls{"drive", "image x with <nil> and <nil>"}, errWait},
		"an image with an empty one": {
			"write_image", task{node: image, drive: ""}, calls{"drive", "image x with <nil> and <nil>"}, errWait,
		},
		"an image with a configuration drive": {
			"write_image", task{node: image, drive: "URL"}, calls{"drive", "image x with URL and URL"}, errWait,
		},
		"a configuration drive that is not built": {"write_image", task{node: image, fails: "drive"}, calls{"drive"}, errFailed},
		"a partition image without the size of its partition": {
			"write_image", task{node: node(agentimage.Node{})}, calls{"drive"}, admission.Invalid,
		},

		"networks": {"switch_to_tenant_network", task{}, nil, nil},

		"a whole disk that boots by BIOS": {
			"prepare_instance_boot", task{node: node(agentimage.Node{WholeDisk: &whole, BootMode: "bios"}), writes: true},
			calls{"partitions", "boot the disk"}, nil,
		},
		"a partition": {
			"prepare_instance_boot", task{node: node(agentimage.Node{BootMode: "bios"}), writes: true, root: "r"},
			calls{"partitions", "root r", "boot loader for r", "boot the disk"}, nil,
		},
		"a partition that is not found": {
			"prepare_instance_boot", task{node: node(agentimage.Node{}), writes: true}, calls{"partitions"}, errNoRoot,
		},
		"a boot loader that fails": {
			"prepare_instance_boot", task{node: node(agentimage.Node{}), writes: true, root: "r", fails: "boot loader for r"},
			calls{"partitions", "root r", "boot loader for r"}, errFailed,
		},
		"a root that is not stored": {
			"prepare_instance_boot", task{node: node(agentimage.Node{}), writes: true, root: "r", fails: "root r"},
			calls{"partitions", "root r"}, errFailed,
		},
		"partitions that the agent does not tell": {
			"prepare_instance_boot", task{node: node(agentimage.Node{}), writes: true, fails: "partitions"}, calls{"partitions"}, errFailed,
		},
		"an image, and no agent":     {"prepare_instance_boot", task{writes: true}, nil, errNoAgent},
		"another program's image":    {"prepare_instance_boot", task{}, calls{"boot the disk"}, nil},
		"a hardware type that hangs": {"prepare_instance_boot", task{writes: true, fails: "ask"}, nil, errFailed},

		"the agent ends": {
			"tear_down_agent", task{node: node(agentimage.Node{}), reads: []reading{on, {err: errFailed}, off}},
			calls{"agent off", "read", "read", "read", "power off", "clean up"}, nil,
		},
		"an agent that stays": {
			"tear_down_agent", task{node: node(agentimage.Node{}), reads: []reading{on}, fails: "agent off"},
			calls{"agent off", "read", "read", "read", "read", "read", "read", "read", "power off", "clean up"}, nil,
		},
		"a password that is refused": {
			"tear_down_agent", task{node: node(agentimage.Node{}), reads: []reading{{err: errRefused}}}, calls{"agent off", "read"}, errRefused,
		},
		"a machine that stays on": {
			"tear_down_agent", task{node: node(agentimage.Node{}), reads: []reading{off}, fails: "power off"},
			calls{"agent off", "read", "power off"}, errFailed,
		},
		"no agent":                    {"tear_down_agent", task{}, calls{"power off", "clean up"}, nil},
		"no agent, and not to be off": {"tear_down_agent", task{node: agentdeploy.Node{DisablePowerOff: true}}, calls{"clean up"}, nil},
		"not to be off": {
			"tear_down_agent", task{node: agentdeploy.Node{Booted: true, DisablePowerOff: true}}, calls{"sync", "clean up"}, nil,
		},
		"by the BMC": {
			"tear_down_agent", task{node: agentdeploy.Node{Booted: true, ForcesReboot: true}}, calls{"sync", "power off", "clean up"}, nil,
		},
		"caches that are not written": {
			"tear_down_agent", task{node: agentdeploy.Node{Booted: true, ForcesReboot: true}, fails: "sync"}, calls{"sync"}, errFailed,
		},

		"the instance": {"boot_instance", task{}, calls{"power on"}, nil},
		"a reboot": {
			"boot_instance", task{node: agentdeploy.Node{Booted: true, DisablePowerOff: true}}, calls{"rebooting"}, nil,
		},
		"an agent that was booted again": {
			"boot_instance", task{node: node(agentimage.Node{}), reads: []reading{off}},
			calls{"agent off", "read", "power off", "clean up", "boot the disk", "power on"}, nil,
		},
		"a disk that is not booted": {
			"boot_instance", task{node: node(agentimage.Node{}), reads: []reading{off}, fails: "boot the disk"},
			calls{"agent off", "read", "power off", "clean up", "boot the disk"}, errFailed,
		},
		"an agent that cannot be ended": {
			"boot_instance", task{node: node(agentimage.Node{}), reads: []reading{off}, fails: "clean up"},
			calls{"agent off", "read", "power off", "clean up"}, errFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.task.run(t, test.step)
			if test.err == errNoRoot { // of package agentimage
				require.ErrorContains(t, err, errNoRoot.Error())
			} else {
				require.ErrorIs(t, err, test.err)
			}
			require.Equal(t, test.calls, test.task.calls)
		})
	}
}

// node returns a node on which the agent runs that has written an image.
func node(image agentimage.Node) agentdeploy.Node {
	return agentdeploy.Node{Booted: true, Image: image}
}

func TestTheAgentWritesAnImageInAStepOfItsOwn(t *testing.T) {
	require.Len(t, agentdeploy.Steps(false), 5)
	for _, step := range agentdeploy.Steps(true) {
		require.Equal(t, step.Name == "write_image", step.InBand, step.Name)
	}
}

func TestTheBMCPowersTheMachineOffOfAnAgentThatDoesNot(t *testing.T) {
	on, off := reading{power: states.PowerOn}, reading{power: states.PowerOff}
	for name, test := range map[string]struct {
		task   task
		took   time.Duration
		logged bool
	}{
		"an agent that ends at once":    {task{reads: []reading{off}}, 0, false},
		"an agent that takes its time":  {task{reads: []reading{on, on, off}}, 10 * time.Second, false},
		"an agent that stays":           {task{reads: []reading{on}}, 35 * time.Second, false},
		"an agent that cannot be asked": {task{reads: []reading{on}, fails: "agent off"}, 35 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			test.task.node = node(agentimage.Node{})
			require.NoError(t, test.task.run(t, "tear_down_agent"))
			require.Equal(t, test.took, test.task.took)
			require.Equal(t, test.logged, strings.Contains(test.task.log.String(), "so that the BMC has to"))
		})
	}
}
