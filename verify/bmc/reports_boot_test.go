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

func TestASupermicroBootsItsMediaFromUsbCd(t *testing.T) {
	for _, test := range []struct {
		manufacturer, model string
		targets             []string
		want                string
	}{
		{"Supermicro", "SYS-821GE-TNHR", []string{"Pxe", "Cd", "UsbCd"}, "UsbCd Once UEFI"},
		{"Supermicro", "SYS-821GE-TNHR", []string{"Pxe", "UsbCd"}, "UsbCd Once UEFI"},
		{"SUPERMICRO", "", []string{"Pxe", "UsbCd", "Cd"}, "UsbCd Once UEFI"},
		{"Supermicro", "ARS-111GL-NHR", []string{"Pxe", "Cd", "UsbCd"}, "Cd Once UEFI"},
		{"Supermicro", "SYS-821GE-TNHR", []string{"Pxe", "Cd"}, "Cd Once UEFI"},
		{"Contoso", "ARS-111GL-NHR", []string{"Pxe", "UsbCd"}, "UsbCd Once UEFI"},
		{"Contoso", "", []string{"Pxe", "UsbCd", "Cd"}, "Cd Once UEFI"},
	} {
		d, server := profileDriver(t, bmctest.Profile{Manufacturer: test.manufacturer, Vendor: "Supermicro", BootTargets: test.targets},
			bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.Property("Model", test.model)})
		require.NoError(t, d.SetBootDevice(t.Context(), "node", "cdrom", false))
		require.Equal(t, test.want, server.Boot("1"), "%+v", test)
	}
}

// A Supermicro sets its default boot mode if a change of the boot device has none. An X10 reports no boot mode and
// refuses a change with one.
func TestASupermicroKeepsItsBootModeBesideABootDevice(t *testing.T) {
	for _, test := range []struct {
		mode string // of the Config
		want string
	}{{"", "UEFI"}, {"uefi", "UEFI"}, {"bios", "Legacy"}} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile = bmctest.Supermicro() })
		config := configOf(server)
		config.BootMode = test.mode
		d := newDriver(t, 1, map[string]bmc.Config{"node": config})
		for _, device := range []string{"pxe", "disk"} {
			require.NoError(t, d.SetBootDevice(t.Context(), "node", device, false))
			require.Equal(t, test.want, strings.Fields(server.Boot("1"))[2])
		}
	}
	p := bmctest.Supermicro()
	p.Without = append(p.Without, "BootSourceOverrideMode")
	var seen refusing
	d, _ := profileDriver(t, p, bmctest.Fault{On: systemPath, Method: http.MethodPatch,
		Do: seen.effect(func(*http.Request, string) (int, string) { return 0, "" })})
	require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", false))
	require.Equal(t, []string{`{"Boot":{"BootSourceOverrideTarget":"Pxe","BootSourceOverrideEnabled":"Once"}}`}, seen.bodies)
}

// The machine would boot from the address that a BMC still has of an earlier boot.
func TestABootByHTTPRemovesTheAddressOfAnEarlierOne(t *testing.T) {
	const removed = `{"Boot":{"BootSourceOverrideTarget":"UefiHttp","BootSourceOverrideEnabled":"Once","HttpBootUri":null}}`
	const kept = `{"Boot":{"BootSourceOverrideTarget":"UefiHttp","BootSourceOverrideEnabled":"Once"}}`
	for _, test := range []struct {
		uri  any
		want string
	}{{"http://boot.example/old.efi", removed}, {nil, kept}, {"", kept}} {
		var seen refusing
		d, _ := vendorDriver(t,
			bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: changeObject("address", func(o map[string]any) {
				o["Boot"].(map[string]any)["HttpBootUri"] = test.uri
			})},
			bmctest.Fault{On: systemPath, Method: http.MethodPatch,
				Do: seen.effect(func(*http.Request, string) (int, string) { return 0, "" })})
		require.NoError(t, d.SetBootDevice(t.Context(), "node", "uefihttp", false))
		require.NoError(t, d.SetBootDevice(t.Context(), "node", "disk", false))
		require.Equal(t, []string{test.want, strings.ReplaceAll(kept, "UefiHttp", "Hdd")}, seen.bodies)
	}
}

// A change with the ETag as it is, without W/, and without a condition, until one is accepted.
func TestEachKindOfChangeHasTheConditionsThatTheBMCWants(t *testing.T) {
	changes := map[string]func(*testing.T, *bmc.Driver, *bmctest.Redfish) error{
		"boot device": func(t *testing.T, d *bmc.Driver, _ *bmctest.Redfish) error {
			return d.SetBootDevice(t.Context(), "node", "pxe", true)
		},
		"boot mode": func(t *testing.T, d *bmc.Driver, _ *bmctest.Redfish) error {
			return d.SetBootMode(t.Context(), "node", "bios")
		},
		"secure boot": func(t *testing.T, d *bmc.Driver, _ *bmctest.Redfish) error {
			return d.SetSecureBoot(t.Context(), "node", true)
		},
		"BIOS": func(t *testing.T, d *bmc.Driver, server *bmctest.Redfish) error {
			for name, value := range server.BIOS("1") {
				if text, ok := value.(string); ok && text == "Enabled" {
					_, err := d.SetBIOS(t.Context(), "node", map[string]any{name: "Disabled"})
					return err
				}
			}
			return http.ErrNotSupported
		},
	}
	for name, change := range changes {
		for i, tags := range []bmctest.Effect{{}, bmctest.WeakenedETag(), bmctest.WrongETag(`W/"7"`)} {
			d, server := vendorDriver(t, bmctest.Fault{Method: http.MethodGet, Do: tags})
			require.NoError(t, change(t, d, server), "%s %v", name, tags)
			require.Equal(t, i+1, patches(server), "%s %v", name, tags)
		}
	}
}

func TestABootOverrideIsSentWholeWhereTheBMCAsksForIt(t *testing.T) {
	for _, manufacturer := range []string{"ASRockRack", "ASRock Rack", "AMI", "American Megatrends", "Contoso", "GIGABYTE"} {
		p := bmctest.Profile{Manufacturer: manufacturer, Refusals: []bmctest.Effect{bmctest.WholeBoot()}}
		if manufacturer == "GIGABYTE" { // its firmware is AMI's
			p.Vendor = "AMI"
		}
		d, server := profileDriver(t, p)
		require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", false), manufacturer)
		require.Equal(t, "Pxe Once UEFI", server.Boot("1"), manufacturer)
		kept, err := d.KeepBootDevice(t.Context(), "node", "disk")
		require.NoError(t, err, manufacturer)
		require.True(t, kept, manufacturer)
		require.Equal(t, "Hdd Continuous UEFI", server.Boot("1"), manufacturer)
		require.NoError(t, d.SetBootMode(t.Context(), "node", "bios"), manufacturer)
		require.Equal(t, "Hdd Continuous Legacy", server.Boot("1"), manufacturer)
		if manufacturer != "Contoso" {
			require.Equal(t, 3, patches(server), "%s is known to", manufacturer)
		}
	}
}

func TestABMCWithoutContinuousBootsOnce(t *testing.T) {
	for name, p := range map[string]bmctest.Profile{
		"it lists them":  {BootEnabled: []string{"Once", "Disabled"}},
		"it refuses":     {Refusals: []bmctest.Effect{bmctest.RefuseContinuous()}},
		"and wants all":  {Refusals: []bmctest.Effect{bmctest.WholeBoot(), bmctest.RefuseContinuous()}},
		"and is of AMI":  {Manufacturer: "AMI", Refusals: []bmctest.Effect{bmctest.WholeBoot(), bmctest.RefuseContinuous()}},
		"in its setting": {Settings: "SD", BootInSettings: true, Refusals: []bmctest.Effect{bmctest.RefuseContinuous()}},
	} {
		d, server := profileDriver(t, p)
		kept, err := d.KeepBootDevice(t.Context(), "node", "disk")
		require.NoError(t, err, name)
		require.False(t, kept, name)
		require.Equal(t, "Hdd Once UEFI", server.Boot("1"), name)
	}
	d, _ := profileDriver(t, bmctest.Profile{Refusals: []bmctest.Effect{bmctest.RefuseContinuous()}},
		bmctest.Fault{Method: http.MethodPatch, Skip: 1, Do: bmctest.Status(http.StatusBadRequest)})
	_, err := d.KeepBootDevice(t.Context(), "node", "disk")
	require.ErrorIs(t, err, verify.Protocol)
	require.True(t, strings.Contains(err.Error(), "400"), err)
}
