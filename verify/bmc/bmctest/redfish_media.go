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

const mediaPath = managerPath + "/VirtualMedia"

// Paths of the actions below a slot of virtual media.
const (
	insertPath = "Actions/VirtualMedia.InsertMedia"
	ejectPath  = "Actions/VirtualMedia.EjectMedia"
)

// mediaProtocols are the values of TransferProtocolType.
var mediaProtocols = []string{"CIFS", "FTP", "SFTP", "HTTP", "HTTPS", "NFS", "SCP", "TFTP"}

// slot is a device of virtual media.
type slot struct {
	id, name   string
	mediaTypes []string // what fits, in the words of the VirtualMedia schema
	medium     medium
}

// medium is what is in a slot.
type medium struct {
	image          string // URL; "" for none
	inserted       bool
	writeProtected bool
	protocol       string // TransferProtocolType; "" if the client has sent none
	user           string
}

func newSlots() []*slot {
	return []*slot{
		{id: "CD", name: "Virtual CD", mediaTypes: []string{"CD", "DVD"}},
		{id: "USB", name: "Virtual Removable Media", mediaTypes: []string{"USBStick", "Floppy"}},
	}
}

// Media returns the URL of the image in a slot of virtual media: "CD" takes CDs and DVDs, "USB" USB sticks and floppies. It
// returns "" if nothing is inserted, or if there is no such slot.
func (b *Redfish) Media(slot string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.slot(slot); s != nil && s.medium.inserted {
		return s.medium.image
	}
	return ""
}

// slot returns the slot with an ID, nil if there is none.
func (b *Redfish) slot(id string) *slot {
	i := slices.IndexFunc(b.slots, func(s *slot) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	return b.slots[i]
}

// slotResource returns the resource of a slot, or of one of its actions. It returns nil if there is none.
func (b *Redfish) slotResource(id, below string) *resource {
	s := b.slot(id)
	if s == nil {
		return nil
	}
	switch below {
	case "":
		return &resource{get: func() reply { return show(http.StatusOK, s.object()) }, patch: s.patch}
	case insertPath:
		return &resource{post: s.insert}
	case ejectPath:
		return &resource{post: s.eject}
	}
	return nil
}

func (s *slot) path() string { return mediaPath + "/" + s.id }

func (s *slot) object() object {
	o := newDevice(s.path(), "VirtualMedia.v1_6_3", s.name)
	o["MediaTypes"] = s.mediaTypes
	o["Inserted"] = s.medium.inserted
	o["WriteProtected"] = s.medium.writeProtected
	o["Image"], o["ImageName"], o["ConnectedVia"] = nil, nil, "NotConnected"
	if s.medium.image != "" {
		o["Image"], o["ImageName"] = s.medium.image, path.Base(s.medium.image)
	}
	if s.medium.inserted {
		o["ConnectedVia"] = "URI"
	}
	o["TransferProtocolType"] = nil
	if s.medium.protocol != "" {
		o["TransferProtocolType"] = s.medium.protocol
	}
	o["UserName"], o["Password"] = s.medium.user, nil
	o["Actions"] = object{
		"#VirtualMedia.InsertMedia": object{"target": s.path() + "/" + insertPath},
		"#VirtualMedia.EjectMedia":  object{"target": s.path() + "/" + ejectPath},
	}
	return o
}

// insert carries out the action VirtualMedia.InsertMedia. It refuses to replace an image.
func (s *slot) insert(c *call) reply {
	const action = "VirtualMedia.InsertMedia"
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
	if refusal, ok := m.merge(body, action); !ok {
		return refusal
	}
	s.medium = m
	return noContent()
}

// eject carries out the action VirtualMedia.EjectMedia. It succeeds if the slot is empty, too.
func (s *slot) eject(*call) reply {
	s.medium = medium{}
	return noContent()
}

// patch inserts, changes or ejects the image, all or nothing. An Image of null empties the slot.
func (s *slot) patch(c *call) reply {
	body, ok := members(c.body)
	if !ok {
		return badJSON()
	}
	m := s.medium
	if m.image == "" {
		m = medium{inserted: true, writeProtected: true}
	}
	if refusal, ok := m.merge(body, ""); !ok {
		return refusal
	}
	if m.image == "" {
		m = medium{}
	}
	s.medium = m
	return show(http.StatusOK, s.object())
}

// merge sets the members of a request's body. With an action they are its parameters, and otherwise properties.
func (m *medium) merge(body map[string]json.RawMessage, action string) (refusal reply, ok bool) {
	for name, raw := range body {
		at := member{name, action}
		var accepted bool
		switch name {
		case "Image":
			m.image, accepted = textOf(raw)
			accepted = accepted || action == "" && string(raw) == "null"
		case "Inserted":
			accepted = json.Unmarshal(raw, &m.inserted) == nil && string(raw) != "null"
		case "WriteProtected":
			accepted = json.Unmarshal(raw, &m.writeProtected) == nil && string(raw) != "null"
		case "UserName":
			m.user, accepted = textOf(raw)
		case "Password", "TransferMethod":
			_, accepted = textOf(raw)
		case "TransferProtocolType":
			if m.protocol, accepted = textOf(raw); accepted && !slices.Contains(mediaProtocols, m.protocol) {
				return at.notInList(m.protocol), false
			}
		default:
			return at.unknown(), false
		}
		if !accepted {
			return at.wrongType(string(raw)), false
		}
	}
	if m.image != "" && !m.reachable() || m.image == "" && action != "" {
		return member{"Image", action}.wrongFormat(m.image), false
	}
	return reply{}, true
}

// reachable reports whether the image's URL says how to transfer it, or the client has said so. Nothing is transferred.
func (m *medium) reachable() bool {
	u, err := url.Parse(m.image)
	return err == nil && (m.protocol != "" || u.Host != "" && slices.Contains(mediaProtocols, strings.ToUpper(u.Scheme)))
}
