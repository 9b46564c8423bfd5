// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/needs"
)

// The suites run one after the other: their clients have limits of their own, which many servers at once could exceed.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("datadriven-quiet", "true"); err != nil {
		panic(err)
	}
	leaks.Main(m)
}

func TestDebianIronic(t *testing.T) {
	needs.Time(t)
	runClients(t, ofThisMachine, startDebianIronic, knownOfDebian)
}

// A generation is the clients of a Debian, with the number of their tests.
type generation struct {
	Debian
	sdk     []sdkGroup
	tempest int
}

// ofThisMachine are the clients of Debian 12.
var ofThisMachine = generation{sdk: sdkGroups, tempest: 233}

// runClients runs the suites, each part with its own server.
func runClients(t *testing.T, g generation, start func(*testing.T) string, known known) {
	t.Run("cli", func(t *testing.T) {
		check(t, known["cli"], cli(bounded(t), t, "*", side{g.Debian, start(t)}, known["cli"]))
	})
	runSuites(t, g, start, known)
	t.Run("gophercloud", func(t *testing.T) {
		results, err := Gophercloud(bounded(t), start(t))
		require.NoError(t, err)
		require.Len(t, results, 20)
		check(t, known["gophercloud"], results)
	})
}

// runSuites runs the suites of openstacksdk and tempest, each part with its own server.
func runSuites(t *testing.T, g generation, start func(*testing.T) string, known known) {
	t.Run("openstacksdk", func(t *testing.T) {
		for _, group := range g.sdk {
			t.Run(group.modules[0], func(t *testing.T) {
				results, err := g.SDK(bounded(t), start(t), group.modules...)
				installed(t, err)
				require.NoError(t, err)
				require.Len(t, results, group.tests)
				check(t, known[group.modules[0]], results)
			})
		}
	})
	t.Run("tempest", func(t *testing.T) {
		modules, err := g.modules(bounded(t), tempestTests)
		installed(t, err)
		require.NoError(t, err)
		results, err := g.Tempest(bounded(t), start(t), modules...)
		require.NoError(t, err)
		require.Len(t, results, g.tempest)
		check(t, known["tempest"], results)
	})
}

// A sdkGroup has modules of openstacksdk's tests, with the number of their tests. The modules of a group run one
// after the other, because they create nodes of equal names.
type sdkGroup struct {
	modules []string
	tests   int
}

// sdkGroups are all modules of openstacksdk of Debian 12.
var sdkGroups = []sdkGroup{
	{[]string{"test_baremetal_node", "test_baremetal_conductor"}, 19},
	{[]string{"test_baremetal_port", "test_baremetal_port_group",
		"test_baremetal_volume_connector", "test_baremetal_volume_target"}, 28},
	{[]string{"test_baremetal_allocation", "test_baremetal_chassis",
		"test_baremetal_deploy_templates", "test_baremetal_driver"}, 23},
}

func TestAllModulesOfOpenstacksdkAreRun(t *testing.T) {
	needs.Time(t)
	requireAllModules(t, ofThisMachine)
}

func requireAllModules(t *testing.T, g generation) {
	all, err := g.modules(t.Context(), sdkTests)
	installed(t, err)
	require.NoError(t, err)
	var run []string
	for _, group := range g.sdk {
		run = append(run, group.modules...)
	}
	require.ElementsMatch(t, all, run)
}

// installed fails the test if the error says that a program is
// missing.
func installed(t *testing.T, err error) {
	t.Helper()
	missing := errors.Is(err, ErrNotInstalled) || errors.Is(err, lockstep.ErrNotInstalled)
	needs.Installed(t, !missing, fmt.Sprint(err))
}

// bounded returns the test's context with a limit a minute below the timeout of go test, the only limit of a suite. A
// suite that hangs then fails by itself, with its output.
func bounded(t *testing.T) context.Context {
	deadline, ok := t.Deadline()
	if !ok {
		return t.Context()
	}
	ctx, cancel := context.WithDeadline(t.Context(), deadline.Add(-time.Minute))
	t.Cleanup(cancel)
	return ctx
}

// check runs a subtest for each result. A test that is known not to pass must have a
// result and must not pass.
func check(t *testing.T, known map[string]string, results []Result) {
	t.Helper()
	require.NotEmpty(t, results)
	missing := maps.Clone(known)
	for _, result := range results {
		delete(missing, result.Name)
		t.Run(result.Name, func(t *testing.T) {
			reason, isKnown := known[result.Name]
			switch {
			case result.Passed && isKnown:
				t.Errorf("passes, and is listed as one that does not: %s", reason)
			case !result.Passed && isKnown:
				t.Logf("does not pass, which is known: %s\n%s", reason, result.Output)
			case !result.Passed:
				t.Error(result.Output)
			}
		})
	}
	require.Empty(t, missing, "listed as not passing, and not run")
}

// startDebianIronic starts a real Ironic that ends with the test.
func startDebianIronic(t *testing.T) string {
	t.Helper()
	needs.Turn(t)
	return startIronic(t, "")
}

// startIronic starts the real Ironic in a folder. It ends with the test.
func startIronic(t *testing.T, root string) string {
	t.Helper()
	ironic, err := lockstep.Start(bounded(t), lockstep.Options{Root: root, Config: debianConfig})
	installed(t, err)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ironic.Close()) })
	return ironic.Endpoint()
}

// debianConfig enables the hardware types and interfaces that this repository's
// conductor has, too.
const debianConfig = `
[DEFAULT]
host = conductor-1
enabled_hardware_types = fake-hardware,ipmi,redfish
enabled_bios_interfaces = fake,no-bios
enabled_firmware_interfaces = fake,no-firmware
enabled_boot_interfaces = fake,ipxe
enabled_console_interfaces = fake,no-console
enabled_deploy_interfaces = fake,direct
enabled_inspect_interfaces = fake,no-inspect
enabled_management_interfaces = fake,ipmitool,redfish
enabled_power_interfaces = fake,ipmitool,redfish
enabled_raid_interfaces = fake,agent,no-raid
enabled_rescue_interfaces = fake,no-rescue
enabled_vendor_interfaces = fake,no-vendor
[service_catalog]
endpoint_override = http://127.0.0.1:PORT
`
