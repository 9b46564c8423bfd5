// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
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
var mediaDevices = map[string][]schemas.VirtualMediaType{
	"cdrom":  {schemas.CDMediaType, schemas.DVDMediaType},
	"floppy": {schemas.FloppyMediaType},
	"disk":   {schemas.USBStickMediaType},
}

// slot is a slot of virtual media. A slot without the actions is changed by PATCH.
type slot struct {
	schemas.VirtualMedia
	resource
	listed bool // by VirtualMedia, also if it is empty
}

// The actions of a slot.
const (
	insertAction = "#VirtualMedia.InsertMedia"
	ejectAction  = "#VirtualMedia.EjectMedia"
)

// isSlot reports whether a resource is a slot: it says whether an image is inserted, or has another property of slots.
func isSlot(o redfish.Object) bool {
	for _, name := range []string{"Inserted", "ConnectedVia", "Image"} {
		if _, ok := o[name]; ok {
			return o.Get("Inserted", new(bool)) == nil
		}
	}
	return false
}

// inserted reports whether an image is inserted in a slot. Some BMCs do not report Inserted: then the way of the
// connection tells it or, if there is none, an image, since a Supermicro names the last image after it was ejected.
//
// Source: issue 6969 of github.com/ansible-collections/community.general.
func inserted(o redfish.Object) bool {
	var inserted *bool
	if o.Get("Inserted", &inserted) == nil && inserted != nil {
		return *inserted
	}
	var via, image string
	_, _ = o.Get("ConnectedVia", &via), o.Get("Image", &image) // of another type, they tell nothing
	if via != "" {
		return via != "NotConnected"
	}
	return image != "" && !strings.EqualFold(image, "none")
}

// slotWords are the words in the name of a slot that tell the type of its media.
var slotWords = map[schemas.VirtualMediaType][]string{
	schemas.CDMediaType: {"cd", "dvd"}, schemas.FloppyMediaType: {"fd", "floppy"}, schemas.USBStickMediaType: {"hd", "usb", "removable"},
}

// takesAny reports whether a medium of any of some devices, or of any device if none is named, fits into the slot.
// Slots of AMI's BMCs have no media types: their names tell them.
func (s *slot) takesAny(devices ...string) bool {
	kinds := s.MediaTypes
	if name := strings.ToLower(s.ID + " " + s.Name); len(kinds) == 0 {
		for kind, words := range slotWords {
			if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) }) {
				kinds = append(kinds, kind)
			}
		}
	}
	return len(devices) == 0 || slices.ContainsFunc(devices, func(device string) bool { return mediaFit(kinds, device) })
}

// mediaFit reports whether a medium of a device fits into a slot with some media types. All fit into one without any.
func mediaFit[T ~string](types []T, device string) bool {
	return len(types) == 0 || slices.ContainsFunc(mediaDevices[device], func(kind schemas.VirtualMediaType) bool {
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
// which is a USB stick. It ejects an image that is in the slot. The error is of the kind [verify.Unsupported] if no
// slot fits, and over IPMI. The BMC may load the image later, and some report a failure nowhere.
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

// insert inserts an image into the first slot for a device that accepts it.
func (r *reader) insert(device, image string) error {
	slots, failed := r.slots()
	for _, s := range slots {
		if !s.takesAny(device) {
			continue
		}
		var ejected error // an image that only seems to be inserted cannot be ejected
		if s.Inserted {
			ejected = r.ejectSlot(&s)
		}
		err := r.client.Lost()
		if err == nil {
			err = r.insertInto(&s, image)
		}
		if err == nil {
			return nil
		}
		failed = errors.Join(failed, ejected, err)
		if r.client.Lost() != nil {
			break
		}
	}
	if failed == nil {
		failed = failure.Unsupportedf("the BMC has no virtual media into which a %s can be inserted", device)
	}
	return failed
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
		for _, s := range slots {
			if s.Inserted && s.takesAny(devices...) && r.client.Lost() == nil {
				err := r.ejectSlot(&s)
				failed, only = errors.Join(failed, err), only && (err == nil || isKept(err))
			}
		}
		if failed != nil && only && r.client.Lost() == nil {
			return &failure.Error{Kind: failure.KindOf(failed), Text: failed.Error(), Cause: ErrKept}
		}
		return failed
	})
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

// mediaParameter is a parameter of InsertMedia: the words of refusals that demand it, its name first, and the values
// that are sent with it.
type mediaParameter struct {
	words  []string
	values map[string]string
}

// mediaParameters are the parameters of InsertMedia that some BMCs require, in the order in which they are tried, with
// their values; "" stands for the scheme of the image's URL.
//
// Source: insert_media in sushy/resources/manager/virtual_media.py; "parameter missing" is NVIDIA's for the user.
var mediaParameters = []mediaParameter{
	{[]string{"TransferProtocolType"}, map[string]string{"TransferProtocolType": ""}},
	{[]string{"TransferMethod"}, map[string]string{"TransferMethod": "Stream"}},
	{[]string{"UserName", "Password", "parameter missing"}, map[string]string{"UserName": "none", "Password": "none"}},
}

// insertInto inserts an image into a slot. It repeats the action where the BMC fails, since some still eject the last
// image.
func (r *reader) insertInto(s *slot, image string) error {
	insert := s.target(insertAction)
	if insert == "" {
		return r.changeSlot(s, insertAction, map[string]any{"Image": image, "Inserted": true, "WriteProtected": true})
	}
	parameters := map[string]string{"Image": image}
	for {
		body, err := json.Marshal(parameters)
		if err != nil {
			return err
		}
		a, err := r.client.Do(r.ctx, redfish.Request{
			Method: http.MethodPost, Path: insert, Body: body, Repeat: []int{http.StatusInternalServerError, http.StatusServiceUnavailable},
		})
		if err == nil || a == nil {
			return err
		}
		i := slices.IndexFunc(mediaParameters, func(p mediaParameter) bool {
			named := func(word string) bool { return bytes.Contains(a.Body, []byte(word)) }
			return parameters[p.words[0]] == "" && slices.ContainsFunc(p.words, named)
		})
		if i < 0 {
			return err
		}
		scheme, _, _ := strings.Cut(image, ":")
		for name, value := range mediaParameters[i].values {
			parameters[name] = cmp.Or(value, strings.ToUpper(scheme))
		}
	}
}

// ejectSlot ejects the image in a slot. Some BMCs want an empty object as the body, and some no body. A refusal is none
// if the slot is empty.
//
// Source: eject_media in sushy/resources/manager/virtual_media.py.
func (r *reader) ejectSlot(s *slot) error {
	eject := s.target(ejectAction)
	if eject == "" {
		return r.changeSlot(s, ejectAction, map[string]any{"Image": nil, "Inserted": false})
	}
	request := redfish.Request{Method: http.MethodPost, Path: eject, Body: []byte("{}")}
	a, err := r.client.Do(r.ctx, request)
	if a != nil && (a.Status == http.StatusBadRequest || a.Status == http.StatusUnsupportedMediaType) {
		request.Body = nil
		a, err = r.client.Do(r.ctx, request)
	}
	if err != nil && a != nil {
		if now, _, unread := r.client.Get(r.ctx, s.answer.Request.Path); unread == nil && isSlot(now) && !inserted(now) {
			return nil
		}
	}
	return err
}

// changeSlot changes a slot that lacks an action, unless the BMC says that no slot can be changed so. An iLO 4 has no
// property Inserted that could be changed.
func (r *reader) changeSlot(s *slot, action string, properties map[string]any) error {
	allowed := s.answer.Header.Get("Allow")
	if s.at("Actions", action) != nil || allowed != "" && !strings.Contains(allowed, http.MethodPatch) {
		return failure.Unsupportedf("the slot %s of virtual media has no usable action %s", s.ID, action)
	}
	a, err := r.client.Patch(r.ctx, s.answer, properties)
	if err != nil && a != nil && a.Status == http.StatusBadRequest && bytes.Contains(a.Body, []byte("Inserted")) {
		return r.client.Change(r.ctx, s.answer, map[string]any{"Image": properties["Image"]})
	}
	return err
}

// slots reads the slots of the system and then of its managers: an update of the BMC's firmware may move them.
// The error is about those that cannot be read. If the system has slots, its managers need none. A link to slots that
// the BMC does not have is an error unless others can be read, since an image may be in a slot all the same.
//
// Source: _insert_vmedia and _eject_vmedia in ironic/drivers/modules/redfish/boot.py.
func (r *reader) slots() (slots []slot, err error) {
	listed, served := true, false
	add := func(m *schemas.VirtualMedia, found resource) {
		path := found.answer.Request.Path
		known := slices.ContainsFunc(slots, func(s slot) bool { return s.answer.Request.Path == path })
		if isSlot(found.raw) && !known {
			m.Inserted = inserted(found.raw)
			slots = append(slots, slot{*m, found, listed})
		}
	}
	read := func(link string) {
		if absent := len(r.absent); link != "" {
			readMembers(r, link, add)
			served = served || len(r.absent) == absent
		}
	}
	read(r.link("VirtualMedia"))
	failed, has := len(r.errs), len(slots) > 0
	listed = !has
	r.managers(func(_ *schemas.Manager, found resource) { read(found.link("VirtualMedia")) })
	if has && r.client.Lost() == nil {
		r.errs = r.errs[:failed]
	}
	if !served {
		r.errs = append(r.errs, r.absent...)
	}
	return slots, r.err()
}

// managers reads the managers of the system, which some BMCs name Managers, or else all of the service.
//
// Source: managers in sushy/resources/system/system.py.
func (r *reader) managers(take func(*schemas.Manager, resource)) {
	for _, name := range []string{"ManagedBy", "Managers"} {
		if managers := r.links("Links", name); len(managers) > 0 {
			readEach(r, managers, take)
			return
		}
	}
	readMembers(r, r.root.link("Managers"), take)
}
