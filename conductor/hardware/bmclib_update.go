// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/constants"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/internal/checksum"
	"github.com/ironstate/ironstate/internal/sleep"
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

// Steps implements [Stepper]: manual cleaning and servicing may update firmware, by providers that can.
func (b bmclibFirmware) Steps(n Node, work states.Work) []conductor.Step {
	word, _ := n.DriverInfo["bmclib_provider"].(string)
	if work != states.WorkClean && work != states.WorkService || !bmclibProviders[word].updates {
		return nil
	}
	return []conductor.Step{{
		Step: "update", NoRamdisk: true, Run: n.Chosen.Run(b.update),
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
	server := t.Chosen.config.Images
	if err == nil && server == nil {
		err = errors.New("this service has no folder of images, into which firmware could be downloaded")
	}
	for _, s := range settings {
		if err == nil {
			err = server.CheckSource(s.url)
		}
	}
	if err != nil {
		return err
	}
	u := firmwareUpdate{bmclibFirmware: b, task: t, before: t.Node().Power}
	for _, s := range settings {
		if err := u.install(ctx, server, s); err != nil {
			return fmt.Errorf("update the firmware of %s: %w", s.component, err)
		}
		if sleep.For(ctx, s.wait); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	switch n := t.Node(); {
	case u.switched && needsAgent(n):
		return cmp.Or(bootAgent(ctx, t), conductor.ErrWait)
	case u.switched && n.Power != u.before:
		return t.SetPower(ctx, u.before)
	default:
		return nil
	}
}

// firmwareUpdate is an update in progress.
type firmwareUpdate struct {
	bmclibFirmware
	task     Task
	before   states.Power // of the machine
	switched bool         // whether the update has switched the machine
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
	ctx, cancel := context.WithTimeoutCause(ctx, u.most, fmt.Errorf("it has not ended within %v", u.most))
	defer cancel()
	var steps []constants.FirmwareInstallStep
	err = u.session(ctx, u.most, func(ctx context.Context, c *bmclib.Client) (err error) {
		steps, err = c.FirmwareInstallSteps(ctx, s.component)
		return err
	})
	if err != nil {
		return err
	}
	taskID := ""
	for i := 0; i < len(steps); i++ {
		switch step := steps[i]; step {
		case constants.FirmwareInstallStepPowerOffHost:
			err = u.setPower(ctx, states.PowerOff)
		case constants.FirmwareInstallStepUpload, constants.FirmwareInstallStepUploadInitiateInstall:
			var sent int
			taskID, sent, err = u.send(ctx, s.component, file, steps[i:])
			i += sent - 1
		case constants.FirmwareInstallStepInstallStatus:
			err = u.await(ctx, step, s.component, taskID)
			if err != nil && slices.Contains(steps, constants.FirmwareInstallStepResetBMCOnInstallFailure) {
				err = errors.Join(err, u.session(ctx, u.most, func(ctx context.Context, c *bmclib.Client) error {
					_, err := c.ResetBMC(ctx, "cold")
					return err
				}))
			}
		case constants.FirmwareInstallStepResetBMCOnInstallFailure: // the install has not failed
		default:
			err = fmt.Errorf("the provider needs %s, which is not supported", step)
		}
		if err != nil {
			return err
		}
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

// session does something within a time with a client of bmclib that has a session of its own.
func (u *firmwareUpdate) session(ctx context.Context, most time.Duration, do func(context.Context, *bmclib.Client) error) error {
	b := u.anyBMC
	b.timeout = most
	asked := false
	_, err := b.call(ctx, u.task.Task.Node(), func(ctx context.Context, c *bmclib.Client) (string, error) {
		asked = true
		return "on", do(ctx, c) // a power state that is not used
	})
	var failed *verify.Error
	if errors.As(err, &failed) && asked {
		failed.Op = "firmware update"
	}
	return err
}

// send uploads the firmware and does the steps that follow in the same session, since some BMCs install firmware only
// in the session of its upload. It returns the BMC's task, and the number of steps that are done.
func (u *firmwareUpdate) send(
	ctx context.Context, component string, file *os.File, steps []constants.FirmwareInstallStep,
) (taskID string, done int, err error) {
	err = u.session(ctx, u.most, func(ctx context.Context, c *bmclib.Client) (err error) {
		for _, step := range steps {
			if err := conductor.Permit(ctx); err != nil {
				return err
			}
			switch step {
			case constants.FirmwareInstallStepUpload:
				taskID, err = c.FirmwareUpload(ctx, component, file)
			case constants.FirmwareInstallStepUploadInitiateInstall:
				taskID, err = c.FirmwareInstallUploadAndInitiate(ctx, component, file)
			case constants.FirmwareInstallStepUploadStatus:
				err = u.await(ctx, step, component, taskID)
			case constants.FirmwareInstallStepInstallUploaded:
				taskID, err = c.FirmwareInstallUploaded(ctx, component, taskID)
			default:
				return nil
			}
			if err != nil {
				return err
			}
			done++
		}
		return nil
	})
	return taskID, done, err
}

// await reads a task of the BMC until it is complete. A task that waits for the machine's restart gets one. A task that
// cannot be read is read again, since a BMC restarts with its new firmware.
func (u *firmwareUpdate) await(ctx context.Context, kind constants.FirmwareInstallStep, component, taskID string) error {
	restarted := false
	for {
		var state constants.TaskState
		err := u.session(ctx, u.timeout, func(ctx context.Context, c *bmclib.Client) (err error) {
			var status string
			state, status, err = c.FirmwareTaskStatus(ctx, kind, component, taskID, "")
			if err == nil && state == constants.Failed {
				err = fmt.Errorf("the BMC reports a failure: %s", status)
			}
			return err
		})
		switch {
		case state == constants.Complete:
			return nil
		case state == constants.Failed:
			return err
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
		if !sleep.For(ctx, u.interval) {
			return errors.Join(context.Cause(ctx), err)
		}
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
