// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/constants"
	bmcliberrors "github.com/bmc-toolbox/bmclib/v2/errors"
	inventory "github.com/bmc-toolbox/common"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/internal/checksum"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// How long the update of one component may take with all of its uploads, and how often its task is read.
//
// Source: firmware_update_overall_timeout and firmware_update_status_interval in ironic/conf/redfish.py.
const (
	firmwareTimeout  = 2 * time.Hour
	firmwareInterval = time.Minute
)

// bmcRestart is the reset of a BMC. bmclib sends it to a BMC with Redfish as its ResetType, so that bmclib's own word
// "cold" would be refused.
//
// Source: BMCReset in internal/redfishwrapper/power.go of bmclib, and ManagerResetAction in bmcweb of OpenBMC.
const bmcRestart = "GracefulRestart"

// Steps implements [Stepper]: manual cleaning and servicing may update firmware, by providers that can.
func (b bmclibFirmware) Steps(n Node, work states.Work) []conductor.Step {
	word, _ := n.DriverInfo["bmclib_provider"].(string)
	if work != states.WorkClean && work != states.WorkService || !bmclibProviders[word].updates {
		return nil
	}
	return []conductor.Step{{
		Step: "update", NoRamdisk: true, Run: n.Run(b.update),
		ArgsInfo: map[string]conductor.StepArgument{"settings": {Required: true, Description: "A list of the components to be updated, in " +
			"their order: each has a component such as bios or bmc and the url of its firmware, and may have a checksum (MD5, SHA256 or " +
			"SHA512) and a number of seconds to wait after its update."}},
	}}
}

// firmwareSetting is the update of a component.
type firmwareSetting struct {
	component, url, checksum string
	wait                     time.Duration
}

// firmwareSettings returns the updates in the argument of a step. Its errors quote no URL, which may have a password.
//
// Source: _FIRMWARE_INTERFACE_UPDATE_SCHEMA in ironic/drivers/modules/redfish/firmware_utils.py.
func firmwareSettings(argument any) (settings []firmwareSetting, err error) {
	list, isList := argument.([]any)
	if !isList || len(list) == 0 {
		return nil, errors.New("settings: want a list with the components to be updated")
	}
	for i, item := range list {
		object, _ := item.(map[string]any)
		var s firmwareSetting
		for key, value := range object {
			text, isText := value.(string)
			switch {
			case key == "component" && isText:
				s.component = strings.ToUpper(text) // as bmclib names them
			case key == "url" && isText:
				s.url = text
			case key == "checksum" && isText && checksum.New("", text) != nil:
				s.checksum = text
			case key == "wait":
				seconds, err := strconv.Atoi(fmt.Sprint(value)) // JSON's number
				if err != nil || seconds < 1 || seconds > int(firmwareTimeout/time.Second) {
					return nil, fmt.Errorf("settings: item %d: wait must be from 1 to %.0f seconds", i+1, firmwareTimeout.Seconds())
				}
				s.wait = time.Duration(seconds) * time.Second
			default:
				return nil, fmt.Errorf("settings: item %d: %q is unknown or has a wrong value", i+1, key)
			}
		}
		if s.component == "" || s.url == "" {
			return nil, fmt.Errorf("settings: item %d: want a component and a url", i+1)
		}
		settings = append(settings, s)
	}
	return settings, nil
}

// update is the step. At its end the machine has the power state that it had before. If the agent executes other steps
// of the work and the machine was switched, the agent boots again.
func (b bmclibFirmware) update(ctx context.Context, t Task) error {
	settings, err := firmwareSettings(t.Step().Args["settings"])
	if err != nil {
		return err
	}
	server := t.config.Images
	if server == nil {
		return errors.New("this service has no folder of images, into which firmware could be downloaded")
	}
	for _, s := range settings {
		if err := server.CheckSource(s.url); err != nil {
			return err
		}
	}
	if err := readPower(ctx, t); err != nil { // the record may be as old as the last power sync
		return err
	}
	u := firmwareUpdate{bmclibFirmware: b, task: t}
	before := t.Node().Power
	for _, s := range settings {
		if err := u.install(ctx, server, s); err != nil {
			return fmt.Errorf("update the firmware of %s: %w", s.component, err)
		}
		if !b.pause(ctx, s.wait) {
			return context.Cause(ctx)
		}
	}
	switch n := t.Node(); {
	case u.switched && needsAgent(n):
		return cmp.Or(bootAgent(ctx, t), conductor.ErrWait)
	case u.switched && n.Power != before:
		return t.SetPower(ctx, before)
	default:
		return nil
	}
}

// readPower reads the power state of a machine into its record.
func readPower(ctx context.Context, t Task) error {
	power, err := t.Chosen.Power.PowerState(ctx, t.Task.Node())
	if err == nil && power == states.NoPower {
		err = verify.ErrNoPower
	}
	if err != nil {
		return err
	}
	return t.Update(ctx, func(n *conductor.Node) error { n.Power = power; return nil })
}

// firmwareUpdate is an update in progress.
type firmwareUpdate struct {
	bmclibFirmware
	task     Task
	switched bool // whether the update has switched the machine
}

// install downloads the firmware of a component, verifies it, and does what the provider says that its install needs.
func (u *firmwareUpdate) install(ctx context.Context, server *images.Server, s firmwareSetting) error {
	file, err := os.CreateTemp(server.Temporary(), "firmware-")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }()
	if err := s.download(ctx, server, file); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, u.limit, fmt.Errorf("it has not ended within %v", u.limit))
	defer cancel()
	var steps []constants.FirmwareInstallStep
	err = u.session(ctx, u.limit, func(ctx context.Context, c *bmclib.Client) (err error) {
		steps, err = c.FirmwareInstallSteps(ctx, s.component)
		return err
	})
	if err != nil {
		return err
	}
	before, err := u.version(ctx, s.component) // it is needed only if the BMC loses the task or its restart's answer
	if verify.LoginRefused(err) {
		return err
	}
	taskID := ""
	for _, step := range steps {
		switch step {
		case constants.FirmwareInstallStepPowerOffHost:
			err = u.setPower(ctx, states.PowerOff)
		case constants.FirmwareInstallStepUploadInitiateInstall:
			err = u.session(ctx, u.limit, func(ctx context.Context, c *bmclib.Client) (err error) {
				taskID, err = c.FirmwareInstallUploadAndInitiate(ctx, s.component, file)
				return err
			})
		case constants.FirmwareInstallStepInstallStatus:
			err = u.await(ctx, s.component, taskID, before)
		default:
			err = fmt.Errorf("the provider needs %s, which is not supported", step)
		}
		if err != nil {
			return err
		}
	}
	if s.component == inventory.SlugBMC {
		return u.restartBMC(ctx, before)
	}
	return nil
}

// download downloads the firmware and verifies its checksum.
func (s firmwareSetting) download(ctx context.Context, server *images.Server, file *os.File) error {
	sum := cmp.Or(checksum.New("", s.checksum), checksum.New("sha256", ""))
	if err := server.DownloadSource(ctx, s.url, io.MultiWriter(file, sum)); err != nil {
		return err
	}
	if s.checksum != "" && !checksum.Equal(sum, s.checksum) {
		return fmt.Errorf("the checksum of the firmware is %x, and not %s", sum.Sum(nil), s.checksum)
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// session does something that is permitted within a time with a client of bmclib that has a session of its own.
func (u *firmwareUpdate) session(ctx context.Context, limit time.Duration, do func(context.Context, *bmclib.Client) error) error {
	b := u.anyBMC
	b.timeout = limit
	return b.call(ctx, u.task.Task.Node(), "firmware update", do)
}

// version returns the version of a component's firmware, empty if the BMC does not report it.
func (u *firmwareUpdate) version(ctx context.Context, component string) (string, error) {
	found, err := u.ReadFirmware(ctx, u.task.Task.Node())
	for _, each := range found {
		if strings.EqualFold(each.Component, component) {
			return each.CurrentVersion, nil
		}
	}
	return "", err
}

// await reads the task of an update until it is complete. A task that waits for the machine's restart gets one. A task
// that cannot be read is read again, since a BMC restarts with its new firmware. With that a BMC may lose its tasks;
// then the version of the firmware tells whether it is installed.
func (u *firmwareUpdate) await(ctx context.Context, component, taskID, before string) error {
	restarted, w := false, wait{restarts: component == inventory.SlugBMC}
	for failure := error(nil); ; {
		if !u.pause(ctx, u.interval) {
			return errors.Join(context.Cause(ctx), failure)
		}
		var state constants.TaskState
		lost := false
		failure = u.session(ctx, u.timeout, func(ctx context.Context, c *bmclib.Client) (err error) {
			var status string
			state, status, err = c.FirmwareTaskStatus(ctx, constants.FirmwareInstallStepInstallStatus, component, taskID, "")
			lost = errors.Is(err, bmcliberrors.ErrTaskNotFound)
			if err == nil && state == constants.Failed {
				err = fmt.Errorf("the BMC reports a failure: %s", status)
			}
			return err
		})
		switch {
		case state == constants.Complete:
			return nil
		case state == constants.Failed, w.ends(failure):
			return failure
		case lost:
			now, err := u.version(ctx, component)
			if done, err := withoutTask(before, now); done || err != nil {
				return err
			}
			if failure = errors.Join(failure, err); w.ends(err) {
				return failure
			}
		case state == constants.PowerCycleHost && !restarted:
			restarted = true
			power := states.PowerRebooting
			if u.task.Node().Power != states.PowerOn {
				power = states.PowerOn
			}
			if err := u.setPower(ctx, power); err != nil {
				return err
			}
		}
	}
}

// withoutTask reports whether an update whose task the BMC has lost is done, by the versions before it and now. A
// version that the BMC does not report now is read again.
func withoutTask(before, now string) (done bool, err error) {
	switch {
	case before == "":
		return false, errors.New("the BMC no longer has the task of the update, and has not reported the version before it")
	case now == before:
		return false, fmt.Errorf("the BMC no longer has the task of the update, and the version is still %s", now)
	default:
		return now != "", nil
	}
}

// restartBMC restarts the BMC if it does not do that itself, and waits until it answers again. A BMC may restart before
// it has answered the request: if that has an error, the version of the firmware tells whether the BMC has restarted.
func (u *firmwareUpdate) restartBMC(ctx context.Context, before string) error {
	var unanswered error
	if word, _ := u.task.Node().DriverInfo["bmclib_provider"].(string); bmclibProviders[word].resets {
		sent := false
		err := u.session(ctx, u.timeout, func(ctx context.Context, c *bmclib.Client) error {
			sent = true
			_, err := c.ResetBMC(ctx, bmcRestart)
			return err
		})
		if err != nil && (!sent || before == "") {
			return err
		}
		unanswered = err
	}
	w := wait{restarts: true}
	for failure := error(nil); ; {
		if !u.pause(ctx, u.interval) {
			return errors.Join(context.Cause(ctx), failure)
		}
		failure = u.session(ctx, u.timeout, func(ctx context.Context, c *bmclib.Client) error {
			_, err := c.GetPowerState(ctx)
			return err
		})
		now := ""
		if failure == nil && unanswered != nil {
			now, failure = u.version(ctx, inventory.SlugBMC)
		}
		switch {
		case w.ends(failure):
			return failure
		case failure == nil && unanswered == nil, now != "" && now != before:
			return nil
		case now != "":
			return unanswered
		}
		failure = errors.Join(unanswered, failure)
	}
}

// setPower switches the machine.
func (u *firmwareUpdate) setPower(ctx context.Context, power states.Power) error {
	if power == states.PowerOff && u.task.Node().DisablePowerOff {
		return errors.New("the machine must be off, which the node's disable_power_off forbids")
	}
	u.switched = true
	return u.task.SetPower(ctx, power)
}
