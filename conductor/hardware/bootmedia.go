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
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
)

// virtualMedia is the name of the boot interface that boots machines from virtual media by Redfish.
const virtualMedia = "redfish-virtual-media"

// mediaBoot is the boot interface "redfish-virtual-media".
//
// Source: ironic/drivers/modules/redfish/boot.py.
type mediaBoot struct{ *Type }

func (b mediaBoot) validate(n *conductor.Node) error {
	if b.chosen(n, "deploy") == ramdisk {
		_, err := b.instanceMedium(n)
		return err
	}
	_, err := b.agentMedium(n)
	return err
}

// prepareRamdisk gives an agent in an image that is built here the address of the API and a token. The
// agent in a ready image, deploy_iso, receives neither.
func (b mediaBoot) prepareRamdisk(ctx context.Context, t *conductor.Task, parameters map[string]string) error {
	m, err := b.agentMedium(t.Node())
	if err != nil {
		return err
	}
	parameters = maps.Clone(parameters)
	if m.iso != "" {
		err = t.ForgetAgent(ctx) // also a token that was made for another image
	} else {
		if parameters == nil {
			parameters = map[string]string{}
		}
		parameters["ipa-api-url"], parameters["boot_method"] = b.config.APIURL, "vmedia"
		parameters["ipa-agent-token"], err = t.PregenerateAgentToken(ctx)
	}
	if err != nil {
		return err
	}
	if !t.Node().DisablePowerOff {
		if err := t.SetPower(ctx, states.PowerOff); err != nil {
			return err
		}
	}
	return b.bootMedium(ctx, t.Node(), m, parameters, false)
}

// prepareInstance boots the disk. With the deploy interface "ramdisk" it boots the image in instance_info.
func (b mediaBoot) prepareInstance(ctx context.Context, t *conductor.Task) error {
	n := t.Node()
	if b.chosen(n, "deploy") != ramdisk {
		if err := b.eject(ctx, n); err != nil {
			return err
		}
		if err := b.secureBoot(ctx, t, true); err != nil {
			return err
		}
		return b.bootFrom(ctx, n, "disk", true)
	}
	m, err := b.instanceMedium(n)
	if err != nil {
		return err
	}
	if err := b.secureBoot(ctx, t, true); err != nil {
		return err
	}
	return b.bootMedium(ctx, n, m, nil, true)
}

// cleanUpRamdisk powers the machine off before it ejects the image from which the machine has booted.
func (b mediaBoot) cleanUpRamdisk(ctx context.Context, t *conductor.Task) error {
	if !t.Node().DisablePowerOff {
		if err := t.SetPower(ctx, states.PowerOff); err != nil {
			return err
		}
	}
	return b.eject(ctx, t.Node())
}

func (b mediaBoot) cleanUpInstance(ctx context.Context, t *conductor.Task) error {
	if err := b.eject(ctx, t.Node()); err != nil {
		return err
	}
	return b.secureBoot(ctx, t, false)
}

// bootMedium inserts a medium and sets the CD as the boot device, for the next boot or persistently.
func (b mediaBoot) bootMedium(ctx context.Context, n *conductor.Node, m medium, parameters map[string]string, persistent bool) error {
	image, err := b.provide(ctx, n, m, parameters)
	if err != nil {
		return fmt.Errorf("provide the image to boot: %w", err)
	}
	if err := b.insert(ctx, n, image); err != nil {
		return err
	}
	return b.bootFrom(ctx, n, "cdrom", persistent)
}

// mediaPoll is the time between two reads of the virtual media while an image is awaited.
const mediaPoll = time.Second

// insert ejects all CDs, inserts an image, and waits until the BMC reports it as inserted: some BMCs
// answer before they load an image.
func (b mediaBoot) insert(ctx context.Context, n *conductor.Node, image string) error {
	err := b.do(n, func() error { return b.driver.EjectMedia(ctx, n.UUID, "cdrom") })
	if err != nil {
		return err
	}
	if err := b.do(n, func() error { return b.driver.InsertMedia(ctx, n.UUID, "cdrom", image) }); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, b.config.MediaTimeout)
	defer cancel()
	for {
		inserted, err := b.inserted(within, n)
		switch {
		case inserted:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case within.Err() != nil:
			return errors.Join(fmt.Errorf("the BMC has not inserted the image within %v", b.config.MediaTimeout), err)
		}
		select {
		case <-within.Done():
		case <-time.After(mediaPoll):
		}
	}
}

// inserted reports whether a CD is inserted. Some BMCs report another URL than that of the request, so
// that it does not count.
func (b mediaBoot) inserted(ctx context.Context, n *conductor.Node) (inserted bool, err error) {
	err = b.do(n, func() error {
		slots, err := b.driver.VirtualMedia(ctx, n.UUID)
		inserted = slices.ContainsFunc(slots, func(s bmc.VirtualMedia) bool {
			return s.Inserted && (slices.Contains(s.MediaTypes, "CD") || slices.Contains(s.MediaTypes, "DVD"))
		})
		return err
	})
	return inserted, err
}

// eject ejects all CDs and withdraws the images that are published for the node.
func (b mediaBoot) eject(ctx context.Context, n *conductor.Node) error {
	if err := b.do(n, func() error { return b.driver.EjectMedia(ctx, n.UUID, "cdrom") }); err != nil {
		return err
	}
	if b.config.Images == nil {
		return nil
	}
	return b.config.Images.Withdraw(n.UUID, "")
}

// inUse reports whether the node's machine boots or runs from its CD: while work waits or runs, while an agent stays by
// fast track, and while an instance of the deploy interface "ramdisk" exists.
func (b mediaBoot) inUse(n *conductor.Node) bool {
	switch states.Latest().Table().Phase(n.ProvisionState) {
	case states.PhaseWorking, states.PhaseWaiting, states.PhaseHold:
		return true
	}
	stays := n.Power == states.PowerOn && n.Agent.Token != ""
	return stays || b.chosen(n, "deploy") == ramdisk && n.ProvisionState == states.Active
}
