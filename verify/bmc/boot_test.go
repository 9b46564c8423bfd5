// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

func TestADriverSetsTheBootDeviceOverRedfish(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node-1": configOf(server)})
	device, persistent, err := d.BootDevice(t.Context(), "node-1")
	require.NoError(t, err)
	require.Empty(t, device, "nothing is overridden")
	require.False(t, persistent)

	for _, step := range []struct {
		device     string
		persistent bool
		want       string
	}{
		{"pxe", false, "Pxe Once UEFI"},
		{"pxe", true, "Pxe Continuous UEFI"},
		{"disk", true, "Hdd Continuous UEFI"},
		{"cdrom", false, "Cd Once UEFI"},
		{"bios", false, "BiosSetup Once UEFI"},
		{"uefihttp", true, "UefiHttp Continuous UEFI"},
	} {
		require.NoError(t, d.SetBootDevice(t.Context(), "node-1", step.device, step.persistent))
		require.Equal(t, step.want, server.Boot("1"))
		device, persistent, err := d.BootDevice(t.Context(), "node-1")
		require.NoError(t, err)
		require.Equal(t, step.device, device)
		require.Equal(t, step.persistent, persistent)
	}
	require.Equal(t, 1, server.Logins().Attempts, "all over one session")
}

func TestADriverSetsTheBootDeviceOverIPMI(t *testing.T) {
	server := startIPMI(t)
	config := ipmiConfigOf(server)
	config.CipherSuite = "3"
	legacy := config
	legacy.BootMode, legacy.KeepBootTimeout = "bios", true
	d := newDriver(t, 1, map[string]bmc.Config{"uefi": config, "legacy": legacy})
	for _, device := range []string{"pxe", "disk", "cdrom", "bios"} { // ipmi_sim has no safe mode
		for _, id := range []string{"uefi", "legacy"} {
			require.NoError(t, d.SetBootDevice(t.Context(), id, device, false))
			got, _, err := d.BootDevice(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, device, got)
		}
	}
	_, vendor, err := d.Vendor(t.Context(), "uefi")
	require.NoError(t, err)
	require.Regexp(t, `montavista|0x1291`, vendor, "the manufacturer of ipmi_sim has a name where ipmitool has a list of names")
}

func TestABootDeviceThatTheBMCLacksIsRefused(t *testing.T) {
	boot := func(change map[string]any) bmctest.Fault {
		has := map[string]any{"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}
		for name, value := range change {
			has[name] = value
		}
		return bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.Property("Boot", has)}
	}
	tests := []struct {
		name   string
		device string
		fault  bmctest.Fault
		kind   verify.Kind
		text   string
	}{
		{"no device", "tape", bmctest.Fault{}, verify.Unsupported, `there is no boot device "tape"`},
		{"IPMI's alone", "safe", bmctest.Fault{}, verify.Unsupported, `Redfish has no boot device "safe"`},
		{"no boot by HTTP", "uefihttp", boot(map[string]any{"BootSourceOverrideTarget@Redfish.AllowableValues": []string{"None", "Pxe"}}),
			verify.Unsupported, `the system has the boot targets ["None" "Pxe"] and not "UefiHttp"`},
		{"no such target", "pxe", boot(map[string]any{"BootSourceOverrideTarget@Redfish.AllowableValues": []string{"None", "Hdd"}}),
			verify.Unsupported, `the system has the boot targets ["None" "Hdd"] and not "Pxe"`},
		{"disabled only", "pxe", boot(map[string]any{"BootSourceOverrideEnabled@Redfish.AllowableValues": []string{"Disabled"}}),
			verify.Unsupported, `the system has boot overrides that are ["Disabled"] and not "Continuous"`},
		{"no override", "pxe", bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.WithoutProperty("Boot")},
			verify.Unsupported, "the system has no boot override"},
		{"a malformed one", "pxe", bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.Property("Boot", 7)},
			verify.Protocol, "the property Boot"},
		{"a refusal", "pxe", bmctest.Fault{On: systemPath, Method: http.MethodPatch, Do: bmctest.Status(400)}, verify.Protocol,
			"PATCH /redfish/v1/Systems/1: 400"},
		{"a refusal that tells the password", "pxe", bmctest.Fault{On: systemPath, Method: http.MethodPatch,
			Do: bmctest.Raw("HTTP/1.1 400 correct+horse/1\r\nContent-Length: 0\r\n\r\n")}, verify.Protocol, "***"},
		{"a refusal with the password in an argument", "pxe", bmctest.Fault{On: systemPath, Method: http.MethodPatch,
			Do: bmctest.Raw("HTTP/1.1 400 Bad\r\n\r\n" + `{"A@Message.ExtendedInfo": [{"MessageId": "X", "MessageArgs": ["correct+horse\/1"]}]}`)},
			verify.Protocol, "X ***"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := startRedfish(t)
			if test.fault.On != "" {
				server.AddFault(test.fault)
			}
			config := configOf(server)
			d := newDriver(t, 0, map[string]bmc.Config{"node": config})
			err := d.SetBootDevice(t.Context(), "node", test.device, true)
			require.ErrorIs(t, err, test.kind)
			require.ErrorContains(t, err, test.text)
			requireNoSecret(t, config, err)
			require.Equal(t, "None Disabled UEFI", server.Boot("1"))
			require.Empty(t, server.Sessions())
			require.LessOrEqual(t, patches(server), 2, "continuously, and then once")
		})
	}
}

func patches(server *bmctest.Redfish) int {
	n := 0
	for _, r := range server.Requests() {
		if r.Method == http.MethodPatch {
			n++
		}
	}
	return n
}

func TestABootOverrideThatDoesNotHoldNamesNoDevice(t *testing.T) {
	for enabled, want := range map[string]string{"Disabled": "", "Once": "pxe"} {
		server := startRedfish(t)
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property("Boot",
			map[string]any{"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideEnabled": enabled})})
		d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
		device, _, err := d.BootDevice(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, want, device)
	}
}

func TestABootOverrideInForcePrecedesTheSettingsObject(t *testing.T) {
	const settings = systemPath + "/Settings"
	for _, test := range []struct {
		enabled string // of the system's own
		then    string // BootSourceOverrideEnabled of the settings object
		want    string
	}{{"Once", `"Once"`, "pxe"}, {"Disabled", `"Once"`, "cdrom"}, {"Disabled", `"Disabled"`, ""}, {"Disabled", "7", ""}} {
		d, _ := vendorDriver(t,
			bmctest.Fault{On: systemPath, Do: changeObject("settings", func(o map[string]any) {
				o["Boot"] = map[string]any{"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideEnabled": test.enabled}
				o["@Redfish.Settings"] = map[string]any{"SettingsObject": map[string]any{"@odata.id": settings}}
			})},
			bmctest.Fault{On: settings,
				Do: bmctest.Body(`{"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": ` + test.then + `}}`)})
		device, _, err := d.BootDevice(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, test.want, device, test)
	}
}

func TestABootModeIsSetOverRedfishIfTheBMCReportsAnother(t *testing.T) {
	for _, test := range []struct {
		mode     string
		unsaid   bool // the BMC reports no boot mode
		from, to string
	}{
		{"", false, "UEFI", "UEFI"},
		{"uefi", false, "UEFI", "UEFI"},
		{"bios", false, "UEFI", "Legacy"},
		{"uefi", false, "Legacy", "UEFI"},
		{"", false, "Legacy", "Legacy"},
		{"bios", true, "UEFI", "UEFI"},
	} {
		server := startRedfish(t)
		config := configOf(server)
		config.BootMode = map[string]string{"UEFI": "uefi", "Legacy": "bios"}[test.from]
		require.NoError(t, newDriver(t, 0, map[string]bmc.Config{"node": config}).SetBootDevice(t.Context(), "node", "disk", true))
		require.Equal(t, "Hdd Continuous "+test.from, server.Boot("1"))
		if test.unsaid {
			server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: changeObject("no mode", func(o map[string]any) {
				delete(o["Boot"].(map[string]any), "BootSourceOverrideMode")
			})})
		}
		config.BootMode = test.mode
		require.NoError(t, newDriver(t, 0, map[string]bmc.Config{"node": config}).SetBootDevice(t.Context(), "node", "pxe", true))
		require.Equal(t, "Pxe Continuous "+test.to, server.Boot("1"))
	}
}

func TestHowLongABootOverrideHoldsIsSentWhereItChanges(t *testing.T) {
	const once = `{"Boot":{"BootSourceOverrideTarget":"Pxe","BootSourceOverrideEnabled":"Once"}}`
	for _, test := range []struct {
		manufacturer string
		persistent   bool
		want         string
	}{
		{"ironstate", false, `{"Boot":{"BootSourceOverrideTarget":"Pxe"}}`},
		{"ironstate", true, strings.ReplaceAll(once, "Once", "Continuous")},
		{"Supermicro", false, once},
	} {
		patched := ""
		front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch r.Method {
			case http.MethodGet:
				resource := resources["GET "+r.URL.Path]
				if r.URL.Path == systemPath {
					target, enabled := "Hdd", "Once"
					if patched != "" {
						target = "Pxe"
					}
					if strings.Contains(patched, "Continuous") {
						enabled = "Continuous"
					}
					resource = fmt.Sprintf(`{"Manufacturer": %q, "Boot": {"BootSourceOverrideTarget": %q, "BootSourceOverrideEnabled": %q}}`,
						test.manufacturer, target, enabled)
				}
				_, _ = io.WriteString(w, resource)
			case http.MethodPatch:
				body, _ := io.ReadAll(r.Body)
				patched = string(body)
			default:
				t.Errorf("%s %s", r.Method, r.URL)
			}
		}))
		front.StartTLS()
		config := configOfServer(front)
		config.SystemID, config.Auth = "1", "basic"
		d := newDriver(t, 0, map[string]bmc.Config{"node": config})
		require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", test.persistent))
		front.Close()
		require.JSONEq(t, test.want, patched)
	}
}

func TestAChangeIsNotRepeatedWithoutTimeForIt(t *testing.T) {
	bmc.LengthenPause(t)
	var seen refusing
	server := startRedfish(t)
	busy := seen.effect(func(*http.Request, string) (int, string) { return 400, "SYS518" })
	server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodPatch, Do: busy})
	config := configOf(server)
	d := newDriver(t, 0, map[string]bmc.Config{"node": config}) // its timeout is less than the time until a repetition
	require.ErrorIs(t, d.SetBootDevice(t.Context(), "node", "pxe", false), verify.Protocol)
	require.Len(t, seen.bodies, 1)
}

func TestAWrongPasswordCostsABootDeviceOneLogin(t *testing.T) {
	server := startRedfish(t)
	config := configOf(server)
	config.Password = secret.New(wrong)
	d := newDriver(t, 1, map[string]bmc.Config{"node": config})
	err := d.SetBootDevice(t.Context(), "node", "pxe", false)
	require.ErrorIs(t, err, verify.Credentials)
	requireNoSecret(t, config, err)
	require.Equal(t, bmctest.Logins{Attempts: 1, Failed: 1}, server.Logins())
}

func TestTheBootModeIsReadAndSet(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	for _, mode := range []string{"bios", "uefi", "uefi"} {
		require.NoError(t, d.SetBootMode(t.Context(), "node", mode))
		got, err := d.BootMode(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, mode, got)
	}
	patches := 0
	for _, asked := range server.Requests() {
		if asked.Method == "PATCH" {
			patches++
		}
	}
	require.Equal(t, 2, patches, "the mode that the system has is not sent")
	require.ErrorIs(t, d.SetBootMode(t.Context(), "node", "coreboot"), verify.Misconfigured)

	boot := func(boot map[string]any) {
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property("Boot", boot)})
	}
	boot(map[string]any{"BootSourceOverrideMode": "UEFI", "BootSourceOverrideMode@Redfish.AllowableValues": []string{"UEFI"}})
	require.ErrorIs(t, d.SetBootMode(t.Context(), "node", "bios"), verify.Unsupported)
	require.NoError(t, server.ClearFaults())
	boot(map[string]any{"BootSourceOverrideMode": "UEFI"})
	require.NoError(t, d.SetBootMode(t.Context(), "node", "bios"), "the BMC does not say which modes it has")
	require.Equal(t, "None Disabled Legacy", server.Boot("1"))
	require.NoError(t, server.ClearFaults())
	boot(map[string]any{"BootSourceOverrideTarget": "Pxe"})
	require.ErrorIs(t, d.SetBootMode(t.Context(), "node", "bios"), verify.Unsupported)
	got, err := d.BootMode(t.Context(), "node")
	require.NoError(t, err)
	require.Empty(t, got)
}
