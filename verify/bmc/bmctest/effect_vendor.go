// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// The effects of this file occur in families of BMCs. An effect on certain requests counts only these, so its Fault
// needs no conditions.

// RefuseContinuous refuses a boot override that stays in force, and accepts one for the next boot.
//
// Source: Lenovo's XCC; _set_boot_device in ironic/drivers/modules/redfish/management.py.
func RefuseContinuous() Effect {
	return refusal("RefuseContinuous()", func(c *call) *reply {
		enabled, _ := textOf(bootOf(c)["BootSourceOverrideEnabled"])
		if enabled != "Continuous" {
			return nil
		}
		return member{name: "BootSourceOverrideEnabled"}.notInList(enabled)
	})
}

// WholeBoot refuses a change of the boot override that has not all three properties: the target, how long it is in
// force, and the boot mode.
//
// Source: BMCs of AMI and ASRockRack; VENDORS_REQUIRING_FULL_BOOT_REQUEST in
// ironic/drivers/modules/redfish/management.py.
func WholeBoot() Effect {
	return refusal("WholeBoot()", func(c *call) *reply {
		boot := bootOf(c)
		for _, name := range []string{"BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode"} {
			if boot != nil && boot[name] == nil {
				return member{name: name}.missing()
			}
		}
		return nil
	})
}

// RequireParameters refuses an InsertMedia without some parameters. The answer names one of them.
//
// Source: BMCs of Nokia and NVIDIA; insert_media in sushy/resources/manager/virtual_media.py.
func RequireParameters(names ...string) Effect {
	return ofInsert(fmt.Sprintf("RequireParameters(%q)", names), names, false, member.missing)
}

// RefuseParameters refuses an InsertMedia with any of some parameters.
//
// Source: Supermicro's X11 and X12; insert_media in sushy/resources/manager/virtual_media.py.
func RefuseParameters(names ...string) Effect {
	return ofInsert(fmt.Sprintf("RefuseParameters(%q)", names), names, true, member.unknown)
}

// ofInsert refuses an InsertMedia for the first of some parameters that is given, or that is not.
func ofInsert(effect string, names []string, given bool, refuse func(member) *reply) Effect {
	return refusal(effect, func(c *call) *reply {
		body, _ := members(c.body)
		for _, name := range names {
			if isAction(c, insertMedia) && (body[name] != nil) == given {
				return refuse(member{name, insertMedia})
			}
		}
		return nil
	})
}

// RequireEjectBody refuses an EjectMedia without a body, with 415. An empty object will do.
//
// Source: HPE's iLO; eject_media in sushy/resources/manager/virtual_media.py.
func RequireEjectBody() Effect {
	return refusal("RequireEjectBody()", func(c *call) *reply {
		if !isAction(c, ejectMedia) || len(bytes.TrimSpace(c.body)) > 0 {
			return nil
		}
		return problem(http.StatusUnsupportedMediaType, "Base.1.18.GeneralError", http.StatusText(http.StatusUnsupportedMediaType))
	})
}

// PoweringOff refuses to power a system on, with 409, as an iDRAC does that has just powered it off. With Fault.Times
// it ends.
//
// Source: _set_power_state in ironic/drivers/modules/redfish/power.py.
func PoweringOff() Effect {
	return refusal("PoweringOff()", func(c *call) *reply {
		body, _ := members(c.body)
		if kind, _ := textOf(body["ResetType"]); !isAction(c, resetAction) || kind != "On" {
			return nil
		}
		return problem(http.StatusConflict, "Base.1.18.ActionParameterValueConflict",
			"The value 'On' for the parameter ResetType conflicts with the state of the system.", "ResetType", "On")
	})
}

// Busy refuses every change, with 400 and a message ID by which BMCs say that the client has to repeat its request:
// with HPE's iLO "iLO.2.16.UnableToModifyDuringSystemPOST" and "iLO.2.15.InvalidOperationForSystemState", with Dell's
// iDRAC "IDRAC.2.8.SYS518". With Fault.Times it ends.
//
// Source: the message registries of both; check_retry_on_exception in sushy/connector.py; _is_during_post_error in
// ironic/drivers/modules/redfish/management.py.
func Busy(messageID string) Effect {
	return refusal(fmt.Sprintf("Busy(%q)", messageID), func(c *call) *reply {
		if c.Method != http.MethodPatch && (c.Method != http.MethodPost || !strings.Contains(c.URL.Path, "/Actions/")) {
			return nil
		}
		return problem(http.StatusBadRequest, messageID, "The request cannot be carried out in the state that the system is in.")
	})
}

// Ejecting refuses an InsertMedia, with 500, as a BMC does that has just ejected another image. With Fault.Times it
// ends.
//
// Source: _insert_vmedia_in_resource in ironic/drivers/modules/redfish/boot.py.
func Ejecting() Effect {
	return refusal("Ejecting()", func(c *call) *reply {
		if !isAction(c, insertMedia) {
			return nil
		}
		return internalError("The request failed due to an internal service error.")
	})
}

// Meanwhile lets a machine change its power state by itself before a reset, to "On", "Off", "PoweringOn" or another
// PowerState of Redfish. The reset is then refused with that status, or has no answer if it is 0.
//
// Source: set_power_state in ironic/drivers/modules/redfish/power.py.
func Meanwhile(power string, status int) Effect {
	change := onRequest(fmt.Sprintf("Meanwhile(%q, %d)", power, status), func(x *exchange) {
		system := strings.TrimSuffix(cleanPath(x.call.URL.Path), "/"+resetPath)
		_ = x.bmc.SetPower(path.Base(system), power) // without such a system there is no machine
		if status == 0 {
			x.reset()
			return
		}
		x.send(problem(status, "Base.1.18.ActionNotSupported", "The machine is not in the state for it."))
	})
	return onSome(change, func(c *call) bool { return isAction(c, resetAction) })
}

// RefuseActionIfMatch refuses an action with If-Match, with 412, whatever its ETag.
//
// Source: Dell's iDRAC 10; pull request 510 of github.com/stmcginnis/gofish.
func RefuseActionIfMatch() Effect {
	return refusal("RefuseActionIfMatch()", func(c *call) *reply {
		if c.Method != http.MethodPost || c.Header.Get("If-Match") == "" {
			return nil
		}
		return otherETag()
	})
}

// Redirect answers with that status and a Location, in which "*" stands for the path of the request. A service that
// appends a slash has the Location "*/": a request whose path ends in a slash is then not redirected.
//
// Source: Supermicro's older BMCs redirect the log-in; pull request 187 of github.com/bb-Ricardo/check_redfish.
func Redirect(status int, location string) Effect {
	return refusal(fmt.Sprintf("Redirect(%d, %q)", status, location), func(c *call) *reply {
		if strings.HasSuffix(location, "*/") && strings.HasSuffix(c.URL.Path, "/") {
			return nil
		}
		p := newReply(status, "", nil)
		if to := strings.ReplaceAll(location, "*", c.URL.EscapedPath()); to != "" {
			p.header.Set("Location", to)
		}
		return p
	})
}

// RequireIfMatch refuses a PATCH without If-Match, with 428.
//
// Source: _etag_handler in sushy/connector.py.
func RequireIfMatch() Effect {
	return refusal("RequireIfMatch()", func(c *call) *reply {
		if c.Method != http.MethodPatch || c.Header.Get("If-Match") != "" {
			return nil
		}
		return problem(http.StatusPreconditionRequired, "Base.1.18.PreconditionRequired",
			"A precondition header or annotation is required to change this resource.")
	})
}

// WrongETag sends that ETag in place of the resource's, or none if it is empty: an If-Match with it fails, with 412.
//
// Source: _etag_handler in sushy/connector.py.
func WrongETag(tag string) Effect {
	return changeHeader(fmt.Sprintf("WrongETag(%q)", tag), func(h http.Header) {
		h.Del("ETag")
		if tag != "" {
			h.Set("ETag", tag)
		}
	})
}

// WeakenedETag sends the resource's ETag as a weak one, which it then refuses in If-Match, since that compares strong
// ones (RFC 9110 section 13.1.1). The tag without "W/" is accepted.
//
// Source: _etag_handler in sushy/connector.py.
func WeakenedETag() Effect {
	return changeHeader("WeakenedETag()", func(h http.Header) {
		if tag := h.Get("ETag"); tag != "" {
			h.Set("ETag", "W/"+strings.TrimPrefix(tag, "W/"))
		}
	})
}

// StaleMedia shows that image as inserted in each slot of virtual media, whatever is there: an iDRAC still reports an
// image for a while after it was ejected.
//
// Source: _insert_vmedia_in_resource in ironic/drivers/modules/redfish/boot.py.
func StaleMedia(image string) Effect {
	return ofSlots(fmt.Sprintf("StaleMedia(%q)", image), func(o object) { o["Inserted"], o["Image"] = true, image })
}

// EmptyInserted shows each empty slot of virtual media as inserted, and says that nothing is connected.
//
// Source: Supermicro's X12 and H13; pull request 7470 of github.com/ansible-collections/community.general.
func EmptyInserted() Effect {
	return ofSlots("EmptyInserted()", func(o object) { o["Inserted"] = true })
}

// ofSlots changes the slots of virtual media that are read.
func ofSlots(name string, change func(object)) Effect {
	return onSome(changeObject(name, change), func(c *call) bool {
		return isRead(c.Method) && path.Base(path.Dir(cleanPath(c.URL.Path))) == path.Base(mediaBelow)
	})
}

// Names of actions.
const (
	insertMedia = "VirtualMedia.InsertMedia"
	ejectMedia  = "VirtualMedia.EjectMedia"
	resetAction = "ComputerSystem.Reset"
)

func isAction(c *call, name string) bool {
	return c.Method == http.MethodPost && strings.HasSuffix(cleanPath(c.URL.Path), "/Actions/"+name)
}

// bootOf returns the properties of the boot override that a request changes, nil if it is no change of it.
func bootOf(c *call) map[string]json.RawMessage {
	if c.Method != http.MethodPatch {
		return nil
	}
	body, _ := members(c.body)
	boot, _ := members(body["Boot"])
	return boot
}
