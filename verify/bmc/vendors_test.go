// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const (
	insertCD  = slotCD + "/Actions/VirtualMedia.InsertMedia"
	ejectCD   = slotCD + "/Actions/VirtualMedia.EjectMedia"
	resetPath = systemPath + "/Actions/ComputerSystem.Reset"
)

// refusing is an effect that refuses a request while a function has a reason, and otherwise accepts it without doing
// it. It records the bodies.
type refusing struct {
	mu     sync.Mutex
	bodies []string
}

// effect refuses what why has a message for, which is the body of the answer if it begins as one.
func (f *refusing) effect(why func(r *http.Request, body string) (status int, message string)) bmctest.Effect {
	return bmctest.Handle("refusing", func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		f.bodies = append(f.bodies, string(text))
		f.mu.Unlock()
		if status, message := why(r, string(text)); message != "" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			if !strings.ContainsAny(message[:1], "{<") {
				message = fmt.Sprintf(`{"error": {"message": %q}}`, message)
			}
			_, _ = io.WriteString(w, message)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
}

func vendorDriver(t *testing.T, faults ...bmctest.Fault) (*bmc.Driver, *bmctest.Redfish) {
	t.Helper()
	return profileDriver(t, bmctest.Profile{}, faults...)
}

// profileDriver starts a BMC with a profile, whose system has the ID "1", and a driver for it.
func profileDriver(t *testing.T, p bmctest.Profile, faults ...bmctest.Fault) (*bmc.Driver, *bmctest.Redfish) {
	t.Helper()
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile, c.Faults = p, faults })
	return newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)}), server
}

func TestABMCThatKeepsNoBootDeviceBootsItOnce(t *testing.T) {
	once := bmctest.Profile{BootEnabled: []string{"Once", "Disabled"}}
	silent := once
	silent.Without = []string{"BootSourceOverrideEnabled@Redfish.AllowableValues"}
	for name, test := range map[string]struct {
		profile bmctest.Profile
		sent    int
		boot    string
	}{
		"it says so":          {once, 1, "Hdd Once UEFI"},
		"it refuses":          {silent, 2, "Hdd Once UEFI"},
		"it keeps the device": {bmctest.Profile{}, 1, "Hdd Continuous UEFI"},
	} {
		d, server := profileDriver(t, test.profile)
		kept, err := d.KeepBootDevice(t.Context(), "node", "disk")
		require.NoError(t, err, name)
		require.Equal(t, strings.Contains(test.boot, "Continuous"), kept, name)
		require.Equal(t, test.boot, server.Boot("1"), name)
		require.Equal(t, test.sent, patches(server), name)
	}
}

func TestTheBootOverrideIsSetAsTheVendorWantsIt(t *testing.T) {
	for _, test := range []struct {
		manufacturer, device string
		targets              []string
		want                 string
	}{
		{"Contoso", "pxe", []string{"Pxe"}, `{"Boot":{"BootSourceOverrideTarget":"Pxe","BootSourceOverrideEnabled":"Once"}}`},
		{"Contoso", "cdrom", []string{"Pxe", "CD/DVD"}, `{"Boot":{"BootSourceOverrideTarget":"CD/DVD","BootSourceOverrideEnabled":"Once"}}`},
		{"Contoso", "cdrom", []string{"UsbCd", "Cd"}, `{"Boot":{"BootSourceOverrideTarget":"Cd","BootSourceOverrideEnabled":"Once"}}`},
		{"Supermicro", "cdrom", []string{"Cd", "UsbCd"},
			`{"Boot":{"BootSourceOverrideTarget":"UsbCd","BootSourceOverrideEnabled":"Once","BootSourceOverrideMode":"UEFI"}}`},
		{"ASRockRack", "disk", []string{"Hdd"},
			`{"Boot":{"BootSourceOverrideTarget":"Hdd","BootSourceOverrideEnabled":"Once","BootSourceOverrideMode":"UEFI"}}`},
		{"Redfish_Compatible", "disk", []string{"Hdd"},
			`{"Boot":{"BootSourceOverrideTarget":"Hdd","BootSourceOverrideEnabled":"Once","BootSourceOverrideMode":"UEFI"}}`},
		{"American Megatrends International LLC.", "disk", nil,
			`{"Boot":{"BootSourceOverrideTarget":"Hdd","BootSourceOverrideEnabled":"Once","BootSourceOverrideMode":"UEFI"}}`},
		{"Miami Corp", "disk", nil, `{"Boot":{"BootSourceOverrideTarget":"Hdd","BootSourceOverrideEnabled":"Once"}}`},
	} {
		var seen refusing
		p := bmctest.Profile{Manufacturer: test.manufacturer, BootTargets: test.targets}
		if test.targets == nil {
			p.Without = []string{"BootSourceOverrideTarget@Redfish.AllowableValues"}
		}
		d, _ := profileDriver(t, p, bmctest.Fault{On: systemPath, Method: http.MethodPatch,
			Do: seen.effect(func(*http.Request, string) (int, string) { return 0, "" })})
		require.NoError(t, d.SetBootDevice(t.Context(), "node", test.device, false))
		require.Equal(t, []string{test.want}, seen.bodies, test.manufacturer)
	}
}

// A system of NVIDIA has the allowable values, and takes changes, in its settings object.
func TestTheBootOverrideMayBeInASettingsObject(t *testing.T) {
	d, server := profileDriver(t, bmctest.Profile{Settings: "SD", BootInSettings: true, BootTargets: []string{"Pxe", "CD/DVD"}})
	device, _, err := d.BootDevice(t.Context(), "node")
	require.NoError(t, err)
	require.Empty(t, device)
	for _, persistent := range []bool{false, true} {
		require.NoError(t, d.SetBootDevice(t.Context(), "node", "cdrom", persistent))
		require.Equal(t, "CD/DVD "+map[bool]string{false: "Once", true: "Continuous"}[persistent]+" UEFI", server.Boot("1"))
		device, always, err := d.BootDevice(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, "cdrom", device)
		require.Equal(t, persistent, always)
	}
	require.Equal(t, 2, count(server, "PATCH", systemPath+"/SD"))
}

func TestAChangeIsRepeatedWhileTheBMCIsBusy(t *testing.T) {
	for message, want := range map[string]int{
		"iLO.2.16.UnableToModifyDuringSystemPOST": 16,
		"IDRAC.2.8.SYS518":                        8,
		"IDRAC.2.8.SYS011":                        8,
		"iLO.2.15.InvalidOperationForSystemState": 8,
		"Base.1.18.GeneralError":                  1,
	} {
		for times, ok := range map[int]bool{want - 1: true, want: false} {
			var faults []bmctest.Fault
			if times > 0 {
				faults = append(faults, bmctest.Fault{On: systemPath, Method: http.MethodPatch, Times: times, Do: bmctest.Busy(message)})
			}
			d, server := vendorDriver(t, faults...)
			err := d.SetBootDevice(t.Context(), "node", "pxe", false)
			require.Equal(t, want, patches(server), message)
			if ok {
				require.NoError(t, err)
				require.Equal(t, "Pxe Once UEFI", server.Boot("1"))
			} else {
				require.ErrorIs(t, err, verify.Protocol)
			}
		}
	}
}

// An iDRAC that has just switched its machine off answers 409 for a while.
func TestAConflictAtThePowerOnIsRepeated(t *testing.T) {
	conflict := func(times int) bmctest.Fault {
		return bmctest.Fault{On: resetPath, Times: times, Do: bmctest.PoweringOff()}
	}
	d, server := vendorDriver(t, conflict(2))
	require.NoError(t, server.SetPower("1", "Off"))
	require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOn))
	require.Equal(t, "On", server.Power("1"))

	d, server = vendorDriver(t, conflict(22))
	require.NoError(t, server.SetPower("1", "Off"))
	require.ErrorIs(t, d.SetPower(t.Context(), "node", states.PowerOn), verify.Protocol)

	refused := bmctest.Fault{On: resetPath, Do: bmctest.Status(http.StatusConflict)}
	d, server = vendorDriver(t, refused)
	require.ErrorIs(t, d.SetPower(t.Context(), "node", states.PowerOff), verify.Protocol)
	require.Equal(t, 1, count(server, "POST", resetPath), "only the power on is repeated")

	d, server = vendorDriver(t, refused, bmctest.Fault{On: systemPath, Skip: 1, Do: bmctest.Property("PowerState", "Off")})
	require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOff), "it is off by now")
	require.Equal(t, "On", server.Power("1"))
}

func TestASystemWithoutAResetCannotBeReset(t *testing.T) {
	d, _ := vendorDriver(t, bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("Actions")})
	require.ErrorIs(t, d.SetPower(t.Context(), "node", states.PowerOff), verify.Unsupported)
}

// Cray's systems have no boot override.
func TestASystemWithoutABootOverrideIsVerified(t *testing.T) {
	_, server := vendorDriver(t, bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("Boot")})
	config := configOf(server)
	config.CheckManagement = false
	power, err := newVerifier(t, config).Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, states.PowerOn, power)
	config.CheckManagement = true
	_, err = newVerifier(t, config).Verify(t.Context())
	require.ErrorIs(t, err, verify.Unsupported)
}

func TestOfSeveralSystemsTheHostIsMeant(t *testing.T) {
	d, _ := profileDriver(t, bmctest.Profile{Baseboard: "Baseboard"})
	power, err := d.PowerState(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, states.PowerOn, power)

	start := func(faults ...bmctest.Fault) *bmc.Driver {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) {
			c.Systems, c.Faults = []bmctest.System{{ID: "Baseboard"}, {ID: "1", Power: "On"}}, faults
		})
		return newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	}
	for _, missing := range []string{"Boot", "Actions"} {
		power, err := start(bmctest.Fault{On: "/redfish/v1/Systems/Baseboard",
			Do: bmctest.WithoutProperty(missing)}).PowerState(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, states.PowerOn, power)
	}
	_, err = start().PowerState(t.Context(), "node")
	require.ErrorIs(t, err, verify.Unsupported)
	require.ErrorContains(t, err,
		`the BMC has 2 systems, and neither SystemID nor SystemName says which is meant: of ["Baseboard" "1"], 2 can be booted and reset`)
}

func TestSummariesStandForCollectionsThatAreNotThere(t *testing.T) {
	_, server := profileDriver(t, bmctest.Profile{Missing: []string{"Memory", "Processors"}},
		bmctest.Fault{On: systemPath, Do: changeObject("summaries", func(o map[string]any) {
			o["MemorySummary"] = map[string]any{}
			o["ProcessorSummary"] = map[string]any{"Count": 2, "CoreCount": 12, "Model": "a CPU"}
		})})
	found, err := inspected(t, server)
	require.NoError(t, err)
	require.Zero(t, found.Memory)
	require.Equal(t, bmc.CPU{Count: 12, ModelName: "a CPU"}, found.CPU)
}

func TestTheArchitectureComesFromInstructionSetOrProcessor(t *testing.T) {
	for _, test := range []struct{ set, architecture, want string }{
		{"x86-64", "ARM", "x86_64"}, {"", "x86", "x86_64"}, {"", "ARM", "aarch64"}, {"", "IA-64", "ia64"}, {"", "MIPS", "mips64"},
		{"", "OEM", ""},
	} {
		_, server := vendorDriver(t, bmctest.Fault{On: systemPath + "/Processors/CPU1", Do: changeObject("processor", func(o map[string]any) {
			o["InstructionSet"], o["ProcessorArchitecture"] = test.set, test.architecture
		})})
		found, err := inspected(t, server)
		require.NoError(t, err)
		require.Equal(t, test.want, found.CPU.Architecture)
	}
}

// Some BMCs refuse the ETag that they have sent, and others want one that they have not sent.
func TestAnETagThatTheBMCRefusesIsLeftOut(t *testing.T) {
	sends := func(do bmctest.Effect) bmctest.Fault { return bmctest.Fault{Method: http.MethodGet, Do: do} }
	requires := bmctest.Fault{Method: http.MethodPatch, Do: bmctest.RequireIfMatch()}
	for name, test := range map[string]struct {
		form   bmctest.ETags
		faults []bmctest.Fault
		want   []int // the statuses of the requests
	}{
		"its own":              {bmctest.StrongETags, nil, []int{200}},
		"a weak one":           {bmctest.WeakETags, []bmctest.Fault{requires}, []int{200}},
		"the ETag of the body": {bmctest.BodyETags, []bmctest.Fault{requires}, []int{200}},
		"a strong one":         {bmctest.StrongETags, []bmctest.Fault{sends(bmctest.WeakenedETag()), requires}, []int{412, 200}},
		"none":                 {bmctest.StrongETags, []bmctest.Fault{sends(bmctest.WrongETag(`W/"7"`))}, []int{412, 412, 200}},
		"none, not a strong":   {bmctest.StrongETags, []bmctest.Fault{sends(bmctest.WrongETag(`"7"`))}, []int{412, 200}},
		"the body's":           {bmctest.BodyETags, []bmctest.Fault{sends(bmctest.WrongETag(`""7""`)), requires}, []int{412, 200}}, // Lenovo
		"any, not its own":     {bmctest.StrongETags, []bmctest.Fault{sends(bmctest.WrongETag(`"x"`)), requires}, []int{412, 428, 200}},
		"no ETag":              {bmctest.NoETags, nil, []int{200}},
		"any":                  {bmctest.NoETags, []bmctest.Fault{requires}, []int{428, 200}},
		"nothing":              {bmctest.NoETags, []bmctest.Fault{{Method: http.MethodPatch, Do: bmctest.Status(412)}}, []int{412, 412}},
	} {
		d, server := profileDriver(t, bmctest.Profile{ETags: test.form}, test.faults...)
		err := d.SetBootDevice(t.Context(), "node", "pxe", false)
		require.Equal(t, test.want[len(test.want)-1] == 200, err == nil, "%s: %v", name, err)
		var statuses []int
		for _, r := range server.Requests() {
			if r.Method == http.MethodPatch {
				statuses = append(statuses, r.Status)
			}
		}
		require.Equal(t, test.want, statuses, name)
	}
}
