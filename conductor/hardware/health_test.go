// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// TestABMCIsReadByTheInterfaceRedfish asks for the values that a verification and the power sync store.
func TestABMCIsReadByTheInterfaceRedfish(t *testing.T) {
	server := startRedfish(t)
	ipmi, err := hardware.NewIPMI(hardware.Config{})
	require.NoError(t, err)
	redfish := newRedfish(t, hardware.Config{})
	reads := func(b *hardware.Type, n *conductor.Node) (found []any, errs []error) {
		_, vendor, err := b.ReadVendor(t.Context(), n)
		errs = append(errs, err)
		mode, secureBoot, err := b.ReadBootMode(t.Context(), n)
		errs = append(errs, err)
		health, err := b.ReadHealth(t.Context(), n)
		errs = append(errs, err)
		bios, err := b.ReadBIOS(t.Context(), n)
		errs = append(errs, err)
		firmware, err := b.ReadFirmware(t.Context(), n)
		return []any{vendor, mode, secureBoot != nil, health, len(bios) > 0, len(firmware) > 0}, append(errs, err)
	}
	none := []any{"", "", false, "", false, false}
	n := &conductor.Node{UUID: uuid, Driver: "redfish", DriverInfo: redfishInfo(t, server)}
	found, errs := reads(redfish, n)
	require.Equal(t, make([]error, 5), errs)
	require.Equal(t, []any{"ironstate", "uefi", true, "OK", true, true}, found)

	unlicensed := bmctest.Handle("no licence", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error": {"@Message.ExtendedInfo": [{"MessageId": "SMC.1.0.OemLicenseNotPassed"}]}}`))
	})
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1/SecureBoot", Do: unlicensed})
	known := server.Logins()
	found, errs = reads(redfish, n)
	require.Equal(t, make([]error, 5), errs)
	require.Equal(t, []any{"ironstate", "uefi", false, "OK", true, true}, found, "the boot mode is known without secure boot")
	require.Zero(t, server.Logins().Failed-known.Failed)

	asked := len(server.Requests())
	n.Interfaces = map[string]string{"management": "noop", "bios": "no-bios", "firmware": "no-firmware"}
	found, errs = reads(redfish, n)
	require.Equal(t, make([]error, 5), errs)
	require.Equal(t, none, found)
	require.Len(t, server.Requests(), asked)
	t.Setenv("PATH", "")
	found, errs = reads(ipmi, with("ipmi", nil))
	require.ErrorContains(t, errs[0], "ipmitool is not installed", "the vendor is asked for over IPMI, too")
	require.Equal(t, make([]error, 4), errs[1:])
	require.Equal(t, none, found)

	for _, n := range []*conductor.Node{nil, with("redfish", map[string]any{"redfish_address": nil})} {
		found, errs = reads(redfish, n)
		require.Equal(t, none, found)
		for _, err := range errs {
			require.ErrorIs(t, err, conductor.Invalid)
		}
	}
}

func TestHealthOfAMachineIsShown(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{}, func(c *conductor.Config) { c.SkipPowerSync, c.Power.Interval = false, 20*time.Millisecond })
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	handler := api.New(s.Conductor, api.Config{})
	requireShown := func(health string) {
		s.await(n, func(now *conductor.Node) bool { return now.Health == health })
		request := httptest.NewRequest(http.MethodGet, "/v1/nodes/"+n.UUID+"?fields=health", nil)
		request.Header.Set("X-OpenStack-Ironic-API-Version", "1.109")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		require.Equal(t, http.StatusOK, answer.Code)
		require.Contains(t, answer.Body.String(), `{"health":"`+health+`"`)
	}
	requireShown("OK")
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.Property("Status", map[string]any{"Health": "Critical"})})
	requireShown("CRITICAL")
	health, err := s.redfish.ReadHealth(t.Context(), &conductor.Node{
		UUID:       n.UUID,
		DriverInfo: n.DriverInfo,
		Interfaces: map[string]string{"management": "noop"},
	})
	require.NoError(t, err)
	require.Empty(t, health)
}

func TestARoundReadsTheSystemForThePowerAndOnceForAllElse(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{}, func(c *conductor.Config) { c.SkipPowerSync, c.Power.Interval = false, 20*time.Millisecond })
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	n = s.await(n, func(now *conductor.Node) bool { return now.Health == "OK" })
	require.Equal(t, []any{"uefi", "ironstate", false}, []any{n.BootMode, n.Properties["vendor"], *n.SecureBoot})
	server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property("Status", map[string]any{"Health": "Critical"})})
	s.await(n, func(now *conductor.Node) bool { return now.Health == "CRITICAL" })

	round := []string{systemPath, systemPath, systemPath + "/SecureBoot"}
	var asked []string
	for _, r := range server.Requests() {
		asked = append(asked, r.Path)
	}
	asked = asked[slices.Index(asked, systemPath):]
	for i, path := range asked {
		require.Equal(t, round[i%len(round)], path, "%q", asked)
	}
	require.Greater(t, len(asked), len(round))
}

// The conductor warns once if the BMC forbids its user to read secure boot, and not at all if the BMC has no such
// resource.
func TestARoundAtABMCThatDoesNotTellSecureBoot(t *testing.T) {
	for status, want := range map[int]struct {
		mode     string
		warnings int
	}{http.StatusForbidden: {"", 1}, http.StatusNotFound: {"uefi", 0}} {
		server := startRedfish(t)
		server.AddFault(bmctest.Fault{On: systemPath + "/SecureBoot", Do: bmctest.Status(status)})
		var critical atomic.Bool
		server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Property("Status", map[string]any{"Health": "Critical"}),
			If: func(*http.Request) bool { return critical.Load() }})
		s := start(t, hardware.Config{}, func(c *conductor.Config) { c.SkipPowerSync, c.Power.Interval = false, 20*time.Millisecond })
		n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
		for _, health := range []string{"OK", "CRITICAL", "OK", "CRITICAL"} { // four rounds at least, of which three have ended
			critical.Store(health == "CRITICAL")
			n = s.await(n, func(now *conductor.Node) bool { return now.Health == health })
		}
		require.Equal(t, want.mode, n.BootMode, status)
		require.Equal(t, want.warnings, s.log.count(`level=WARN msg="the boot mode of a node could not be read"`), status)
	}
}
