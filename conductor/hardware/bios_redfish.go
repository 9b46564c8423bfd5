// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
)

// How long a step waits for the BIOS settings that it has set, and how often it reads them. A machine
// applies them during its next boot, which takes minutes.
const (
	biosTimeout  = 30 * time.Minute
	biosInterval = 10 * time.Second
)

// biosSettings is the BIOS interface "redfish".
//
// Source: ironic/drivers/modules/redfish/bios.py.
type biosSettings struct{ *bmcs }

// Steps implements [Stepper]. In a deployment they run if a client or a deploy template requests them.
func (b biosSettings) Steps(n Node, work states.Work) []conductor.Step {
	switch work {
	case states.WorkClean, states.WorkService, states.WorkDeploy:
	default:
		return nil
	}
	return []conductor.Step{
		{Step: "apply_configuration", NoRamdisk: true, Run: n.Run(b.apply), ArgsInfo: map[string]conductor.StepArgument{
			"settings": {Description: "A list of BIOS settings to be applied", Required: true},
		}},
		{Step: "factory_reset", NoRamdisk: true, Run: n.Run(b.reset)},
	}
}

// reboot reboots the machine: into the agent if the agent executes other steps of the work, otherwise into the
// instance.
//
// Source: reboot_to_finish_step in ironic/drivers/modules/deploy_utils.py.
func (b biosSettings) reboot(ctx context.Context, t Task) error {
	if needsAgent(t.Node()) {
		return bootAgent(ctx, t)
	}
	return t.SetPower(ctx, states.PowerRebooting)
}

// rebooted returns the result of a step that has rebooted the machine: the step waits for the next heartbeat if the
// agent boots.
func (b biosSettings) rebooted(t Task) error {
	if needsAgent(t.Node()) {
		return conductor.ErrWait
	}
	return nil
}

// bootProgressSince is the first series in which a step that boots no agent waits until the machine boots its system.
//
// Source: the release note redfish-bios-settings-no-ipa-44c46920613adb2f of Ironic 35.0.0.
const bootProgressSince = states.Gazpacho

// awaitBoot returns once a machine that was rebooted boots its system, if the BMC reports that, and at the latest at
// the deadline. What the BMC reports at once may be from before the reboot.
//
// Source: BIOS_REBOOT_STATES and _check_node_redfish_bios_apply in ironic/drivers/modules/redfish/bios.py.
func (b biosSettings) awaitBoot(ctx context.Context, t Task, deadline time.Time) error {
	if needsAgent(t.Node()) || t.Series() < bootProgressSince {
		return nil
	}
	var w wait
	for first := true; time.Now().Before(deadline); first = false {
		progress, err := ask(ctx, b.bmcs, t.Task.Node(), (*bmc.Driver).BootProgress)
		booted := !first && slices.Contains([]string{"OSBootStarted", "OSRunning"}, progress)
		if err == nil && (progress == "" || booted) || w.ends(err) {
			return err
		}
		if err := b.pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pause waits until the settings, or the progress of the boot, are read again.
func (b biosSettings) pause(ctx context.Context) error {
	sleep.For(ctx, b.biosInterval)
	return ctx.Err()
}

// needsAgent reports whether the agent executes other steps of the node's work.
func needsAgent(n Node) bool {
	switch n.ProvisionState.Work() {
	case states.WorkDeploy:
		return n.Chosen.Deploy.UsesAgent(n, states.WorkDeploy)
	case states.WorkService:
		return n.ServiceSteps != nil && n.ServiceSteps.Prepared
	default:
		return n.CleanSteps != nil && n.CleanSteps.Prepared
	}
}

// apply sets BIOS settings and reboots the machine, unless it has them already. It is done when the machine reports
// them, the BMC does not apply them any more, and the agent, if there is one, runs again, or the machine boots its
// system.
func (b biosSettings) apply(ctx context.Context, t Task) error {
	wanted, err := biosValues(t.Step().Args["settings"])
	if err != nil {
		return err
	}
	sent, err := ask(ctx, b.bmcs, t.Task.Node(), func(d *bmc.Driver, ctx context.Context, id string) (bool, error) {
		return d.SetBIOS(ctx, id, wanted)
	})
	if err != nil {
		return redfishError(t.Task.Node(), "Redfish BIOS apply configuration failed for node NODE. Error: ", err)
	}
	deadline := time.Now().Add(b.biosTimeout)
	if sent {
		if err := b.reboot(ctx, t); err != nil {
			return err
		}
		if err := b.awaitBoot(ctx, t, deadline); err != nil {
			return err
		}
	}
	var w wait
	for {
		settings, err := b.cache(ctx, t)
		missing := missingBIOS(wanted, settings)
		if err == nil && len(missing) == 0 && sent {
			missing, err = b.pending(ctx, t, wanted, len(settings))
		}
		switch {
		case w.ends(err):
			return err
		case err != nil || len(missing) > 0:
		case sent:
			return b.rebooted(t)
		default:
			return nil
		}
		if time.Now().After(deadline) {
			shown := pyrepr.Of(shownBIOS(missing, settings))
			//lint:ignore ST1005 the text comes from _set_step_failed in ironic/drivers/modules/redfish/bios.py
			return errors.Join(err, fmt.Errorf("Redfish BIOS apply_configuration step failed. Attributes %s are not updated.", shown))
		}
		if err := b.pause(ctx); err != nil {
			return err
		}
	}
}

// missingBIOS returns the wanted values that the settings do not have, without passwords, which no BMC shows. A setting
// that the BMC shows as null is missing, as in Ironic, unless the registry says that it is a password.
func missingBIOS(wanted map[string]any, settings []bmc.BIOSSetting) map[string]any {
	missing := maps.Clone(wanted)
	maps.DeleteFunc(missing, func(name string, value any) bool {
		return slices.ContainsFunc(settings, func(s bmc.BIOSSetting) bool {
			return s.Name == name && (s.AttributeType == "Password" || hasValue(s, value))
		})
	})
	return missing
}

// hasValue reports whether a setting has a value, which may be its text: [bmc.Driver.SetBIOS] takes "1" for true, as
// clients read it from the node's record, and "030" for 30.
func hasValue(s bmc.BIOSSetting, value any) bool {
	shown, text := fmt.Sprint(s.Value), fmt.Sprint(value)
	switch s.Value.(type) {
	case bool:
		if is, err := strconv.ParseBool(strings.ToLower(text)); err == nil {
			text = fmt.Sprint(is)
		}
	case json.Number:
		if number, err := strconv.ParseInt(text, 10, 64); err == nil {
			text = fmt.Sprint(number)
		}
	}
	return strings.EqualFold(shown, text)
}

// pending returns the wanted values that the machine has, while the BMC still applies them: an iDRAC refuses further
// settings until its job has ended. Of a BMC that reports all settings as pending, always, it returns none.
//
// Source: _get_unapplied_bios_attrs in ironic/drivers/modules/redfish/bios.py.
func (b biosSettings) pending(ctx context.Context, t Task, wanted map[string]any, settings int) (map[string]any, error) {
	changed, err := ask(ctx, b.bmcs, t.Task.Node(), (*bmc.Driver).PendingBIOS)
	pending := maps.Clone(wanted)
	maps.DeleteFunc(pending, func(name string, _ any) bool {
		_, is := changed[name]
		return !is || len(changed) > len(wanted) || len(changed) >= settings
	})
	return pending, err
}

// shownBIOS returns wanted values for an error, in which one is masked that may be a password: the settings do not
// say of what type it is.
func shownBIOS(wanted map[string]any, settings []bmc.BIOSSetting) map[string]any {
	shown := map[string]any{}
	for name := range wanted {
		shown[name] = "***"
	}
	for _, s := range settings {
		if value, is := wanted[s.Name]; is && s.AttributeType != "" && !s.IsSecret() {
			shown[s.Name] = value
		}
	}
	return shown
}

// biosValues returns the values by the name of the setting.
func biosValues(argument any) (map[string]any, error) {
	list, _ := argument.([]any)
	values := map[string]any{}
	for _, item := range list {
		setting, _ := item.(map[string]any)
		name, named := setting["name"].(string)
		value, has := setting["value"]
		if !named || !has {
			return nil, errors.New("settings: each must have a name and a value")
		}
		values[name] = value
	}
	if len(values) == 0 {
		return nil, errors.New("settings: there must be a list of at least one setting")
	}
	return values, nil
}

// reset restores the factory defaults of the BIOS settings, and reboots the machine.
func (b biosSettings) reset(ctx context.Context, t Task) error {
	if err := b.do(t.Task.Node(), func(d *bmc.Driver) error { return d.ResetBIOS(ctx, t.Node().UUID) }); err != nil {
		return redfishError(t.Task.Node(), "Redfish BIOS factory reset failed for node NODE. Error: ", err)
	}
	if err := b.reboot(ctx, t); err != nil {
		return err
	}
	if err := b.awaitBoot(ctx, t, time.Now().Add(b.biosTimeout)); err != nil {
		return err
	}
	if _, err := b.cache(ctx, t); err != nil {
		return err
	}
	return b.rebooted(t)
}

// cache reads the BIOS settings and stores them in the node's record if they have changed: a step that waits reads them
// every few seconds.
func (b biosSettings) cache(ctx context.Context, t Task) ([]bmc.BIOSSetting, error) {
	settings, err := ask(ctx, b.bmcs, t.Task.Node(), (*bmc.Driver).BIOS)
	if err != nil {
		return nil, err
	}
	records, err := biosRecords(settings)
	if err != nil {
		return nil, err
	}
	stored := t.Task.Node().BIOSSettings
	read := conductor.Node{BIOSSettings: stored}
	if read.SetBIOSSettings(records); reflect.DeepEqual(read.BIOSSettings, stored) {
		return settings, nil
	}
	return settings, t.Update(ctx, func(n *conductor.Node) error {
		n.SetBIOSSettings(records)
		return nil
	})
}

// ReadBIOS implements [BIOSReader].
func (b biosSettings) ReadBIOS(ctx context.Context, n *conductor.Node) ([]conductor.BIOSSetting, error) {
	settings, err := ask(ctx, b.bmcs, n, (*bmc.Driver).BIOS)
	if err != nil {
		return nil, err
	}
	return biosRecords(settings)
}

// biosRecords returns BIOS settings as a node's record has them.
func biosRecords(settings []bmc.BIOSSetting) (_ []conductor.BIOSSetting, err error) {
	records := make([]conductor.BIOSSetting, len(settings))
	for i, s := range settings {
		if records[i].Registry, err = asMap(s); err != nil {
			return nil, err
		}
		delete(records[i].Registry, "name")
		delete(records[i].Registry, "value")
		records[i].Name, records[i].Value = s.Name, biosValue(s.Value)
	}
	return records, nil
}

// biosValue returns a value as Ironic's database stores it, which has 1 for true and 0 for false, and null for null.
func biosValue(value any) any {
	switch value {
	case nil:
		return nil
	case true:
		return "1"
	case false:
		return "0"
	default:
		return fmt.Sprint(value)
	}
}
