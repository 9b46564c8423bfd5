// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// Ramdisk returns the deploy interface "ramdisk".
func Ramdisk() Deploy { return ramdiskDeploy{deployment{"ramdisk"}} }

type ramdiskDeploy struct{ deployment }

func (ramdiskDeploy) BootsRamdisk() bool { return true }

// UsesAgent implements [AgentUser]. The agent does the steps of cleaning and servicing if driver_info, or a default,
// names the ramdisk that the boot interface provides.
func (ramdiskDeploy) UsesAgent(n Node, work states.Work) bool {
	if work == states.WorkDeploy {
		return false
	}
	served, err := n.Chosen.Boot.ServesAgent(n)
	return served && err == nil
}

// ramdiskKeys maps the keys of instance_info that the interface does not support to the reasons.
var ramdiskKeys = map[string]string{
	"configdrive":          "it writes no configuration drive",
	"image_source":         "it writes no image; with direct, Ironic's agent writes it",
	"kernel_append_params": "the instance's kernel parameters are ramdisk_kernel_arguments",
}

// servedKeys lists the keys of instance_info that the interface supports only with a boot interface that serves files.
var servedKeys = []string{"boot_iso", "kernel", "ramdisk", "ramdisk_kernel_arguments"}

func (d ramdiskDeploy) Validate(n Node) error {
	unsupported := maps.Clone(ramdiskKeys)
	if boot := n.Chosen.Boot; !boot.Serves(n) {
		for _, key := range servedKeys {
			unsupported[key] = "the boot interface " + boot.Name() + " serves no files: the network decides what the machine boots"
		}
	}
	return cmp.Or(d.supports(n, unsupported), checkBoot(n))
}

// Steps implements [Stepper].
func (d ramdiskDeploy) Steps(n Node, work states.Work) []conductor.Step {
	if work == states.WorkDeploy {
		return []conductor.Step{{Step: "deploy", Priority: 100, Abortable: true, Run: n.Run(d.bootInstance)}}
	}
	return d.deployment.Steps(n, work)
}

// bootInstance boots the machine's instance. If that fails, it removes what the boot interface has provided, unless the
// BMC has refused the password, which that would send again.
//
// Source: deploying_error_handler in ironic/conductor/utils.py and clean_up in ironic/drivers/modules/agent_base.py.
func (ramdiskDeploy) bootInstance(ctx context.Context, t Task) error {
	err := bootInto(ctx, t, func() error { return t.Chosen.Boot.PrepareInstance(ctx, t) })
	if err == nil || ctx.Err() != nil || verify.LoginRefused(err) {
		return err
	}
	if failure := t.Chosen.Boot.CleanUpInstance(ctx, t); failure != nil {
		return fmt.Errorf("%w. Also failed to clean up due to: %w", err, failure)
	}
	return err
}
