// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	schemas "github.com/stmcginnis/gofish/redfish"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/secret"
)

// VirtualMedia is a slot of virtual media. Its JSON is that of Ironic's
// GET /v1/nodes/NODE/vmedia.
type VirtualMedia struct {
	Image      string   `json:"image"`
	Inserted   bool     `json:"inserted"`
	MediaTypes []string `json:"media_types"` // Redfish's: "CD", "DVD", "Floppy", "USBStick"
}

// mediaDevices maps Ironic's devices to the media types that they stand for.
//
// Source: VMEDIA_DEVICES_MAP in ironic/drivers/modules/redfish/management.py, and
// _insert_vmedia_in_resource in boot.py of the same folder for DVD.
var mediaDevices = map[string][]schemas.VirtualMediaType{
	"cdrom":  {schemas.CDMediaType, schemas.DVDMediaType},
	"floppy": {schemas.FloppyMediaType},
	"disk":   {schemas.USBStickMediaType},
}

// slot is a slot of virtual media as the guard shows it to the driver.
type slot struct {
	schemas.VirtualMedia
	path          string
	found         resource
	insert, eject string // the paths of the actions; "" without the action
}

// kind returns a media type of some devices, or of any if none is named, that fits into the
// slot, "" if none does.
func (s *slot) kind(devices ...string) schemas.VirtualMediaType {
	for device, kinds := range mediaDevices {
		if len(devices) > 0 && !slices.Contains(devices, device) {
			continue
		}
		for _, kind := range kinds {
			if slices.Contains(s.MediaTypes, kind) {
				return kind
			}
		}
	}
	return ""
}

// VirtualMedia reads a node's slots of virtual media over Redfish. If some cannot be read,
// it returns the others beside the error.
func (d *Driver) VirtualMedia(ctx context.Context, id string) ([]VirtualMedia, error) {
	var media []VirtualMedia
	err := d.redfish(ctx, 0, id, "read the virtual media", func(ctx context.Context, r *redfishConnection) error {
		slots, err := r.slots(ctx)
		for _, s := range slots {
			m := VirtualMedia{Image: s.Image, Inserted: s.Inserted, MediaTypes: []string{}}
			for _, kind := range s.MediaTypes {
				m.MediaTypes = append(m.MediaTypes, string(kind))
			}
			media = append(media, m)
		}
		return err
	})
	return media, err
}

// InsertMedia inserts the image at a URL into the first slot for a device that accepts it:
// "cdrom", "floppy" or "disk", which is a USB stick. It ejects what is in the slot. The
// error is of the kind [verify.Unsupported] if no slot fits, and over IPMI. The BMC may
// load the image later, and some report a failure nowhere.
func (d *Driver) InsertMedia(ctx context.Context, id, device, image string) error {
	const op = "insert virtual media"
	if err := checkDevices(op, device); err != nil {
		return err
	}
	at, err := url.Parse(image)
	if err != nil || image == "" {
		return &verify.Error{Op: op, Kind: verify.Misconfigured, Err: errors.New("the image is not a URL")}
	}
	return d.redfish(ctx, 0, id, op, func(ctx context.Context, r *redfishConnection) error {
		if password, ok := at.User.Password(); ok {
			r.scrub.Add(secret.New(password))
		}
		slots, failed := r.slots(ctx)
		for _, s := range slots {
			kind := s.kind(device)
			if kind == "" || s.insert == "" {
				continue
			}
			err := r.setMedia(ctx, &s, kind, image)
			if err == nil {
				return nil
			}
			failed = errors.Join(failed, err)
			if r.client.Lost() != nil {
				break
			}
		}
		if failed == nil {
			failed = failure.Unsupportedf("the BMC has no virtual media into which a %s can be inserted", device)
		}
		return failed
	})
}

// EjectMedia ejects what is inserted in the slots for some devices, or in all slots if
// none is named. An inserted image without a way to eject it is an error of the kind
// [verify.Unsupported].
func (d *Driver) EjectMedia(ctx context.Context, id string, devices ...string) error {
	const op = "eject virtual media"
	if err := checkDevices(op, devices...); err != nil {
		return err
	}
	return d.redfish(ctx, 0, id, op, func(ctx context.Context, r *redfishConnection) error {
		slots, failed := r.slots(ctx)
		for _, s := range slots {
			kind := s.kind(devices...)
			if !s.Inserted || kind == "" && len(devices) > 0 {
				continue
			}
			err := error(failure.Unsupportedf("the slot %s has an image that cannot be ejected", s.ID))
			if kind != "" && s.eject != "" {
				err = r.setMedia(ctx, &s, kind, "")
			}
			failed = errors.Join(failed, err)
			if r.client.Lost() != nil {
				break
			}
		}
		return failed
	})
}

func checkDevices(op string, devices ...string) error {
	for _, device := range devices {
		if mediaDevices[device] == nil {
			return &verify.Error{Op: op, Kind: verify.Misconfigured, Err: fmt.Errorf("the device %q is none of cdrom, disk and floppy", device)}
		}
	}
	return nil
}

// setMedia inserts an image into a slot, or ejects for "". The driver first ejects what is
// in the slot. If the BMC refuses an insertion, the driver repeats it with the image alone.
func (r *redfishConnection) setMedia(ctx context.Context, s *slot, kind schemas.VirtualMediaType, image string) error {
	r.guard.slot = s
	defer func() { r.guard.slot = nil }()
	return r.guard.call(ctx, func() error {
		_, err := r.driver.SetVirtualMedia(ctx, string(kind), image)
		return err
	})
}

// slots reads the slots of the system or, if it has none, of its managers. The error is
// about those that cannot be read, or that there is none.
//
// Source: _insert_vmedia in ironic/drivers/modules/redfish/boot.py.
func (r *redfishConnection) slots(ctx context.Context) (slots []slot, err error) {
	read, err := r.startReading(ctx)
	if err != nil {
		return nil, err
	}
	add := func(m *schemas.VirtualMedia, found resource) {
		path, _ := found["@odata.id"].(string)
		slots = append(slots, slot{
			VirtualMedia: *m, path: path, found: found,
			insert: found.target("#VirtualMedia.InsertMedia"), eject: found.target("#VirtualMedia.EjectMedia"),
		})
	}
	if collection := read.resource.link("VirtualMedia"); collection != "" {
		list(read, collection, add)
	} else {
		read.managers(func(_ *schemas.Manager, found resource) { list(read, found.link("VirtualMedia"), add) })
	}
	if len(slots) == 0 && len(read.errs) == 0 {
		return nil, failure.Unsupportedf("the BMC has no virtual media")
	}
	return slots, read.err()
}

// managers reads the managers of the system, or else all of the service.
func (r *reading) managers(take func(*schemas.Manager, resource)) {
	if managers := r.resource.links("Links", "ManagedBy"); len(managers) > 0 {
		each(r, managers, take)
	} else {
		list(r, r.guard.root.link("Managers"), take)
	}
}
