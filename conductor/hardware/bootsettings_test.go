// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package hardware_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const secureBootPath = "/redfish/v1/Systems/1/SecureBoot"

// atReset makes a BMC report secure boot as it was at the machine's last reset, as an iDRAC does, which applies a
// change in a job during a boot.
var atReset = bmctest.Fault{
	On: secureBootPath, Method: http.MethodGet,
	Do: bmctest.Change("atReset", func(_ http.Header, body []byte) []byte {
		var o map[string]any
		if json.Unmarshal(body, &o) != nil || o["SecureBootCurrentBoot"] == nil {
			return body
		}
		o["SecureBootEnable"] = o["SecureBootCurrentBoot"] == "Enabled"
		body, _ = json.Marshal(o)
		return body
	}),
}

// busySecureBoot is a BMC that has no secure boot while it configures something.
func busySecureBoot(method string, skip, times int) bmctest.Fault {
	return bmctest.Fault{On: secureBootPath, Method: method, Skip: skip, Times: times, Do: bmctest.Status(http.StatusServiceUnavailable)}
}

// forbiddenSecureBoot is a BMC whose user may not read secure boot for a moment.
func forbiddenSecureBoot(skip, times int) bmctest.Fault {
	return bmctest.Fault{On: secureBootPath, Method: http.MethodGet, Skip: skip, Times: times, Do: bmctest.Status(http.StatusForbidden)}
}

// bubbleNode returns a node of the server for a bubble, in which it is before the date of all certificates.
func bubbleNode(t *testing.T, server *bmctest.Redfish) *conductor.Node {
	info := redfishInfo(t, server)
	info["redfish_verify_ca"] = false
	return &conductor.Node{UUID: "1be26c0b-03f2-4d2e-ae87-c02d7f33c123", Driver: "redfish", DriverInfo: info}
}

// timed calls f in a bubble with a hardware type, and requires its error, "" for none, and the time that it takes.
func timed(t *testing.T, series states.Series, want string, after time.Duration, f func(context.Context, *hardware.Type) error) {
	synctest.Test(t, func(t *testing.T) {
		b, err := hardware.NewRedfish(hardware.Config{Sessions: -1, Series: series})
		require.NoError(t, err)
		begun := time.Now()
		err = f(t.Context(), b)
		require.Equal(t, after, time.Since(begun))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, b.Close(context.Background()))
	})
}

func enableSecureBoot(n *conductor.Node) func(context.Context, *hardware.Type) error {
	return func(ctx context.Context, b *hardware.Type) error { return b.SetSecureBoot(ctx, n, true) }
}

func TestSecureBootIsReadUntilItHasTakenEffect(t *testing.T) {
	never := bmctest.Fault{On: secureBootPath, Method: http.MethodGet, Do: bmctest.Property("SecureBootEnable", false)}
	lacking := bmctest.Fault{On: secureBootPath, Method: http.MethodGet, Skip: 1, Times: 1, Do: bmctest.Status(http.StatusNotFound)}
	for name, test := range map[string]struct {
		faults []bmctest.Fault
		power  string // before and after
		series states.Series
		want   string // the error; "" for none
		resets int
		after  time.Duration
	}{
		"at once":                      {nil, "On", 0, "", 0, 0},
		"at the next reset":            {[]bmctest.Fault{atReset}, "On", 0, "", 1, 15 * time.Second},
		"at the next power on":         {[]bmctest.Fault{atReset}, "Off", 0, "", 2, 15 * time.Second},
		"not awaited before 2023.2":    {[]bmctest.Fault{atReset}, "On", states.Antelope, "", 0, 0},
		"awaited since 2023.2":         {[]bmctest.Fault{atReset}, "On", states.Bobcat, "", 1, 15 * time.Second},
		"after two refused changes":    {[]bmctest.Fault{busySecureBoot(http.MethodPatch, 0, 2)}, "On", 0, "", 0, 6 * time.Second},
		"after two refused reads":      {[]bmctest.Fault{busySecureBoot(http.MethodGet, 1, 2)}, "On", 0, "", 0, 6 * time.Second},
		"after 25 reads refused in it": {[]bmctest.Fault{busySecureBoot(http.MethodGet, 1, 25), atReset}, "On", 0, "", 1, 99 * time.Second},
		"after two forbidden reads":    {[]bmctest.Fault{forbiddenSecureBoot(2, 2), atReset}, "On", 0, "", 1, 45 * time.Second},
		"forbidden before its reboot":  {[]bmctest.Fault{forbiddenSecureBoot(1, 1)}, "On", 0, "403", 0, 0},
		"lacking before its reboot":    {[]bmctest.Fault{lacking}, "On", 0, "404", 0, 0},
		"never":                        {[]bmctest.Fault{never}, "On", 0, "to become True, current is False", 1, 900 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t)
			require.NoError(t, server.SetPower("1", test.power))
			for _, fault := range test.faults {
				server.AddFault(fault)
			}
			timed(t, test.series, test.want, test.after, enableSecureBoot(bubbleNode(t, server)))
			require.Equal(t, test.power, server.Power("1"))
			resets := 0
			for _, r := range server.Requests() {
				if r.Method == http.MethodPost && r.Path == "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset" {
					resets++
				}
			}
			require.Equal(t, test.resets, resets)
		})
	}
}

func TestAWaitForSecureBootEndsWithItsContext(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: secureBootPath, Method: http.MethodGet, Do: bmctest.Property("SecureBootEnable", false)})
	n := bubbleNode(t, server)
	synctest.Test(t, func(t *testing.T) {
		b, err := hardware.NewRedfish(hardware.Config{Sessions: -1})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(40*time.Second, cancel)
		begun := time.Now()
		require.ErrorIs(t, b.SetSecureBoot(ctx, n, true), context.Canceled)
		require.Equal(t, 40*time.Second, time.Since(begun))
	})
}

func TestATearDownWaitsForABMCThatHasNoSecureBootForTheMoment(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPatch} {
		server := startRedfish(t)
		s := start(t, hardware.Config{})
		n := s.node(redfishMachine(server, t), withMedia(states.Available, "ramdisk", map[string]any{}, map[string]any{
			"boot_iso": image, "capabilities": map[string]any{"secure_boot": "true"},
		}))
		n = s.request(n, "active")
		require.Equal(t, states.Active, n.ProvisionState, n.LastError)
		server.AddFault(busySecureBoot(method, 0, 5))
		n = s.request(n, "deleted")
		require.Equal(t, states.Available, n.ProvisionState, n.LastError)
		require.False(t, *n.SecureBoot)
	}
}

// The BMC reports the boot mode of the last boot.
func TestABootModeIsReadUntilItHasTakenEffect(t *testing.T) {
	server := startRedfish(t)
	require.NoError(t, server.SetPower("1", "On"))
	booted := false
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", If: func(*http.Request) bool {
		booted = true
		return false
	}})
	server.AddFault(bmctest.Fault{
		On: "/redfish/v1/Systems/1", Method: http.MethodGet, Skip: 1, If: func(*http.Request) bool { return !booted },
		Do: bmctest.Property("Boot", map[string]any{"BootSourceOverrideMode": "UEFI"}),
	})
	n := bubbleNode(t, server)
	timed(t, 0, "", 15*time.Second, func(ctx context.Context, b *hardware.Type) error { return b.SetBootMode(ctx, n, "bios") })
	require.True(t, booted)
	require.Equal(t, "On", server.Power("1"))
}

// Without the reset ForceRestart a machine is switched off, and on once it is off; not if the node forbids it.
func TestARebootForABootSettingWithoutTheReset(t *testing.T) {
	const reset = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"
	on := bmctest.Property("PowerState", "On")
	for name, test := range map[string]struct {
		reads  int // of the machine that goes off, which are answered wrong
		answer bmctest.Effect
		forbid bool
		want   string // the error; "" for none
		resets int
		after  time.Duration
	}{
		"off at once":      {0, on, false, "", 2, 15 * time.Second},
		"off after 3 s":    {3, on, false, "", 2, 18 * time.Second},
		"forbidden reads":  {2, bmctest.Status(http.StatusForbidden), false, "", 2, 17 * time.Second},
		"never off":        {1000, on, false, "is not off after 1m0s", 1, time.Minute},
		"off is forbidden": {0, on, true, "ForceRestart", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.ResetTypes = []string{"On", "ForceOff"} })
			require.NoError(t, server.SetPower("1", "On"))
			resets, reads := 0, 0
			server.AddFault(atReset)
			server.AddFault(bmctest.Fault{On: reset, Method: http.MethodPost, If: func(*http.Request) bool {
				resets++
				return false
			}})
			server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Method: http.MethodGet, If: func(*http.Request) bool {
				if resets == 1 {
					reads++
				}
				return 0 < reads && reads <= test.reads
			}, Do: test.answer})
			n := bubbleNode(t, server)
			n.DisablePowerOff = test.forbid
			timed(t, 0, test.want, test.after, enableSecureBoot(n))
			require.Equal(t, test.resets, resets)
		})
	}
}

func TestAWaitForABootSettingSendsARefusedPasswordOnce(t *testing.T) {
	for name, test := range map[string]struct {
		resets []string
		after  time.Duration
	}{"which it reads": {nil, 15 * time.Second}, "for which the machine goes off": {[]string{"On", "ForceOff"}, 0}} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.ResetTypes = test.resets })
			require.NoError(t, server.SetPower("1", "On"))
			server.AddFault(atReset)
			logins := changePassword(server, "ComputerSystem.Reset")
			timed(t, 0, "credentials refused", test.after, enableSecureBoot(bubbleNode(t, server)))
			require.EqualValues(t, 1, logins.Load())
		})
	}
}
