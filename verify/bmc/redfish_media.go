// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// slot is a slot of virtual media. A slot without the actions is changed by PATCH.
type slot struct {
	schemas.VirtualMedia
	resource
	listed bool   // by VirtualMedia, also if it is empty
	among  string // the path of the collection that has the slot
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
	if via := o.Text("ConnectedVia"); via != "" {
		return via != "NotConnected"
	}
	image := o.Text("Image")
	return image != "" && !strings.EqualFold(image, "none")
}

// number returns the number that is the slot's name, and a higher one than all if the name is none.
func (s *slot) number() int {
	if n, err := strconv.Atoi(redfish.ResourceID(s.answer.Request.Path)); err == nil {
		return n
	}
	return math.MaxInt
}

// slotWords are the words in the name of a slot that tell the type of its media.
var slotWords = map[schemas.VirtualMediaType][]string{
	"CD": {"cd", "dvd"}, "Floppy": {"fd", "floppy"}, "USBStick": {"hd", "usb", "removable"},
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
			return parameters[p.words[0]] == "" && a.Says(p.words...)
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
	if s.at("Actions", action) != nil || !s.answer.Allows(http.MethodPatch) {
		return failure.Unsupportedf("the slot %s of virtual media has no usable action %s", s.ID, action)
	}
	a, err := r.client.Patch(r.ctx, s.answer, properties)
	if err != nil && a != nil && a.Status == http.StatusBadRequest && a.Says("Inserted") {
		return r.client.Change(r.ctx, s.answer, map[string]any{"Image": properties["Image"]})
	}
	return err
}

// slots reads the slots of the system and then of its managers: an update of the BMC's firmware may move them.
// The error is about those that cannot be read. If the system has slots, its managers need none. A link to slots that
// the BMC does not have is an error unless others can be read, since an image may be in a slot all the same. Slots of a
// collection that have numbers are in their order: an iDRAC 10 boots from its slot 1 alone, and may list slot 2 first.
//
// Source: _insert_vmedia and _eject_vmedia in ironic/drivers/modules/redfish/boot.py; for the order,
// _get_acceptable_media_id in drac/boot.py beside it, and issue 324 of github.com/dell/iDRAC-Redfish-Scripting.
func (r *reader) slots() (slots []slot, err error) {
	listed, among, links, absent := true, "", 0, []error(nil)
	add := func(m *schemas.VirtualMedia, found resource) {
		path := found.answer.Request.Path
		known := slices.ContainsFunc(slots, func(s slot) bool { return s.answer.Request.Path == path })
		if isSlot(found.raw) && !known {
			m.Inserted = inserted(found.raw)
			slots = append(slots, slot{*m, found, listed, among})
		}
	}
	read := func(link string) {
		if before, first := len(r.absent), len(slots); link != "" {
			links++
			among = link
			readMembers(r, link, add)
			slices.SortStableFunc(slots[first:], func(a, b slot) int { return cmp.Compare(a.number(), b.number()) })
			absent = append(absent, r.absent[before:]...)
		}
	}
	read(r.link("VirtualMedia"))
	failed, has := len(r.errs), len(slots) > 0
	listed = !has
	r.managers(func(_ *schemas.Manager, found resource) { read(found.link("VirtualMedia")) })
	if has {
		r.forget(failed)
	}
	if len(absent) == links {
		r.errs = append(r.errs, absent...)
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
