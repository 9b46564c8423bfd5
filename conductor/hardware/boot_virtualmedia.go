// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// VirtualMedia returns a boot interface, such as "redfish-virtual-media", that boots machines from virtual media. It
// behaves as "redfish-virtual-media" in the package comment. What it does after an error of the media is said at
// [MediaManager].
//
// Source: ironic/drivers/modules/redfish/boot.py.
func VirtualMedia(name string, media MediaManager) Boot { return mediaBoot{name, media} }

type mediaBoot struct {
	name  string
	media MediaManager
}

func (b mediaBoot) Name() string { return b.name }

func (mediaBoot) Properties() map[string]string {
	properties := scriptBoot{}.Properties()
	maps.Copy(properties, map[string]string{
		"deploy_iso": "With virtual media: URL of an ISO image with the agent, which the BMC loads. " +
			"It must contain the agent's configuration.",
		"rescue_iso": "With virtual media: as deploy_iso, for a rescue.",
		"bootloader": "With virtual media: URL of the image of an EFI system partition with a boot loader. " +
			"Required with deploy_kernel, except in BIOS mode.",
		"config_via_removable":      "Whether the agent's configuration is on another medium. Only false, the default.",
		"external_http_url":         "Not supported.",
		"vmedia_transport_protocol": "How the BMC loads images. Only HTTP, the default.",
	})
	return properties
}

func (mediaBoot) Serves(Node) bool { return true }

func (b mediaBoot) Validate(n Node) error {
	if err := (info{n.Node}).checkUnused(usedByMedia); err != nil {
		return err
	}
	if _, ok := b.media.(redfishManagement); ok {
		if err := checkMediaBMC(n); err != nil {
			return err
		}
	}
	return checkMedium(b, n)
}

func (b mediaBoot) ServesAgent(n Node) (bool, error) {
	_, err := b.agentMedium(n)
	return err == nil, err
}

// PrepareRamdisk gives an agent in an image that is built here the address of the API and a token. The
// agent in a ready image, deploy_iso, receives neither.
func (b mediaBoot) PrepareRamdisk(ctx context.Context, t Task, parameters map[string]string) error {
	m, err := b.agentMedium(t.Node())
	if err != nil {
		return err
	}
	own := map[string]string{"ipa-api-url": t.config.APIURL, "boot_method": "vmedia"}
	if m.iso != "" {
		err = t.ForgetAgent(ctx) // also a token that was made for another image
	} else {
		own["ipa-agent-token"], err = t.PregenerateAgentToken(ctx)
	}
	if err != nil {
		return err
	}
	if !t.Node().DisablePowerOff {
		if err := t.SetPower(ctx, states.PowerOff); err != nil {
			return err
		}
	}
	maps.Copy(own, parameters)
	return b.bootMedium(ctx, t, m, own, false)
}

// PrepareInstance boots the disk. With the deploy interface "ramdisk" it boots the image in instance_info. It ejects
// the image of an agent that still runs from it only if the machine is not powered off before its next boot; otherwise
// CleanUpRamdisk does so then.
func (b mediaBoot) PrepareInstance(ctx context.Context, t Task) error {
	n := t.Node()
	if !t.Chosen.Deploy.BootsRamdisk() {
		if n.Power != states.PowerOn || n.DisablePowerOff {
			if err := b.eject(ctx, n); err != nil {
				return err
			}
		}
		if err := secureBoot(ctx, t, true); err != nil {
			return err
		}
		return bootDisk(ctx, t)
	}
	m, err := b.instanceMedium(n)
	if err != nil {
		return err
	}
	if err := secureBoot(ctx, t, true); err != nil {
		return err
	}
	return b.bootMedium(ctx, t, m, nil, true)
}

// CleanUpRamdisk powers the machine off before it ejects the image from which the machine has booted. The ramdisk of a
// rescue runs on without the image, while Ironic 39.0.0 powers it off.
func (b mediaBoot) CleanUpRamdisk(ctx context.Context, t Task) error {
	if n := t.Node(); !n.DisablePowerOff && n.ProvisionState != states.WorkRescue.Waiting() {
		if err := t.SetPower(ctx, states.PowerOff); err != nil {
			return err
		}
	}
	return b.eject(ctx, t.Node())
}

func (b mediaBoot) CleanUpInstance(ctx context.Context, t Task) error {
	if err := b.eject(ctx, t.Node()); err != nil {
		return err
	}
	return secureBoot(ctx, t, false)
}

// bootMedium inserts a medium and sets the CD as the boot device, for the next boot or persistently.
func (b mediaBoot) bootMedium(ctx context.Context, t Task, m medium, parameters map[string]string, persistent bool) error {
	n := t.Node()
	image, err := b.provide(ctx, n, m, parameters)
	if err != nil {
		return fmt.Errorf("provide the image to boot: %w", err)
	}
	if err := b.insert(ctx, n, image); err != nil {
		return err
	}
	return bootFrom(ctx, t, "cdrom", persistent)
}

// mediaPoll is the time between two reads of the virtual media while an image is awaited.
const mediaPoll = time.Second

// insert ejects all CDs, inserts an image, and waits until the BMC reports it as inserted: some BMCs
// answer before they load an image. An image may be inserted although a BMC that answers ejects no other one.
func (b mediaBoot) insert(ctx context.Context, n Node, image string) error {
	kept := b.media.DetachVirtualMedia(ctx, n.Node, []string{"cdrom"})
	answered := errors.Is(kept, ErrMediaKept) || errors.Is(kept, verify.Unsupported) || errors.Is(kept, verify.Protocol)
	if kept != nil && (ctx.Err() != nil || !answered) {
		return kept
	}
	if err := b.media.AttachVirtualMedia(ctx, n.Node, "cdrom", image); err != nil {
		if ctx.Err() == nil && mayHaveInserted(err) {
			_ = b.media.DetachVirtualMedia(ctx, n.Node, []string{"cdrom"})
		}
		return errors.Join(err, kept)
	}
	within, cancel := context.WithTimeout(ctx, n.config.MediaTimeout)
	defer cancel()
	var w wait
	var unread error // the last error of the BMC, and not of a read that the end of the time has ended
	for {
		slots, err := b.media.VirtualMedia(within, n.Node)
		if within.Err() == nil {
			unread = err
		}
		switch {
		case hasCD(slots, image):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case w.ends(err):
			return err
		case within.Err() != nil:
			_ = b.media.DetachVirtualMedia(ctx, n.Node, []string{"cdrom"}) // the BMC may insert it later
			return errors.Join(fmt.Errorf("the BMC has not inserted the image within %v", n.config.MediaTimeout), unread)
		}
		sleep.For(within, mediaPoll)
	}
}

// mayHaveInserted reports whether a BMC may have inserted an image in spite of an error: unless the error says that
// nothing was sent, or that the BMC has refused it. After a refused password nothing more is sent.
func mayHaveInserted(err error) bool {
	return !errors.Is(err, conductor.Invalid) && !errors.Is(err, conductor.Unsupported) &&
		!isAnyOf(err, verify.Misconfigured, verify.Unreachable, verify.TLS, verify.Credentials, verify.Unsupported)
}

// hasCD reports whether an image is inserted into a slot for CDs, or one that does not tell its media types. A slot
// that still reports an ejected image does not count.
func hasCD(slots []conductor.VirtualMedia, image string) bool {
	return slices.ContainsFunc(slots, func(s conductor.VirtualMedia) bool {
		return bmc.VirtualMedia(s).Fits("cdrom") && bmc.VirtualMedia(s).Has(image)
	})
}

// eject ejects all CDs and withdraws the images that are published for the node. An image that the BMC keeps in its
// slot fails no work, as in Ironic. Any other failure does, since it leaves unknown whether an image is in a slot.
//
// Source: eject_media in sushy/resources/manager/virtual_media.py, which passes over most refusals.
func (b mediaBoot) eject(ctx context.Context, n Node) error {
	err := b.media.DetachVirtualMedia(ctx, n.Node, []string{"cdrom"})
	switch {
	case err == nil:
	case ctx.Err() != nil, !errors.Is(err, ErrMediaKept):
		return err
	default:
		n.config.Log.WarnContext(ctx, "a BMC does not eject the image from which its machine has booted", "node", n.UUID, "error", err)
	}
	return n.config.withdraw(n, "")
}

// UsesMedia reports whether the node's machine boots or runs from its CD: while work waits or runs, while an agent
// stays by fast track, and while an instance exists that is a ramdisk.
func (mediaBoot) UsesMedia(n Node) bool {
	return n.ProvisionState.InProgress() || agentStays(n.Node) || n.Chosen.Deploy.BootsRamdisk() && bootsInstance.Has(n.ProvisionState)
}
