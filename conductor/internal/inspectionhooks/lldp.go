// SPDX-License-Identifier: Apache-2.0

package inspectionhooks

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/ironstate/ironstate/states"
)

// The types of the elements (TLVs) of an LLDP frame, by IEEE 802.1AB.
const (
	tlvChassisID         = 1
	tlvPortID            = 2
	tlvPortDescription   = 4
	tlvSystemName        = 5
	tlvSystemDescription = 6
	tlvCapabilities      = 7
	tlvManagementAddress = 8
	tlvOrganization      = 127
)

const (
	maxTLV        = 511  // bytes in the value of an element: its length has nine bits
	maxInterfaces = 64   // whose LLDP data are parsed, since 2026.2
	maxElements   = 1024 // of an interface: an Ethernet frame of 1500 bytes has at most 750
)

// A tlv is an element of an LLDP frame.
type tlv struct {
	kind  int
	value []byte
}

// frame is the LLDP data of a network interface.
type frame struct {
	name, mac string
	elements  []tlv
}

// frames returns the LLDP data of the interfaces. Interfaces of the same name share what lldp_raw has under that
// name, which is decoded once.
func frames(in Input, c *Changes, whole bool) (all []frame) {
	raw, _ := in.Data["lldp_raw"].(map[string]any)
	interfaces, _ := in.Inventory["interfaces"].([]any)
	shared := map[string][]tlv{}
	for _, item := range interfaces {
		nic, _ := item.(map[string]any)
		name, _ := nic["name"].(string)
		mac, _ := nic["mac_address"].(string)
		f := frame{name: name, mac: mac}
		if list, _ := raw[name].([]any); len(list) > 0 {
			if _, decoded := shared[name]; !decoded {
				shared[name] = elements(name, list, c, whole)
			}
			f.elements = shared[name]
		} else {
			list, _ := nic["lldp"].([]any)
			f.elements = elements(name, list, c, whole)
		}
		if len(f.elements) > 0 {
			all = append(all, f)
		}
	}
	return all
}

// elements decodes the LLDP data of an interface. Elements that are no pair of a type and a value in hexadecimal, or
// longer than any in a frame, are left out; with whole, all are. So are those behind the first maxElements.
func elements(name string, list []any, c *Changes, whole bool) (all []tlv) {
	if len(list) > maxElements {
		c.problem("LLDP data of the interface %s: %d elements, more than %d", name, len(list), maxElements)
		list = list[:maxElements]
	}
	for _, item := range list {
		element, err := decode(item)
		if err == nil {
			all = append(all, element)
			continue
		}
		c.problem("LLDP data of the interface %s: %v", name, err)
		if whole {
			return nil
		}
	}
	return all
}

// decode returns the element that an agent has sent as a list of its type and its value in hexadecimal.
func decode(item any) (tlv, error) {
	pair, _ := item.([]any)
	if len(pair) != 2 {
		return tlv{}, errors.New("an element is no pair of a type and a value")
	}
	kind, err := strconv.Atoi(fmt.Sprint(pair[0]))
	if err != nil {
		return tlv{}, errors.New("the type of an element is no number")
	}
	digits, isText := pair[1].(string)
	value, err := hex.DecodeString(digits)
	switch {
	case err != nil || !isText:
		return tlv{}, fmt.Errorf("the value of an element of the type %d is not hexadecimal", kind)
	case len(value) > maxTLV:
		return tlv{}, fmt.Errorf("the value of an element of the type %d has %d bytes, more than %d", kind, len(value), maxTLV)
	}
	return tlv{kind, value}, nil
}

// localLinks finds the switch and its port to which each interface is connected: port_id, switch_id if it is a MAC
// address, and since Ironic 32.0.0 (2025.2) switch_info. A frame with a malformed element is left out. Of interfaces
// with the same address, such as a bond and its first port, the first one that has a value counts.
func localLinks(in Input, c *Changes) {
	valid, _ := in.Data["all_interfaces"].(map[string]any)
	for _, f := range frames(in, c, true) {
		if _, is := valid[f.name]; !is {
			continue
		}
		link := map[string]any{}
		for _, e := range f.elements {
			key, value, problem := "", "", error(nil)
			switch {
			case e.kind == tlvPortID:
				key = "port_id"
				value, problem = portID(e.value)
			case e.kind == tlvChassisID && len(e.value) > 0 && e.value[0] == chassisMAC:
				key = "switch_id"
				value, problem = chassisID(e.value)
			case e.kind == tlvSystemName && in.Series >= states.Flamingo:
				key = "switch_info"
				value, problem = text(e.value)
			default:
				continue
			}
			if errors.Is(problem, errUnknown) {
				continue
			}
			if problem != nil {
				c.problem("LLDP data of the interface %s: %v", f.name, problem)
				link = nil
				break
			}
			link[key] = value
		}
		if len(link) > 0 {
			mac := NormalMAC(f.mac)
			maps.Copy(link, c.Links[mac])
			c.Links[mac] = link
		}
	}
}

// parsedLLDP makes the LLDP data readable: parsed_lldp has by interface the values of the elements by Ironic's names.
// A malformed element is left out, also before 2024.1, when Ironic failed the inspection for a text that is not UTF-8.
func parsedLLDP(in Input, c *Changes) {
	interfaces, _ := in.Inventory["interfaces"].([]any)
	if len(interfaces) > maxInterfaces && in.Series >= states.Hibiscus {
		c.problem("the LLDP data of %d interfaces are left out: %d are parsed", len(interfaces)-maxInterfaces, maxInterfaces)
		in.Inventory = map[string]any{"interfaces": interfaces[:maxInterfaces]}
	}
	parsed := map[string]any{}
	for _, f := range frames(in, c, false) {
		v := values{}
		for _, e := range f.elements {
			if err := v.add(e); err != nil {
				c.problem("LLDP data of the interface %s, type %d: %v", f.name, e.kind, err)
			}
		}
		if len(v) > 0 {
			parsed[f.name] = map[string]any(v)
		}
	}
	if len(parsed) > 0 {
		c.Data["parsed_lldp"] = parsed
	}
}
