// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Paths below the owner of slots of virtual media, which is a system or the manager, and below a slot.
const (
	mediaBelow = "/VirtualMedia"
	insertPath = "Actions/" + insertMedia
	ejectPath  = "Actions/" + ejectMedia
)

// mediaProtocols are the values of TransferProtocolType.
var mediaProtocols = []string{"CIFS", "FTP", "SFTP", "HTTP", "HTTPS", "NFS", "SCP", "TFTP"}

// slot is a device of virtual media. It may have a path below the system and one below the manager.
type slot struct {
	Slot
	profile *Profile
	onMedia func(slot, image string)
	medium  medium
}

// medium is the content of a slot.
type medium struct {
	image          string // URL; "" for none
	inserted       bool
	writeProtected bool
	protocol       string // TransferProtocolType; "" if the client has sent none
	user           string
}

// newSlots returns the slots of the system and those that only the manager has.
func newSlots(p *Profile, onMedia func(slot, image string)) (all []*slot) {
	if onMedia == nil {
		onMedia = func(string, string) {}
	}
	for _, s := range slices.Concat(p.SystemSlots, p.ManagerSlots) {
		if !slices.ContainsFunc(all, func(other *slot) bool { return other.ID == s.ID }) {
			all = append(all, &slot{Slot: s, profile: p, onMedia: onMedia})
		}
	}
	return all
}

// addSlots adds the collection of an owner's slots; nil stands for no collection.
func (f fixedResources) addSlots(owner string, slots []Slot) {
	if slots == nil {
		return
	}
	var paths []string
	for _, s := range slots {
		paths = append(paths, owner+mediaBelow+"/"+s.ID)
	}
	f.add(collection(owner+mediaBelow, "VirtualMediaCollection", "Virtual Media", paths))
}

// Media returns the URL of the image in the slot of virtual media with an ID, or in the first slot that has one if the
// ID is empty. Without a profile "CD" takes CDs and DVDs, "USB" USB sticks and floppies. Media returns "" if nothing is
// inserted, or if there is no such slot.
func (b *Redfish) Media(slot string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.slots {
		if s.medium.inserted && (slot == "" || slot == s.ID) {
			return s.medium.image
		}
	}
	return ""
}

// slotResource returns the resource at a path below the slots of an owner, nil if there is none.
func (b *Redfish) slotResource(owner, path string) *resource {
	id, below, _ := strings.Cut(path, "/")
	slots := b.profile().SystemSlots
	if owner == b.profile().managerPath() {
		slots = b.profile().ManagerSlots
	}
	if !slices.ContainsFunc(slots, func(s Slot) bool { return s.ID == id }) {
		return nil
	}
	s := b.slots[slices.IndexFunc(b.slots, func(s *slot) bool { return s.ID == id })]
	at := owner + mediaBelow + "/" + id
	switch {
	case below == "":
		return &resource{get: func() *reply { return show(http.StatusOK, s.object(at)) }, patch: func(c *call) *reply { return s.patch(at, c) }}
	case below == insertPath && s.inserts():
		return &resource{post: s.insert}
	case below == ejectPath && s.ejects():
		return &resource{post: s.eject}
	}
	return nil
}

// inserts and ejects report whether the slot has an action.
func (s *slot) inserts() bool { return !s.profile.PatchedSlots }

func (s *slot) ejects() bool {
	return !s.profile.PatchedSlots && (s.medium.inserted || !s.profile.EjectIfInserted)
}

// takesAny reports whether one of some types of media fits.
func (s *slot) takesAny(types []string) bool {
	return slices.ContainsFunc(types, func(kind string) bool { return slices.Contains(s.MediaTypes, kind) })
}

func (s *slot) object(at string) object {
	o := newDevice(at, "VirtualMedia.v1_6_3", s.Name, object{
		"MediaTypes":           s.MediaTypes,
		"Inserted":             s.medium.inserted,
		"WriteProtected":       s.medium.writeProtected,
		"Image":                nil,
		"ImageName":            nil,
		"ConnectedVia":         "NotConnected",
		"TransferProtocolType": nil,
		"UserName":             s.medium.user,
		"Password":             nil,
	})
	if s.profile.EmptyImage != "" {
		o["Image"], o["ImageName"] = s.profile.EmptyImage, s.profile.EmptyImage
	}
	if s.medium.image != "" {
		o["Image"], o["ImageName"] = s.medium.image, path.Base(s.medium.image)
	}
	if s.medium.inserted {
		o["ConnectedVia"] = "URI"
	}
	if s.medium.protocol != "" {
		o["TransferProtocolType"] = s.medium.protocol
	}
	actions := object{}
	if s.inserts() {
		actions["#"+insertMedia] = object{"target": at + "/" + insertPath}
	}
	if s.ejects() {
		actions["#"+ejectMedia] = object{"target": at + "/" + ejectPath}
	}
	if len(actions) > 0 {
		o["Actions"] = actions
	}
	return o
}

// insert carries out the action VirtualMedia.InsertMedia. It refuses to replace an image.
func (s *slot) insert(c *call) *reply {
	const action = insertMedia
	body, ok := members(c.body)
	if !ok {
		return badJSON()
	}
	if _, ok := body["Image"]; !ok {
		return member{"Image", action}.missing()
	}
	if s.medium.inserted {
		return problem(http.StatusConflict, "Base.1.18.ResourceInUse",
			"The change to the requested resource failed because the resource is in use or in transition.")
	}
	m := medium{inserted: true, writeProtected: true}
	if refusal := m.set(action, c.body); refusal != nil {
		return refusal
	}
	s.change(m)
	return noContent()
}

// eject carries out the action VirtualMedia.EjectMedia. It succeeds if the slot is empty, too.
func (s *slot) eject(*call) *reply {
	s.change(medium{})
	return noContent()
}

// patch inserts, changes or ejects the image, all or nothing. An Image of null empties the slot. Without actions the
// client says that the image is inserted.
func (s *slot) patch(at string, c *call) *reply {
	m := s.medium
	if m.image == "" {
		m = medium{inserted: !s.profile.PatchedSlots, writeProtected: true}
	}
	if refusal := m.set("", c.body); refusal != nil {
		return refusal
	}
	if m.image == "" {
		m = medium{}
	}
	s.change(m)
	return show(http.StatusOK, s.object(at))
}

// change replaces the medium, and reports an image that was inserted or ejected.
func (s *slot) change(to medium) {
	before := s.medium
	s.medium = to
	if !to.inserted {
		to.image = ""
	}
	if to.inserted != before.inserted || to.image != "" && to.image != before.image {
		s.onMedia(s.ID, to.image)
	}
}

// set sets the members of a request's body. With an action they are its parameters, and otherwise properties.
func (m *medium) set(action string, body []byte) (refusal *reply) {
	var ignored string
	all := setters{
		"Image": into(&m.image), "Inserted": into(&m.inserted), "WriteProtected": into(&m.writeProtected), "UserName": into(&m.user),
		"Password": into(&ignored), "TransferMethod": into(&ignored), "TransferProtocolType": oneOf(&m.protocol, mediaProtocols),
	}
	if action == "" {
		all["Image"] = func(at member, raw json.RawMessage) *reply {
			m.image = "" // for null
			if string(raw) == "null" {
				return nil
			}
			return into(&m.image)(at, raw)
		}
	}
	if refusal := all.set(action, body); refusal != nil {
		return refusal
	}
	if m.image != "" && !m.reachable() || m.image == "" && action != "" {
		return member{"Image", action}.wrongFormat(m.image)
	}
	return nil
}

// reachable reports whether the image's URL says how to transfer it, or the client has said so. Nothing is transferred.
func (m *medium) reachable() bool {
	u, err := url.Parse(m.image)
	return err == nil && (m.protocol != "" || u.Host != "" && slices.Contains(mediaProtocols, strings.ToUpper(u.Scheme)))
}
