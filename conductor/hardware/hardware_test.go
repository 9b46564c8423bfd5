// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func patchesOf(server *bmctest.Redfish) int {
	n := 0
	for _, r := range server.Requests() {
		if r.Method == http.MethodPatch {
			n++
		}
	}
	return n
}

func printed(v any) string { return fmt.Sprint(v) }

func newRedfish(t *testing.T, c hardware.Config) *hardware.Type {
	t.Helper()
	c.Pause = cmp.Or(c.Pause, time.Millisecond)
	b, err := hardware.NewRedfish(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return b
}

func TestAnInvalidConfigurationIsRefused(t *testing.T) {
	var wrong *machine.ConfigError
	_, err := hardware.NewRedfish(hardware.Config{Timeout: -1})
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "Timeout", wrong.Field)
	for field, config := range map[string]hardware.Config{
		"": {}, "Timeout": {Timeout: -1}, "VerifyCA": {VerifyCA: t.TempDir()}, "DefaultDeploy": {DefaultDeploy: "iscsi"},
	} {
		_, err := hardware.NewIPMI(config)
		_, same := hardware.NewRedfish(config)
		require.Equal(t, err, same)
		require.Equal(t, err, config.Check())
		require.Equal(t, field != "", errors.As(err, &wrong), "%v", err)
		if field != "" {
			require.Equal(t, field, wrong.Field)
		}
	}
	for _, url := range []string{"x", "192.0.2.1:6385", "http://", "ftp://192.0.2.1", "http://192.0.2.1:port"} {
		_, err = hardware.NewIPMI(hardware.Config{APIURL: url})
		require.EqualError(t, err, fmt.Sprintf("hardware: APIURL is %q: want a URL such as http://192.0.2.1:6385", url))
	}
	_, err = hardware.NewIPMI(hardware.Config{APIURL: "http://u@192.0.2.1"})
	require.EqualError(t, err, "hardware: APIURL: it has a user or a password, which the images and scripts of agents would show")
	for _, url := range []string{"https://metal.example", "http://[2001:db8::1]:6385/baremetal/"} {
		_, err = hardware.NewIPMI(hardware.Config{APIURL: url})
		require.NoError(t, err)
	}
}

func TestANilNodeIsAnError(t *testing.T) {
	b := newRedfish(t, hardware.Config{})
	_, err := b.PowerState(t.Context(), nil)
	require.ErrorIs(t, err, conductor.Invalid)
	require.ErrorIs(t, b.SetBootDevice(t.Context(), nil, "pxe", true), conductor.Invalid)
	require.ErrorIs(t, b.Validate(nil)["power"], conductor.Invalid)
	require.Empty(t, b.Steps(nil, states.WorkDeploy))

	var wrong *machine.ConfigError
	require.ErrorAs(t, new(hardware.Type).Close(t.Context()), &wrong)
}

func TestNegativeSessionsKeepsNoSession(t *testing.T) {
	server := startRedfish(t)
	b := newRedfish(t, hardware.Config{Sessions: -1})
	n := &conductor.Node{UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, server)}
	_, err := b.PowerState(t.Context(), n)
	require.NoError(t, err)
	require.Empty(t, server.Sessions())
}

func TestAVerificationReadsTheBootDeviceIfConfigured(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.WithoutProperty("Boot")})
	n := &conductor.Node{UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, server)}
	power, err := newRedfish(t, hardware.Config{}).Verify(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, states.PowerOff, power)
	_, err = newRedfish(t, hardware.Config{CheckManagement: true}).Verify(t.Context(), n)
	var failed *verify.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "management interface", failed.Op)
}

func TestACallIsBoundedInTime(t *testing.T) {
	effects := bmctest.Effects()
	silent := effects[slices.IndexFunc(effects, func(e bmctest.Effect) bool { return e.String() == "Silent()" })]
	for name, fault := range map[string]bmctest.Fault{
		"an answer":    {On: "/redfish/v1/Systems/1", Do: bmctest.HangAfter(0)},
		"a connection": {Do: silent},
	} {
		server := startRedfish(t)
		server.AddFault(fault)
		n := &conductor.Node{UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, server)}
		b := newRedfish(t, hardware.Config{Timeout: 50 * time.Millisecond})
		_, err := b.Verify(t.Context(), n)
		require.ErrorIs(t, err, verify.Timeout, name)
		_, err = b.PowerState(t.Context(), n)
		require.ErrorIs(t, err, verify.Timeout, name)
	}
}

// A record may change while a call is in flight; each call uses the record of its time.
func TestCallsOfManyNodesDoNotMix(t *testing.T) {
	b := newRedfish(t, hardware.Config{})
	var calls sync.WaitGroup
	for i := range 4 {
		want := []string{"On", "Off"}[i%2]
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Systems = []bmctest.System{{ID: "1", Power: want}} })
		n := &conductor.Node{UUID: fmt.Sprint(i), Driver: "redfish", DriverInfo: redfishInfo(t, server)}
		for range 3 {
			calls.Go(func() {
				for range 5 {
					power, err := b.PowerState(t.Context(), n)
					assert.NoError(t, err)
					assert.Equal(t, want == "On", power == states.PowerOn)
				}
			})
		}
	}
	calls.Wait()
}

func TestASoftRebootIsAGracefulRestart(t *testing.T) {
	server := startRedfish(t)
	require.NoError(t, server.SetPower("1", "On"))
	n := &conductor.Node{UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, server)}
	require.NoError(t, newRedfish(t, hardware.Config{}).SetPower(t.Context(), n, states.PowerSoftRebooting))
	require.NoError(t, server.SetPower("1", "Off"))
	require.NoError(t, newRedfish(t, hardware.Config{}).SetPower(t.Context(), n, states.PowerSoftRebooting))
	require.Equal(t, "On", server.Power("1"))
}

func TestBootDevicesAreIronics(t *testing.T) {
	ipmi, err := hardware.NewIPMI(hardware.Config{})
	require.NoError(t, err)
	redfish := newRedfish(t, hardware.Config{})
	noop := map[string]string{"management": "noop"}
	for _, test := range []struct {
		b          *hardware.Type
		interfaces map[string]string
		want       []string
	}{
		{redfish, nil, []string{"pxe", "disk", "cdrom", "bios", "uefihttp"}},
		{ipmi, nil, []string{"pxe", "disk", "cdrom", "bios", "safe"}},
		{redfish, noop, []string{"pxe", "disk"}},
		{ipmi, noop, []string{"pxe", "disk"}},
	} {
		n := &conductor.Node{UUID: "1", Interfaces: test.interfaces}
		got, err := test.b.BootDevices(t.Context(), n)
		require.NoError(t, err)
		require.Equal(t, test.want, got)
		err = test.b.SetBootDevice(t.Context(), n, "tape", true)
		require.ErrorIs(t, err, conductor.Invalid)
		if test.interfaces == nil {
			require.EqualError(t, err, "Invalid boot device tape specified.")
		} else {
			require.EqualError(t, err, "Invalid boot device tape specified, supported are pxe, disk.")
		}
	}
}

func TestNoManagementLeavesTheBootDeviceAlone(t *testing.T) {
	server := startRedfish(t)
	n := &conductor.Node{UUID: "1", Driver: "redfish", Interfaces: map[string]string{"management": "noop"}}
	b := newRedfish(t, hardware.Config{})
	require.NoError(t, b.SetBootDevice(t.Context(), n, "disk", true))
	device, persistent, err := b.BootDevice(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, "pxe", device)
	require.True(t, persistent)
	require.Empty(t, server.Requests())
}

func TestWorkWithoutStepsHasNone(t *testing.T) {
	b := newRedfish(t, hardware.Config{})
	for _, work := range []states.Work{states.WorkClean, states.WorkService, states.WorkRescue, states.WorkUnrescue} {
		require.Empty(t, b.Steps(&conductor.Node{Interfaces: map[string]string{"bios": "no-bios"}}, work))
	}
	require.Empty(t, b.Steps(&conductor.Node{Interfaces: map[string]string{"inspect": "no-inspect"}}, states.WorkInspect))
}

func TestADeploymentHasTheStepsOfTheBIOSInterface(t *testing.T) {
	b := newRedfish(t, hardware.Config{})
	for _, c := range []struct {
		bios, deploy string
		want         []string
	}{
		{"redfish", "direct", []string{"apply_configuration", "factory_reset"}},
		{"redfish", "ramdisk", []string{"apply_configuration", "factory_reset", "deploy"}},
		{"no-bios", "ramdisk", []string{"deploy"}},
		{"no-bios", "direct", nil},
	} {
		var names []string
		for _, step := range b.Steps(&conductor.Node{Interfaces: map[string]string{"bios": c.bios, "deploy": c.deploy}}, states.WorkDeploy) {
			names = append(names, step.Step)
		}
		require.Equal(t, c.want, names, "%v", c)
	}
}

func TestDefaultDeployIsTheFirstDeployInterface(t *testing.T) {
	for _, chosen := range []string{"custom-agent", "", "ramdisk", "direct"} {
		b, err := hardware.NewRedfish(hardware.Config{DefaultDeploy: chosen})
		require.NoError(t, err)
		deploy := b.Describe().Interfaces["deploy"]
		require.Equal(t, cmp.Or(chosen, "direct"), deploy[0], "also after a type with another default")
		require.Len(t, deploy, 3)
	}
	_, err := hardware.NewRedfish(hardware.Config{DefaultDeploy: "iscsi"})
	require.ErrorContains(t, err, "DefaultDeploy")
}
