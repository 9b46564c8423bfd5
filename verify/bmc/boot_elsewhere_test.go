// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// A BMC takes the boot override in the system or in its settings object, and not always where it shows it: an iDRAC 10,
// and firmware of AMI.
func TestABootOverrideThatIsReadOnlyIsSetInTheOtherResource(t *testing.T) {
	const (
		settings = systemPath + "/SD"
		readOnly = "Base.1.12.PropertyNotWritable"
		future   = `{"error": {"@Message.ExtendedInfo": [{"MessageId": "Ami.1.0.OperationSupportedInFutureStateURI"}]}}`
	)
	refuse := func(path string, status int, message string) bmctest.Fault {
		do := new(refusing).effect(func(*http.Request, string) (int, string) { return status, message })
		return bmctest.Fault{On: path, Method: http.MethodPatch, Do: do}
	}
	unlinked := bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.WithoutProperty("@Redfish.Settings")}
	idle := bmctest.Fault{On: settings, Method: http.MethodGet, Do: bmctest.WithoutProperty("Boot")}
	unread := bmctest.Fault{On: settings, Do: bmctest.Status(http.StatusInternalServerError)}
	shown := bmctest.Fault{On: settings, Method: http.MethodGet, Do: bmctest.Property("Boot",
		map[string]any{"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Once", "BootSourceOverrideMode": "UEFI"})}
	none, inSystem, inSettings := bmctest.Profile{}, bmctest.Profile{Settings: "SD"}, bmctest.Profile{Settings: "SD", BootInSettings: true}
	for name, test := range map[string]struct {
		profile bmctest.Profile
		faults  []bmctest.Fault
		paths   []string // of the requests
		ok      bool
	}{
		"an iDRAC":             {inSettings, []bmctest.Fault{idle, refuse(systemPath, 400, readOnly)}, []string{systemPath, settings}, true},
		"a method":             {inSettings, []bmctest.Fault{idle}, []string{systemPath, settings}, true},
		"AMI, without a link":  {inSettings, []bmctest.Fault{unlinked, refuse(systemPath, 400, future)}, []string{systemPath, settings}, true},
		"the settings refuse":  {inSystem, []bmctest.Fault{shown, refuse(settings, 400, readOnly)}, []string{settings, systemPath}, true},
		"there is no other":    {none, []bmctest.Fault{refuse(systemPath, 405, "a")}, []string{systemPath}, false},
		"another refusal":      {inSettings, []bmctest.Fault{idle, refuse(systemPath, 400, "other")}, []string{systemPath}, false},
		"an unreadable object": {inSettings, []bmctest.Fault{unread, refuse(systemPath, 400, readOnly)}, []string{systemPath}, false},
		"neither takes it": {inSystem, []bmctest.Fault{shown, refuse(settings, 405, "a"), refuse(systemPath, 400, "b")},
			[]string{settings, systemPath}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, server := profileDriver(t, test.profile, test.faults...)
			err := d.SetBootDevice(t.Context(), "node", "pxe", false)
			var paths []string
			for _, asked := range server.Requests() {
				if asked.Method == http.MethodPatch {
					paths = append(paths, asked.Path)
				}
			}
			require.Equal(t, test.paths, paths)
			if !test.ok {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "Pxe Once UEFI", server.Boot("1"))
		})
	}
}

// The outcome of a request that was lost is unknown, and refused credentials are reported as such.
func TestTheErrorOfABootOverrideTellsWhyTheOtherResourceHasNotTakenIt(t *testing.T) {
	const settings = systemPath + "/SD"
	idle := bmctest.Fault{On: settings, Method: http.MethodGet, Do: bmctest.WithoutProperty("Boot")}
	for name, test := range map[string]struct {
		do   bmctest.Effect
		kind verify.Kind
		both bool // the error tells of both requests
	}{
		"lost":        {bmctest.CloseAfter(0), verify.Protocol, false},
		"refused":     {bmctest.Status(401), verify.Credentials, false},
		"unavailable": {bmctest.Status(503), verify.Unreachable, true},
		"invalid":     {bmctest.Status(400), verify.Protocol, true},
		"read-only":   {bmctest.Status(405), verify.Unsupported, true},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := profileDriver(t, bmctest.Profile{Settings: "SD", BootInSettings: true}, idle,
				bmctest.Fault{On: settings, Method: http.MethodPatch, Do: test.do})
			err := d.SetBootDevice(t.Context(), "node", "pxe", false)
			require.ErrorIs(t, err, test.kind)
			require.ErrorContains(t, err, "PATCH "+settings+": ")
			require.Equal(t, test.both, strings.Contains(err.Error(), "PATCH "+systemPath+": 405 Method Not Allowed"), err)
		})
	}
	idle.Times = 1 // and then it has no answer
	d, _ := profileDriver(t, bmctest.Profile{Settings: "SD", BootInSettings: true}, idle,
		bmctest.Fault{On: settings, Method: http.MethodGet, Do: bmctest.CloseAfter(0)})
	require.ErrorContains(t, d.SetBootDevice(t.Context(), "node", "pxe", false), "GET "+settings+": ")
}

// A session that the BMC ends exactly at the other resource does not leave the device unset.
func TestASessionThatEndsAtTheOtherResourceIsOpenedAgain(t *testing.T) {
	const settings = systemPath + "/SD"
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		ends, ended := false, "" // the token of the session
		d, server := profileDriver(t, bmctest.Profile{Settings: "SD", BootInSettings: true},
			bmctest.Fault{Do: bmctest.Status(status), If: func(r *http.Request) bool {
				token := r.Header.Get("X-Auth-Token")
				if ends && r.URL.Path == settings && ended == "" {
					ended = token
				}
				return token != "" && token == ended
			}},
			bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.WithoutProperty("@Redfish.Settings")})
		_, err := d.PowerState(t.Context(), "node")
		require.NoError(t, err)
		ends = true
		require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", true), status)
		require.NotEmpty(t, ended)
		require.Equal(t, "Pxe Continuous UEFI", server.Boot("1"))
		require.Equal(t, 2, server.Logins().Attempts)
	}
}

// A session that ends after the BMC has accepted a boot override, and before it shows the override, confirms nothing.
func TestASessionThatEndsBeforeABootOverrideIsConfirmedIsOpenedAgain(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		for _, after := range []int{1, 2} { // requests that the BMC has accepted
			patched, ended := 0, "" // the token of the session
			d, server := profileDriver(t, bmctest.Profile{},
				bmctest.Fault{Do: bmctest.Status(status), If: func(r *http.Request) bool {
					token := r.Header.Get("X-Auth-Token")
					if r.Method == http.MethodGet && patched == after && ended == "" {
						ended = token
					}
					return token != "" && token == ended
				}},
				bmctest.Fault{Method: http.MethodPatch, Times: 2, Do: bmctest.Handle("drops", func(w http.ResponseWriter, _ *http.Request) {
					patched++
					w.WriteHeader(http.StatusNoContent)
				})})
			_, err := d.PowerState(t.Context(), "node")
			require.NoError(t, err)
			require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", true), status)
			require.NotEmpty(t, ended)
			require.Equal(t, "Pxe Continuous UEFI", server.Boot("1"), "%d after %d", status, after)
			require.Equal(t, 2, server.Logins().Attempts)
		}
	}
}

func TestABootDeviceIsNotSetInAPageForPeople(t *testing.T) {
	d, server := profileDriver(t, bmctest.Profile{Settings: "SD", BootInSettings: true},
		bmctest.Fault{On: systemPath + "/SD", Do: bmctest.HTMLPage()},
		bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.WithoutProperty("@Redfish.Settings")})
	require.ErrorIs(t, d.SetBootDevice(t.Context(), "node", "pxe", true), verify.Unsupported)
	require.Equal(t, "None Disabled UEFI", server.Boot("1"))
}

func TestABootModeIsSetInTheOtherResource(t *testing.T) {
	idle := bmctest.Fault{On: systemPath + "/SD", Method: http.MethodGet, Do: bmctest.WithoutProperty("Boot")}
	d, server := profileDriver(t, bmctest.Profile{Settings: "SD", BootInSettings: true}, idle)
	require.NoError(t, d.SetBootMode(t.Context(), "node", "bios"))
	require.Equal(t, "None Disabled Legacy", server.Boot("1"))
}

// A system that says that it cannot be changed has the boot override elsewhere, whoever made its firmware.
func TestABootOverrideOfASystemWithoutPATCHIsReadWhereItWasSet(t *testing.T) {
	d, server := profileDriver(t, bmctest.Profile{Settings: "SD", BootInSettings: true},
		bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.WithoutProperty("@Redfish.Settings")})
	require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", true))
	require.Equal(t, "Pxe Continuous UEFI", server.Boot("1"))
	device, persistent, err := d.BootDevice(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []any{"pxe", true}, []any{device, persistent})
}

// Firmware of AMI has the boot override in a settings object without a link, and in the system once it is in force.
func TestABootOverrideIsReadInASettingsObjectWithoutALink(t *testing.T) {
	const settings = systemPath + "/SD"
	unlinked := bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.WithoutProperty("@Redfish.Settings")}
	readOnly := bmctest.Fault{On: systemPath, Method: http.MethodPatch, Do: bmctest.Status(http.StatusMethodNotAllowed)}
	d, server := profileDriver(t, bmctest.Profile{Manufacturer: "AMI", Settings: "SD", BootInSettings: true}, unlinked, readOnly)
	kept, err := d.KeepBootDevice(t.Context(), "node", "pxe")
	require.NoError(t, err)
	require.True(t, kept)
	device, persistent, err := d.BootDevice(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []any{"pxe", true}, []any{device, persistent})

	for name, do := range map[string]bmctest.Effect{
		"none":      bmctest.Status(http.StatusNotFound),
		"unread":    bmctest.Status(http.StatusInternalServerError),
		"idle":      bmctest.WithoutProperty("Boot"),
		"malformed": bmctest.Property("Boot", 7),
		"unset":     bmctest.Property("Boot", map[string]any{"BootSourceOverrideTarget": "Hdd"}),
		"no target": bmctest.Property("Boot", map[string]any{"BootSourceOverrideEnabled": "Once"}),
		"disabled":  bmctest.Property("Boot", map[string]any{"BootSourceOverrideTarget": "Hdd", "BootSourceOverrideEnabled": "Disabled"}),
	} {
		require.NoError(t, server.ClearFaults())
		server.AddFault(unlinked)
		server.AddFault(bmctest.Fault{On: settings, Method: http.MethodGet, Do: do})
		device, persistent, err = d.BootDevice(t.Context(), "node")
		require.NoError(t, err, name)
		require.Equal(t, []any{"", false}, []any{device, persistent}, name)
	}
	require.NoError(t, server.ClearFaults())
	server.AddFault(unlinked)
	server.AddFault(bmctest.Fault{On: settings, Method: http.MethodGet, Do: bmctest.CloseAfter(0)})
	_, _, err = d.BootDevice(t.Context(), "node")
	require.Error(t, err)
}

// What cannot be read of it then is not what the system shows.
func TestASessionThatEndsAtTheSettingsObjectIsFoundThere(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		d, server := profileDriver(t, bmctest.Profile{Settings: "SD", BootInSettings: true})
		require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", true))
		logins := server.Logins().Attempts
		server.AddFault(bmctest.Fault{On: systemPath + "/SD", Times: 1, Do: bmctest.Status(status)})
		server.AddFault(bmctest.Fault{On: systemPath, Skip: 1, Times: 1, Do: bmctest.Status(status)})
		device, persistent, err := d.BootDevice(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, []any{"pxe", true}, []any{device, persistent})
		require.Equal(t, logins+1, server.Logins().Attempts)
	}
}

func TestALinkedSettingsObjectIsReadOnce(t *testing.T) {
	const settings = systemPath + "/SD"
	for name, do := range map[string]bmctest.Effect{
		"no boot override": bmctest.WithoutProperty("Boot"),
		"no target":        bmctest.Property("Boot", map[string]any{"BootSourceOverrideEnabled": "Once"}),
		"malformed":        bmctest.Property("Boot", 7),
		"none":             bmctest.Status(http.StatusNotFound),
		"disabled":         {},
	} {
		d, server := profileDriver(t, bmctest.Profile{Settings: "SD", BootInSettings: true},
			bmctest.Fault{On: settings, Method: http.MethodGet, Do: do})
		device, _, err := d.BootDevice(t.Context(), "node")
		require.NoError(t, err, name)
		require.Empty(t, device, name)
		require.Equal(t, 1, count(server, "GET", settings), name)
	}
}

// Firmware of AMI shows a boot override in the system, and its settings object is idle again.
func TestAnIdleSettingsObjectContradictsNoBootOverride(t *testing.T) {
	shows := func(path, target, enabled, mode string) bmctest.Fault {
		return bmctest.Fault{On: path, Method: http.MethodGet, Do: changeObject("boot", func(o map[string]any) {
			o["Boot"] = map[string]any{"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": enabled, "BootSourceOverrideMode": mode}
		})}
	}
	for _, test := range []struct {
		target, enabled, mode string // of the system
		persistent            bool
		err                   error
	}{
		{"Pxe", "Once", "UEFI", false, nil}, {"Pxe", "Continuous", "UEFI", true, nil},
		{"Pxe", "Disabled", "UEFI", false, verify.Protocol}, {"Hdd", "Once", "UEFI", false, verify.Protocol},
		{"Pxe", "Continuous", "UEFI", false, verify.Protocol}, {"Pxe", "Once", "Legacy", false, verify.Protocol},
		{"Pxe", "Once", "", false, nil},
	} {
		d, server := profileDriver(t, bmctest.Profile{Settings: "SD", BootInSettings: true},
			shows(systemPath, test.target, test.enabled, test.mode), shows(systemPath+"/SD", "None", "Disabled", "UEFI"))
		require.ErrorIs(t, d.SetBootDevice(t.Context(), "node", "pxe", test.persistent), test.err, test)
		if test.err == nil {
			require.Equal(t, 1, count(server, "PATCH", systemPath+"/SD"), test)
		}
	}
}

// Blades of Supermicro accept no boot mode alone.
func TestABootModeThatIsRefusedAloneIsSentWithTheBootDevice(t *testing.T) {
	var seen refusing
	d, _ := profileDriver(t, bmctest.Supermicro(), bmctest.Fault{On: systemPath, Method: http.MethodPatch,
		Do: seen.effect(func(_ *http.Request, body string) (int, string) {
			if !strings.Contains(body, "Target") {
				return 400, "The value UEFI for the property BootSourceOverrideMode is not in the list of acceptable values."
			}
			return 0, ""
		})})
	require.NoError(t, d.SetBootMode(t.Context(), "node", "bios"))
	require.Equal(t, []string{`{"Boot":{"BootSourceOverrideMode":"Legacy"}}`,
		`{"Boot":{"BootSourceOverrideTarget":"None","BootSourceOverrideEnabled":"Disabled","BootSourceOverrideMode":"Legacy"}}`}, seen.bodies)
}
