// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// VirtualMedia is a slot of virtual media. Its JSON is the same as in Ironic's GET /v1/nodes/NODE/vmedia.
type VirtualMedia struct {
	Image      string   `json:"image"`
	Inserted   bool     `json:"inserted"`
	MediaTypes []string `json:"media_types"` // Redfish's: "CD", "DVD", "Floppy", "USBStick"
}

// mediaDevices maps Ironic's devices to the media types that they stand for.
//
// Source: VMEDIA_DEVICES_MAP in ironic/drivers/modules/redfish/management.py, and
// _insert_vmedia_in_resource in boot.py of the same folder for DVD.
var mediaDevices = map[string][]string{
	"cdrom":  {"CD", "DVD"},
	"floppy": {"Floppy"},
	"disk":   {"USBStick"},
}

// mediaFit reports whether a medium of a device fits into a slot with some media types. All fit into one without any.
func mediaFit[T ~string](types []T, device string) bool {
	return len(types) == 0 || slices.ContainsFunc(mediaDevices[device], func(kind string) bool {
		return slices.Contains(types, T(kind))
	})
}

// VirtualMedia reads a node's slots of virtual media over Redfish: the system's or, if it has none, its
// managers', and any other slot with an image. If some cannot be read, it returns the others beside the error.
func (d *Driver) VirtualMedia(ctx context.Context, id string) ([]VirtualMedia, error) {
	return fromSystem(ctx, d, call{id: id, op: "read the virtual media", long: true}, func(r *reader) (media []VirtualMedia, err error) {
		slots, err := r.slots()
		if len(slots) == 0 && err == nil {
			err = failure.Unsupportedf("the BMC has no virtual media")
		}
		for _, s := range slots {
			if !s.listed && (!s.Inserted || slices.ContainsFunc(media, func(m VirtualMedia) bool { return m.Inserted && m.Image == s.Image })) {
				continue
			}
			m := VirtualMedia{Image: s.Image, Inserted: s.Inserted, MediaTypes: []string{}}
			for _, kind := range s.MediaTypes {
				m.MediaTypes = append(m.MediaTypes, string(kind))
			}
			media = append(media, m)
		}
		return media, err
	})
}

// Fits reports whether a medium of a device, "cdrom", "floppy" or "disk", fits into the slot. All fit into one without
// media types.
func (m VirtualMedia) Fits(device string) bool { return mediaFit(m.MediaTypes, device) }

// Has reports whether an image is inserted in the slot. Some BMCs report only the name of the image, or another host
// and path, and some report none.
func (m VirtualMedia) Has(image string) bool {
	name := func(link string) string {
		if u, err := url.Parse(link); err == nil {
			link = u.Path
		}
		return path.Base(strings.ReplaceAll(link, `\`, "/"))
	}
	return m.Inserted && (m.Image == "" || name(m.Image) == name(image))
}

// InsertMedia inserts the image at a URL into the first slot for a device that accepts it: "cdrom", "floppy" or "disk",
// which is a USB stick. It first ejects the images in all slots for the device that the same system or manager has, as
// in Ironic, since a machine may boot any of them. The error is of the kind [verify.Unsupported] if no slot fits, and
// over IPMI. The BMC may load the image later, and some report a failure nowhere.
func (d *Driver) InsertMedia(ctx context.Context, id, device, image string) error {
	const op = "insert virtual media"
	if err := checkDevices(op, device); err != nil {
		return err
	}
	at, err := url.Parse(image)
	if err != nil || image == "" {
		return &verify.Error{Op: op, Kind: verify.Misconfigured, Err: errors.New("the image is not a URL")}
	}
	return d.overRedfish(ctx, call{id: id, op: op, long: true}, func(ctx context.Context, c *redfishConnection) error {
		if password, ok := at.User.Password(); ok {
			c.hide(password)
		}
		r, err := c.systemReader(ctx)
		if err != nil {
			return err
		}
		return r.insert(device, image)
	})
}

// insert inserts an image into the first slot for a device that accepts it. An image that only seems to be inserted
// cannot be ejected, so that a failed ejection is only told beside a failed insertion, whose kind the error has. It has
// the kind of what ends the operation, such as a request without an answer.
//
// Source: _insert_vmedia_in_resource in ironic/drivers/modules/redfish/boot.py.
func (r *reader) insert(device, image string) error {
	slots, failed := r.slots()
	slots = slices.DeleteFunc(slots, func(s slot) bool { return !s.takesAny(device) })
	var kept []error
	for i, s := range slots {
		if i == 0 || s.among != slots[i-1].among { // the first one of a system or manager
			same := func(other slot) bool { return other.among == s.among }
			kept = append(kept, r.eject(slots[i:], same)...)
		}
		if r.over() != nil {
			break
		}
		err := r.insertInto(&s, image)
		if err == nil {
			return nil
		}
		failed = errors.Join(failed, err)
	}
	if failed = errors.Join(failed, errors.Join(kept...)); failed == nil {
		failed = failure.Unsupportedf("the BMC has no virtual media into which a %s can be inserted", device)
	}
	return orEnded(failed, r.over())
}

// ErrKept is the error about an image that a BMC keeps in its slot: it has refused to eject the image, or has no way to
// eject it, and everything else has succeeded. It is also of the kind [verify.Protocol] or [verify.Unsupported].
var ErrKept error = failure.Reason("the BMC keeps an image in its slot")

// EjectMedia ejects the images that are inserted in the slots for some devices, or in all slots if
// none is named, of the system and of its managers. An inserted image without a way to eject it is an error of the kind
// [verify.Unsupported]. The error matches [ErrKept] if all else has succeeded. A BMC without slots has nothing to
// eject; one that links slots and does not have them at the link is an error of the same kind.
func (d *Driver) EjectMedia(ctx context.Context, id string, devices ...string) error {
	const op = "eject virtual media"
	if err := checkDevices(op, devices...); err != nil {
		return err
	}
	return d.withSystem(ctx, call{id: id, op: op, long: true}, func(r *reader) error {
		slots, failed := r.slots()
		only := failed == nil // whether nothing but ejections has failed
		for _, err := range r.eject(slots, func(s slot) bool { return s.takesAny(devices...) }) {
			failed, only = errors.Join(failed, err), only && isKept(err)
		}
		if failed != nil && only && r.over() == nil {
			return &failure.Error{Kind: failure.KindOf(failed), Text: failed.Error(), Cause: ErrKept}
		}
		return orEnded(failed, r.over())
	})
}

// eject ejects the images in some slots, until the operation is over. It returns why it cannot.
func (r *reader) eject(slots []slot, chosen func(slot) bool) (failures []error) {
	for _, s := range slots {
		if s.Inserted && chosen(s) && r.over() == nil {
			if err := r.ejectSlot(&s); err != nil {
				failures = append(failures, err)
			}
		}
	}
	return failures
}

// isKept reports whether the error of an ejection is a refusal of the BMC, and not of the password, or that there is no
// way to eject. Errors of our own, such as a limit, have a cause, and so has the lack of a licence.
func isKept(err error) bool {
	refusal := failure.Of(err)
	return refusal.Cause == nil && (refusal.Kind == verify.Protocol || refusal.Kind == verify.Unsupported)
}

func checkDevices(op string, devices ...string) error {
	for _, device := range devices {
		if mediaDevices[device] == nil {
			return &verify.Error{Op: op, Kind: verify.Misconfigured, Err: fmt.Errorf("the device %q is none of cdrom, disk and floppy", device)}
		}
	}
	return nil
}
