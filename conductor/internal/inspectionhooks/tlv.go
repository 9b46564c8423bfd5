// SPDX-License-Identifier: Apache-2.0

package inspectionhooks

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	errLength  = errors.New("the value has the wrong length")
	errText    = errors.New("the text is not UTF-8")
	errUnknown = errors.New("the kind of the value is not known")
)

// values are the values of the elements of a frame, by Ironic's names. The first value of a name stays.
//
// Source: ironic/drivers/modules/inspector/lldp_parsers.py and lldp_tlvs.py beside it.
type values map[string]any

func (v values) set(name string, value any) {
	if _, has := v[name]; !has {
		v[name] = value
	}
}

func (v values) append(name string, value any) {
	list, _ := v[name].([]any)
	v[name] = append(list, value)
}

// add adds the values of an element. It ignores elements of other types.
func (v values) add(e tlv) error {
	single := map[int]struct {
		name string
		read func([]byte) (string, error)
	}{
		tlvChassisID: {"switch_chassis_id", chassisID}, tlvPortID: {"switch_port_id", portID},
		tlvPortDescription: {"switch_port_description", text}, tlvSystemName: {"switch_system_name", text},
		tlvSystemDescription: {"switch_system_description", text},
	}
	if one, is := single[e.kind]; is {
		value, err := one.read(e.value)
		if err == nil {
			v.set(one.name, value)
		}
		return err
	}
	switch e.kind {
	case tlvCapabilities:
		if len(e.value) != 4 {
			return errLength
		}
		v.set("switch_capabilities_support", capabilities(e.value))
		v.set("switch_capabilities_enabled", capabilities(e.value[2:]))
	case tlvManagementAddress:
		if len(e.value) < 2 {
			return errLength
		}
		value, err := address(e.value[1:]) // behind the length of the address
		if errors.Is(err, errUnknown) {
			return nil
		}
		if err != nil {
			return err
		}
		v.append("switch_mgmt_addresses", value)
	case tlvOrganization:
		if len(e.value) < 4 {
			return errLength
		}
		return v.organization(hex.EncodeToString(e.value[:3]), e.value[3], e.value[4:])
	}
	return nil
}

// organization adds the values of an element that IEEE 802.1Q or 802.3 defines.
func (v values) organization(oui string, subtype byte, b []byte) error {
	const dot1, dot3 = "0080c2", "00120f"
	name := ""
	switch oui + fmt.Sprint(subtype) {
	case dot1 + "1":
		name = "switch_port_untagged_vlan_id"
	case dot1 + "6":
		name = "switch_port_management_vlan_id"
	case dot3 + "4":
		name = "switch_port_mtu"
	case dot1 + "2": // VLANs of a protocol
		if len(b) != 3 {
			return errLength
		}
		v.set("switch_port_protocol_vlan_enabled", b[0]&4 != 0)
		v.set("switch_port_protocol_vlan_support", b[0]&2 != 0)
		v.append("switch_port_protocol_vlan_ids", number(binary.BigEndian.Uint16(b[1:])))
		return nil
	case dot1 + "3": // the name of a VLAN
		if len(b) < 3 || len(b) < 3+int(b[2]) {
			return errLength
		}
		vlan, err := text(b[3 : 3+int(b[2])])
		if err != nil {
			return err
		}
		v.append("switch_port_vlans", map[string]any{"id": number(binary.BigEndian.Uint16(b)), "name": strings.TrimRight(vlan, "\x00")})
		return nil
	case dot1 + "4": // a protocol
		if len(b) < 1 || len(b) < 1+int(b[0]) {
			return errLength
		}
		v.append("switch_protocol_identities", hex.EncodeToString(b[1:1+int(b[0])]))
		return nil
	case dot1 + "7", dot3 + "3": // link aggregation
		if len(b) != 5 {
			return errLength
		}
		v.set("switch_port_link_aggregation_enabled", b[0]&2 != 0)
		v.set("switch_port_link_aggregation_support", b[0]&1 != 0)
		v.set("switch_port_link_aggregation_id", number(binary.BigEndian.Uint32(b[1:])))
		return nil
	case dot3 + "1":
		return v.physical(b)
	default:
		return nil
	}
	if len(b) < 2 {
		return errLength
	}
	v.set(name, number(binary.BigEndian.Uint16(b)))
	return nil
}

// physical adds what a port negotiates and has negotiated.
func (v values) physical(b []byte) error {
	if len(b) != 5 {
		return errLength
	}
	kind := int(binary.BigEndian.Uint16(b[3:]))
	if kind >= len(mauTypes) {
		return errUnknown
	}
	can := []any{}
	for k, name := range negotiable {
		if binary.BigEndian.Uint16(b[1:])&(1<<(14-k)) != 0 {
			can = append(can, name)
		}
	}
	slices.SortFunc(can, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	v.set("switch_port_autonegotiation_enabled", b[0]&2 != 0)
	v.set("switch_port_autonegotiation_support", b[0]&1 != 0)
	v.set("switch_port_physical_capabilities", can)
	v.set("switch_port_mau_type", mauTypes[kind])
	return nil
}

// capabilities returns the names of the bits of a system's capabilities, of which the lowest says that it has others.
func capabilities(b []byte) []any {
	names := []any{}
	for k, name := range []string{
		"Repeater", "Bridge", "WLAN", "Router", "Telephone", "DOCSIS cable device", "Station only", "C-Vlan", "S-Vlan", "TPMR",
	} {
		if binary.BigEndian.Uint16(b)&(2<<k) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// chassisMAC is the kind of a chassis' identifier that is a MAC address.
const chassisMAC = 4

// chassisID returns the identifier of a switch.
func chassisID(b []byte) (string, error) { return identifier(b, chassisMAC, 5, 7) }

// portID returns the identifier of a port of a switch.
func portID(b []byte) (string, error) { return identifier(b, 3, 4, 7) }

// identifier returns an identifier whose first byte is its kind: a MAC address, a network address, or a text. The
// kinds go up to last; a port's have no 6.
func identifier(b []byte, mac, network, last byte) (string, error) {
	switch {
	case len(b) == 0:
		return "", errLength
	case b[0] == mac && len(b) < 7:
		return "", errLength
	case b[0] == mac:
		return net.HardwareAddr(b[1:7]).String(), nil
	case b[0] == network:
		return address(b[1:])
	case b[0] == 0 || b[0] > last || b[0] == 6 && mac == 3:
		return "", errUnknown
	default:
		return text(b[1:])
	}
}

// address returns an address, whose first byte is its family by IANA.
func address(b []byte) (string, error) {
	if len(b) == 0 {
		return "", errLength
	}
	size, is := map[byte]int{1: 4, 2: 16, 6: 6}[b[0]]
	switch {
	case !is:
		return "", errUnknown
	case len(b) < 1+size:
		return "", errLength
	case size == 6:
		return net.HardwareAddr(b[1:7]).String(), nil
	}
	a, _ := netip.AddrFromSlice(b[1 : 1+size])
	return a.String(), nil
}

// text returns a text.
func text(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", errText
	}
	return string(b), nil
}

// negotiable are the capabilities of a port that negotiates, from the second bit on. Ironic takes the bit of 10BASE-T
// hdx for 10BASE-T fdx.
//
// Source: IANAifMauAutoNegCapBits of RFC 4836.
var negotiable = []string{
	"10BASE-T hdx", "10BASE-T fdx", "10BASE-T4", "100BASE-TX hdx", "100BASE-TX fdx", "100BASE-T2 hdx", "100BASE-T2 fdx",
	"PAUSE fdx", "Asym PAUSE fdx", "Sym PAUSE fdx", "Asym and Sym PAUSE fdx", "1000BASE-X hdx", "1000BASE-X fdx",
	"1000BASE-T hdx", "1000BASE-T fdx",
}

// mauTypes are the names of the operational types of a port, by number.
//
// Source: IANAifMauTypeListBits of RFC 4836, in Ironic's words.
var mauTypes = []string{
	"Unknown", "AUI", "10BASE-5", "FOIRL", "10BASE-2", "10BASE-T duplex mode unknown", "10BASE-FP", "10BASE-FB",
	"10BASE-FL duplex mode unknown", "10BROAD36", "10BASE-T half duplex", "10BASE-T full duplex", "10BASE-FL half duplex",
	"10BASE-FL full duplex", "100 BASE-T4", "100BASE-TX half duplex", "100BASE-TX full duplex", "100BASE-FX half duplex",
	"100BASE-FX full duplex", "100BASE-T2 half duplex", "100BASE-T2 full duplex", "1000BASE-X half duplex",
	"1000BASE-X full duplex", "1000BASE-LX half duplex", "1000BASE-LX full duplex", "1000BASE-SX half duplex",
	"1000BASE-SX full duplex", "1000BASE-CX half duplex", "1000BASE-CX full duplex", "1000BASE-T half duplex",
	"1000BASE-T full duplex", "10GBASE-X", "10GBASE-LX4", "10GBASE-R", "10GBASE-ER", "10GBASE-LR", "10GBASE-SR", "10GBASE-W",
	"10GBASE-EW", "10GBASE-LW", "10GBASE-SW", "10GBASE-CX4", "2BASE-TL", "10PASS-TS", "100BASE-BX10D", "100BASE-BX10U",
	"100BASE-LX10", "1000BASE-BX10D", "1000BASE-BX10U", "1000BASE-LX10", "1000BASE-PX10D", "1000BASE-PX10U",
	"1000BASE-PX20D", "1000BASE-PX20U",
}
