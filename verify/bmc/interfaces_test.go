// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestMACAddressesComeFromEnabledInterfaces(t *testing.T) {
	server := startRedfish(t, withMACs)
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	got, err := d.MACAddresses(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []string{"52:54:00:aa:bb:01", "52:54:00:aa:bb:02"}, got)

	server.AddFault(bmctest.Fault{On: systemPath + "/EthernetInterfaces/NIC2", Times: 1, Do: bmctest.Status(http.StatusUnauthorized)})
	got, err = d.MACAddresses(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []string{"52:54:00:aa:bb:01", "52:54:00:aa:bb:02"}, got, "the session has ended between the two")

	server.AddFault(bmctest.Fault{
		On: systemPath + "/EthernetInterfaces/NIC1", Do: bmctest.Property("Status", map[string]any{"State": "Disabled"}),
	})
	got, err = d.MACAddresses(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []string{"52:54:00:aa:bb:02"}, got)

	server.AddFault(bmctest.Fault{On: systemPath + "/EthernetInterfaces", Do: bmctest.Status(http.StatusInternalServerError)})
	_, err = d.MACAddresses(t.Context(), "node")
	require.ErrorIs(t, err, verify.Protocol)
}

func TestAnAddressOfZeroesIsNone(t *testing.T) {
	const zeroes, nic = "00:00:00:00:00:00", systemPath + "/EthernetInterfaces/NIC1"
	server := startRedfish(t, withMACs)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	for property, want := range map[string]string{"PermanentMACAddress": "52:54:00:aa:bb:09", "MACAddress": "52:54:00:aa:bb:08"} {
		require.NoError(t, server.ClearFaults())
		all := map[string]any{"Id": "NIC1", "MACAddress": zeroes, "PermanentMACAddress": zeroes}
		server.AddFault(serving(t, nic, all))
		got, err := d.MACAddresses(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, []string{"52:54:00:aa:bb:02"}, got)

		require.NoError(t, server.ClearFaults())
		all[property] = strings.ToUpper(want)
		server.AddFault(serving(t, nic, all))
		got, err = d.MACAddresses(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, []string{want, "52:54:00:aa:bb:02"}, got)
	}
}

// Lenovo's BMCs have the addresses of some adapters at their ports alone.
func TestTheAddressesOfPortsAreReadIfThereAreNoInterfaces(t *testing.T) {
	const nic, ports = adaptersPath + "/NIC.1", adaptersPath + "/NIC.1/Ports"
	port := func(id, state string, addresses ...string) bmctest.Fault {
		return serving(t, ports+"/"+id, map[string]any{"Id": id, "Status": map[string]any{"State": state},
			"Ethernet": map[string]any{"AssociatedMACAddresses": addresses}})
	}
	faults := append(withAdapters(t, linkTo(nic), linkTo(adaptersPath+"/unreadable")),
		bmctest.Fault{On: systemPath + "/EthernetInterfaces", Do: bmctest.Property("Members", []any{})},
		serving(t, nic, map[string]any{"Id": "NIC.1", "Ports": linkTo(ports)}),
		serving(t, ports, map[string]any{"Members": []any{linkTo(ports + "/1"), linkTo(ports + "/2"), linkTo(ports + "/3")}}),
		port("1", "Enabled", "52:54:00:AA:BB:11", "00:00:00:00:00:00"), port("2", "Disabled", "52:54:00:aa:bb:12"),
		port("3", "", "52:54:00:aa:bb:13"))
	d, server := vendorDriver(t, faults...)
	got, err := d.MACAddresses(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []string{"52:54:00:aa:bb:11", "52:54:00:aa:bb:13"}, got)
	inventory, err := d.Inspect(t.Context(), "node")
	require.NoError(t, err)
	require.Len(t, inventory.Interfaces, 3)
	require.Equal(t, bmc.Interface{MACAddress: "52:54:00:aa:bb:11", Name: "NIC.1/1", Enabled: true}, inventory.Interfaces[0])

	require.NoError(t, server.ClearFaults())
	for _, fault := range append(faults[:2:2], faults[3:]...) {
		server.AddFault(fault)
	}
	server.AddFault(bmctest.Fault{On: systemPath + "/EthernetInterfaces", Do: bmctest.Status(http.StatusInternalServerError)})
	_, err = d.MACAddresses(t.Context(), "node")
	require.ErrorIs(t, err, verify.Protocol, "interfaces that cannot be read are not none")
}

func TestAnAddressOfAPortMayBeInLenovosProperties(t *testing.T) {
	const nic, ports = adaptersPath + "/NIC.1", adaptersPath + "/NIC.1/Ports"
	oem := func(value any) map[string]any {
		return map[string]any{"Id": "1", "Oem": map[string]any{"Lenovo": map[string]any{"PhysicalPortMacAddress": value}}}
	}
	both, empty, none := oem("52:54:00:aa:bb:21"), oem("52:54:00:aa:bb:21"), []string(nil)
	both["Ethernet"] = map[string]any{"AssociatedMACAddresses": []string{"52:54:00:aa:bb:22"}}
	empty["Ethernet"] = map[string]any{"AssociatedMACAddresses": []string{}}
	for name, test := range map[string]struct {
		port map[string]any
		want []string
	}{
		"alone":           {oem("52:54:00:AA:BB:21"), []string{"52:54:00:aa:bb:21"}},
		"an empty list":   {empty, []string{"52:54:00:aa:bb:21"}},
		"Redfish's first": {both, []string{"52:54:00:aa:bb:22"}},
		"another type":    {oem(7), none}, "null": {oem(nil), none},
		"of another maker": {map[string]any{"Id": "1", "Oem": map[string]any{"Contoso": "52:54:00:aa:bb:21"}}, none},
	} {
		d, _ := vendorDriver(t, append(withAdapters(t, linkTo(nic)),
			bmctest.Fault{On: systemPath + "/EthernetInterfaces", Do: bmctest.Property("Members", []any{})},
			serving(t, nic, map[string]any{"Id": "NIC.1", "Ports": linkTo(ports)}),
			serving(t, ports, map[string]any{"Members": []any{linkTo(ports + "/1")}}), serving(t, ports+"/1", test.port))...)
		got, err := d.MACAddresses(t.Context(), "node")
		require.NoError(t, err, name)
		require.Equal(t, test.want, got, name)
	}
}
