// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const adaptersPath = "/redfish/v1/Chassis/1/NetworkAdapters"

func linkTo(path string) map[string]any { return map[string]any{"@odata.id": path} }

// serving makes a BMC serve a resource that it does not have.
func serving(t *testing.T, path string, resource any) bmctest.Fault {
	t.Helper()
	text, err := json.Marshal(resource)
	require.NoError(t, err)
	return bmctest.Fault{On: path, Do: bmctest.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	})}
}

// withAdapters makes the chassis of a BMC link network adapters with the given members.
func withAdapters(t *testing.T, members ...any) []bmctest.Fault {
	return []bmctest.Fault{
		{On: "/redfish/v1/Chassis/1", Do: bmctest.Property("NetworkAdapters", linkTo(adaptersPath))},
		serving(t, adaptersPath, map[string]any{"Members": members}),
	}
}

func TestTheNeighborsAreAsIronicWritesThem(t *testing.T) {
	const nic = adaptersPath + "/NIC.1"
	const ports = nic + "/Ports"
	received := map[string]any{
		"ChassisId": "c4:7e:e0:e4:55:3f", "ChassisIdSubtype": "MacAddr", "PortId": "Ethernet1/2", "SystemName": "leaf-1",
		"SystemDescription": "a switch", "SystemCapabilities": []any{"Bridge"}, "ManagementAddressIPv4": "192.0.2.1", "ManagementVlanId": 100,
	}
	port := func(id string, lldp any) bmctest.Fault {
		return serving(t, ports+"/"+id, map[string]any{"Id": id, "Ethernet": map[string]any{"LLDPReceive": lldp}})
	}
	const all = `{"switch_chassis_id": "c4:7e:e0:e4:55:3f", "switch_port_id": "Ethernet1/2", "switch_system_name": "leaf-1",
		"switch_system_description": "a switch", "switch_vlan_id": 100}`
	for name, c := range map[string]struct {
		faults []bmctest.Fault
		ids    []string // of the ports
		want   string
		kind   error // nil if it is no error
	}{
		"all":      {[]bmctest.Fault{port("1", received)}, []string{"1"}, `{"1": ` + all + `}`, nil},
		"a part":   {[]bmctest.Fault{port("1", map[string]any{"PortId": "7"})}, []string{"1"}, `{"1": {"switch_port_id": "7"}}`, nil},
		"nothing":  {[]bmctest.Fault{port("1", map[string]any{})}, []string{"1"}, `{}`, nil},
		"null":     {[]bmctest.Fault{port("1", nil)}, []string{"1"}, `{}`, nil},
		"no ID":    {[]bmctest.Fault{port("", received)}, []string{""}, `{}`, nil},
		"no ports": {nil, nil, `{}`, nil},
		"a port of another type": {
			[]bmctest.Fault{serving(t, ports+"/1", map[string]any{"Id": "1", "Ethernet": 7})}, []string{"1"}, `{}`, nil,
		},
		"a text for a number": {
			[]bmctest.Fault{port("1", map[string]any{"ManagementVlanId": "x", "PortId": "7"})}, []string{"1"},
			`{"1": {"switch_port_id": "7"}}`, nil,
		},
		"one port cannot be read": {
			[]bmctest.Fault{port("2", received)}, []string{"1", "2"}, `{"2": ` + all + `}`, verify.Unsupported,
		},
	} {
		members := []any{}
		for _, id := range c.ids {
			members = append(members, linkTo(ports+"/"+id))
		}
		faults := append(withAdapters(t, linkTo(nic)), serving(t, nic, map[string]any{"Id": "NIC.1", "Ports": linkTo(ports)}),
			serving(t, ports, map[string]any{"Members": members}))
		d, _ := vendorDriver(t, append(faults, c.faults...)...)
		got, err := d.Neighbors(t.Context(), "node")
		if c.kind == nil {
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, c.kind, name)
		}
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(text), name)
	}
}

func TestABMCWithoutNetworkAdaptersHasNoNeighbors(t *testing.T) {
	for name, faults := range map[string][]bmctest.Fault{
		"no chassis":               {{On: systemPath, Do: bmctest.Property("Links", map[string]any{})}},
		"a chassis without":        nil,
		"a link to none":           {{On: "/redfish/v1/Chassis/1", Do: bmctest.Property("NetworkAdapters", linkTo(adaptersPath))}},
		"an empty collection":      withAdapters(t),
		"an adapter without ports": append(withAdapters(t, linkTo(adaptersPath+"/1")), serving(t, adaptersPath+"/1", map[string]any{"Id": "1"})),
	} {
		d, _ := vendorDriver(t, faults...)
		got, err := d.Neighbors(t.Context(), "node")
		require.NoError(t, err, name)
		require.Equal(t, map[string]bmc.Neighbor{}, got, name)
	}
}
