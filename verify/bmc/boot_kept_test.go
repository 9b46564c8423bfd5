// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// drops lets a BMC answer 200 to a change of the boot override, which it does not make.
func drops(times int) bmctest.Fault {
	return bmctest.Fault{Method: http.MethodPatch, Times: times, Do: bmctest.Handle("drops", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	})}
}

func TestABootOverrideThatTheBMCDropsIsSentOnceMore(t *testing.T) {
	for name, p := range map[string]bmctest.Profile{
		"": {}, "in settings": {Settings: "SD", BootInSettings: true}, "with ETags": {Refusals: []bmctest.Effect{bmctest.RequireIfMatch()}},
	} {
		d, server := profileDriver(t, p, drops(1))
		require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", false), name)
		require.Equal(t, "Pxe Once UEFI", server.Boot("1"), name)
		require.Equal(t, 2, patches(server), name)

		d, server = profileDriver(t, p, drops(0))
		err := d.SetBootDevice(t.Context(), "node", "pxe", false)
		require.ErrorIs(t, err, verify.Protocol, name)
		require.ErrorContains(t, err, `the BMC has accepted the boot override "Once" in the mode "UEFI", and shows "Disabled" in the mode "UEFI"`)
		require.Equal(t, 2, patches(server), name)
	}
}

func TestABootOverrideThatNeedsAResetIsNotExpectedBefore(t *testing.T) {
	for body, want := range map[string]bool{`{"@Message.ExtendedInfo": [{"MessageId": "Base.1.18.ResetRequired"}]}`: true, "{}": false} {
		var seen refusing
		d, _ := vendorDriver(t, bmctest.Fault{Method: http.MethodPatch,
			Do: seen.effect(func(*http.Request, string) (int, string) { return http.StatusOK, body })})
		kept, err := d.KeepBootDevice(t.Context(), "node", "pxe")
		require.Equal(t, want, err == nil, "%s: %v", body, err)
		require.Equal(t, want, kept, body)
		require.Equal(t, want, len(seen.bodies) == 1, body)
	}
}

// What it shows has changed, and not to what was requested.
func TestABMCThatNeedsAResetMustNotShowAnotherBootOverride(t *testing.T) {
	var seen refusing
	d, _ := vendorDriver(t,
		bmctest.Fault{Method: http.MethodPatch, Do: seen.effect(func(*http.Request, string) (int, string) {
			return http.StatusOK, `{"@Message.ExtendedInfo": [{"MessageId": "iLO.2.14.SystemResetRequired"}]}`
		})},
		bmctest.Fault{On: systemPath, Method: http.MethodGet, If: func(*http.Request) bool { return len(seen.bodies) > 0 },
			Do: changeObject("once", func(o map[string]any) {
				b := o["Boot"].(map[string]any)
				b["BootSourceOverrideTarget"], b["BootSourceOverrideEnabled"] = "Hdd", "Once"
			})})
	kept, err := d.KeepBootDevice(t.Context(), "node", "disk")
	require.NoError(t, err)
	require.False(t, kept)
	require.Len(t, seen.bodies, 3)
}

// A BMC that accepts Continuous and drops it may boot the device once.
func TestABMCThatDropsContinuousBootsOnce(t *testing.T) {
	d, server := vendorDriver(t, drops(2))
	kept, err := d.KeepBootDevice(t.Context(), "node", "disk")
	require.NoError(t, err)
	require.False(t, kept)
	require.Equal(t, "Hdd Once UEFI", server.Boot("1"))
	require.Equal(t, 3, patches(server))
}

// A BMC that drops a change still shows the boot override that was set for an earlier boot.
func TestAnOlderBootOverrideContradictsANewOne(t *testing.T) {
	shows := func(target string) bmctest.Fault {
		return bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.Property("Boot",
			map[string]any{"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": "Once", "BootSourceOverrideMode": "UEFI"})}
	}
	for _, persistent := range []bool{false, true} {
		d, server := vendorDriver(t, shows("Hdd"), drops(0))
		err := d.SetBootDevice(t.Context(), "node", "pxe", persistent)
		require.ErrorIs(t, err, verify.Protocol)
		require.ErrorContains(t, err, `shows "Once" in the mode "UEFI", with the target "Hdd" in place of "Pxe"`)
		require.Equal(t, map[bool]int{false: 2, true: 4}[persistent], patches(server))
	}
	for _, same := range []string{"UsbCd", "CD", "None"} { // another word for a CD, and what need not tell the device
		d, server := vendorDriver(t, shows(same), drops(0))
		require.NoError(t, d.SetBootDevice(t.Context(), "node", "cdrom", false), same)
		require.Equal(t, 1, patches(server), same)
	}
}

// A BMC that boots a device once although it has accepted Continuous does not keep the device.
func TestABMCThatShowsOnceDoesNotKeepADevice(t *testing.T) {
	shows := func(times int) bmctest.Fault {
		return bmctest.Fault{On: systemPath, Method: http.MethodGet, Skip: 1, Times: times, Do: bmctest.Property("Boot",
			map[string]any{"BootSourceOverrideTarget": "Hdd", "BootSourceOverrideEnabled": "Once", "BootSourceOverrideMode": "UEFI"})}
	}
	var seen refusing
	d, _ := vendorDriver(t, shows(0), bmctest.Fault{Method: http.MethodPatch,
		Do: seen.effect(func(*http.Request, string) (int, string) { return http.StatusOK, "{}" })})
	kept, err := d.KeepBootDevice(t.Context(), "node", "disk")
	require.NoError(t, err)
	require.False(t, kept)
	require.Len(t, seen.bodies, 3)
	require.Contains(t, seen.bodies[1], "Continuous")
	require.JSONEq(t, `{"Boot":{"BootSourceOverrideTarget":"Hdd"}}`, seen.bodies[2], "it is set for once already")

	d, server := vendorDriver(t, shows(1))
	kept, err = d.KeepBootDevice(t.Context(), "node", "disk")
	require.NoError(t, err)
	require.True(t, kept, "it shows Continuous after the second request")
	require.Equal(t, "Hdd Continuous UEFI", server.Boot("1"))
	require.Equal(t, 2, patches(server))
}

// A BMC that fails for the moment may keep a device. One that always fails at Continuous boots the device once, as in
// Ironic, where any error does that.
func TestOnlyALastingFailureOfContinuousIsOneOfTheBMC(t *testing.T) {
	for _, status := range []int{500, 502, 503, 504} {
		d, server := vendorDriver(t, bmctest.Fault{Method: http.MethodPatch, Times: 2, Do: bmctest.Status(status)})
		kept, err := d.KeepBootDevice(t.Context(), "node", "disk")
		require.NoError(t, err, status)
		require.True(t, kept, status)
		require.Equal(t, "Hdd Continuous UEFI", server.Boot("1"), status)

		var seen refusing
		d, _ = vendorDriver(t, bmctest.Fault{Method: http.MethodPatch, Do: seen.effect(func(_ *http.Request, body string) (int, string) {
			if strings.Contains(body, "Continuous") {
				return status, "an internal error"
			}
			return 0, ""
		})})
		kept, err = d.KeepBootDevice(t.Context(), "node", "disk")
		require.NoError(t, err, status)
		require.False(t, kept, status)
		require.Contains(t, seen.bodies[len(seen.bodies)-1], "Once", status)
	}
	d, server := vendorDriver(t, bmctest.Fault{Method: http.MethodPatch, Do: bmctest.CloseAfter(0)})
	_, err := d.KeepBootDevice(t.Context(), "node", "disk")
	require.Error(t, err, "whether the BMC has set the device is unknown")
	require.Equal(t, 1, patches(server))
}

// Only a contradiction is an error: what the BMC does not show yet, or shows otherwise, may be set.
func TestWhatABMCShowsOfABootOverrideContradictsIt(t *testing.T) {
	shows := func(enabled, mode string) bmctest.Effect {
		boot := map[string]any{"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideEnabled": enabled}
		if mode != "" {
			boot["BootSourceOverrideMode"] = mode
		}
		return bmctest.Property("Boot", boot)
	}
	const legacy = `shows "Once" in the mode "Legacy"`
	for name, test := range map[string]struct {
		manufacturer, mode string         // the mode of the Config
		before, after      bmctest.Effect // what the BMC shows
		patches            int
		want               string // the text of the error; empty for none
	}{
		"the mode is lost":       {"", "uefi", bmctest.Effect{}, shows("Once", "Legacy"), 2, `in the mode "UEFI", and ` + legacy},
		"the mode is none's":     {"", "", bmctest.Effect{}, shows("Once", "Legacy"), 1, ""},
		"a Supermicro's mode":    {"Supermicro", "", bmctest.Effect{}, shows("Once", "Legacy"), 2, legacy},
		"it is never set":        {"Supermicro", "uefi", shows("Once", "Legacy"), shows("Once", "Legacy"), 2, legacy},
		"a job sets the mode":    {"", "uefi", shows("Once", "Legacy"), shows("Once", "Legacy"), 1, ""},
		"no mode is shown":       {"Supermicro", "uefi", bmctest.Effect{}, shows("Once", ""), 1, ""},
		"continuous":             {"", "uefi", bmctest.Effect{}, shows("Continuous", "UEFI"), 1, ""},
		"disabled without modes": {"", "", shows("Once", ""), shows("Disabled", ""), 2, `in the mode "", and shows "Disabled" in the mode ""`},
		"no boot override":       {"", "uefi", bmctest.Effect{}, bmctest.WithoutProperty("Boot"), 1, ""},
		"a malformed one":        {"", "uefi", bmctest.Effect{}, bmctest.Property("Boot", 7), 1, ""},
		"a partly malformed one": {"", "uefi", bmctest.Effect{}, bmctest.Property("Boot",
			map[string]any{"BootSourceOverrideTarget": 7, "BootSourceOverrideEnabled": "Disabled"}), 1, ""},
		"nothing":   {"", "uefi", bmctest.Effect{}, bmctest.Status(http.StatusInternalServerError), 1, ""},
		"no answer": {"", "uefi", bmctest.Effect{}, bmctest.CloseAfter(0), 1, ""},
	} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) {
			c.Profile = bmctest.Profile{Manufacturer: test.manufacturer}
			c.Faults = []bmctest.Fault{
				{On: systemPath, Method: http.MethodGet, Times: 1, Do: test.before},
				{On: systemPath, Method: http.MethodGet, Do: test.after},
			}
		})
		config := configOf(server)
		config.BootMode = test.mode
		err := newDriver(t, 0, map[string]bmc.Config{"node": config}).SetBootDevice(t.Context(), "node", "pxe", false)
		if test.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, verify.Protocol, name)
			require.ErrorContains(t, err, test.want, name)
			require.Equal(t, test.mode+test.manufacturer != "", errors.Is(err, bmc.ErrBootMode), name)
		}
		require.Equal(t, test.patches, patches(server), name)
	}
}

func TestASecondChangeOfABootOverrideMayBeRefused(t *testing.T) {
	refuses := bmctest.Fault{Method: http.MethodPatch, Do: bmctest.Status(http.StatusConflict)}
	d, _ := vendorDriver(t, drops(1), refuses)
	err := d.SetBootDevice(t.Context(), "node", "pxe", false)
	require.ErrorContains(t, err, `shows "Disabled" in the mode "UEFI"; then PATCH `+systemPath)

	// It is set by then.
	late := bmctest.Fault{On: systemPath, Method: http.MethodGet, Skip: 1, Times: 1, Do: bmctest.Property("Boot",
		map[string]any{"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"})}
	refuses.Skip = 1
	d, server := vendorDriver(t, late, refuses)
	require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", false))
	require.Equal(t, "Pxe Once UEFI", server.Boot("1"))
	require.Equal(t, 2, patches(server))

	bmc.LengthenPause(t) // there is no time to read it again
	refuses.Skip = 0
	d, _ = vendorDriver(t, drops(1), refuses)
	require.ErrorContains(t, d.SetBootDevice(t.Context(), "node", "pxe", false), "; then PATCH "+systemPath)
}

func TestNothingIsReadAfterASecondChangeOfABootOverrideThatIsLost(t *testing.T) {
	d, server := vendorDriver(t, drops(1), bmctest.Fault{Method: http.MethodPatch, Do: bmctest.CloseAfter(0)})
	err := d.SetBootDevice(t.Context(), "node", "pxe", true)
	require.ErrorContains(t, err, `shows "Disabled" in the mode "UEFI"; then PATCH `+systemPath)
	asked := server.Requests()
	require.Equal(t, http.MethodPatch, asked[len(asked)-1].Method)
	require.Equal(t, 2, patches(server))
}

// No request may follow one that is lost, and after ErrBootMode the conductor sends one that sets the boot mode.
func TestALostChangeOfABootOverrideIsNoOtherBootMode(t *testing.T) {
	legacy := bmctest.Property("Boot", map[string]any{
		"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideEnabled": "Once", "BootSourceOverrideMode": "Legacy"})
	for name, lost := range map[string]bmctest.Fault{
		"none": {}, "the second request": {Method: http.MethodPatch, Skip: 1, Do: bmctest.CloseAfter(0)},
	} {
		d, _ := profileDriver(t, bmctest.Profile{Manufacturer: "Supermicro"},
			bmctest.Fault{On: systemPath, Method: http.MethodGet, Skip: 1, Do: legacy}, lost)
		err := d.SetBootDevice(t.Context(), "node", "pxe", false)
		require.ErrorContains(t, err, `in the mode "Legacy"`, name)
		require.Equal(t, name == "none", errors.Is(err, bmc.ErrBootMode), "%s: %v", name, err)
	}
}

func TestASessionThatEndsAfterAChangeOfTheBootOverrideIsOpenedAgain(t *testing.T) {
	d, server := vendorDriver(t)
	_, err := d.PowerState(t.Context(), "node")
	require.NoError(t, err)
	server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodGet, Skip: 1, Times: 1, Do: bmctest.Status(http.StatusUnauthorized)})
	require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", false))
	require.Equal(t, 2, patches(server))
	require.Equal(t, 2, server.Logins().Attempts)

	// It may end before the second request, too.
	d, server = vendorDriver(t)
	_, err = d.PowerState(t.Context(), "node")
	require.NoError(t, err)
	server.AddFault(drops(1))
	server.AddFault(bmctest.Fault{Method: http.MethodPatch, Times: 1, Do: bmctest.Status(http.StatusUnauthorized)})
	require.NoError(t, d.SetBootDevice(t.Context(), "node", "pxe", false))
	require.Equal(t, "Pxe Once UEFI", server.Boot("1"))
	require.Equal(t, 3, patches(server))
	require.Equal(t, 2, server.Logins().Attempts)
}
