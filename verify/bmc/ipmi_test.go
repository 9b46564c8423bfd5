// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// startIPMI starts a BMC that is on and accepts user and password.
func startIPMI(t *testing.T) *bmctest.IPMI {
	t.Helper()
	needs.Programs(t, "ipmi_sim", "ipmitool")
	server, err := bmctest.NewIPMI(t.Context(), bmctest.IPMIConfig{Users: map[string]secret.Text{user: secret.New(password)}, Power: "on"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

func ipmiConfigOf(server *bmctest.IPMI) bmc.Config {
	return bmc.Config{
		Host:     server.Host,
		IPMIPort: server.Port,
		User:     user,
		Password: secret.New(password),
		Protocol: "ipmi",
		Timeout:  time.Hour,
	}
}

func TestIPMIPowerStatesAreIronics(t *testing.T) {
	server := startIPMI(t)
	for word, want := range map[string]states.Power{"on": states.PowerOn, "off": states.PowerOff} {
		require.NoError(t, server.SetPower(word))
		power, err := newVerifier(t, ipmiConfigOf(server)).Verify(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, power)
	}
}

func TestIPMIFailuresHaveTheirKinds(t *testing.T) {
	server := startIPMI(t)
	tests := map[string]struct {
		set    func(*bmc.Config)
		kind   verify.Kind
		logins int
	}{
		"a wrong password":             {func(c *bmc.Config) { c.Password = secret.New(wrong) }, verify.Credentials, 1},
		"a wrong user":                 {func(c *bmc.Config) { c.User = "nobody" }, verify.Credentials, 1},
		"a cipher suite that it lacks": {func(c *bmc.Config) { c.CipherSuite = "17" }, verify.Unsupported, 0},
		"a cipher suite that is none":  {func(c *bmc.Config) { c.CipherSuite = "99" }, verify.Unsupported, 0},
		"a password that is too long": {func(c *bmc.Config) {
			c.Protocol, c.Password, c.RedfishPort = "auto", secret.New("123456789012345678901"), 1
		}, verify.Misconfigured, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config := ipmiConfigOf(server)
			test.set(&config)
			before := server.Logins().Attempts
			power, err := newVerifier(t, config).Verify(t.Context())
			require.ErrorIs(t, err, test.kind)
			require.Equal(t, states.NoPower, power)
			require.Equal(t, test.logins, server.Logins().Attempts-before)
			requireNoSecret(t, config, err)
		})
	}
}

func TestASilentIPMIBMCIsATimeout(t *testing.T) {
	t.Parallel()
	server := startIPMI(t)
	patient := ipmiConfigOf(server)
	config := patient
	config.Timeout = time.Second

	server.Drop(true)
	_, err := newVerifier(t, config).Verify(t.Context())
	require.ErrorIs(t, err, verify.Timeout)

	ctx := newDeadline(t)
	time.AfterFunc(100*time.Millisecond, ctx.pass)
	_, err = newVerifier(t, patient).Verify(ctx)
	require.ErrorIs(t, err, verify.Timeout)

	server.Drop(false)
	server.Kill()
	_, err = newVerifier(t, config).Verify(t.Context())
	require.True(t, errors.Is(err, verify.Timeout) || errors.Is(err, verify.Unreachable), "%v", err)

	require.NoError(t, server.Restart(t.Context()))
	_, err = newVerifier(t, patient).Verify(t.Context())
	require.NoError(t, err)
}

func TestManageOverIPMI(t *testing.T) {
	server := startIPMI(t)
	for word, want := range map[string]states.State{password: states.Manageable, wrong: states.Enroll} {
		node, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}})
		require.NoError(t, err)
		config := ipmiConfigOf(server)
		config.Password = secret.New(word)
		_, err = verify.Manage(t.Context(), node, newVerifier(t, config))
		require.Equal(t, want, node.Node().State)
		require.Equal(t, want == states.Manageable, err == nil)
		require.Equal(t, want == states.Manageable, node.Node().LastError == "")
	}
}

func TestABMCWithTooManySessionsIsAskedAgain(t *testing.T) {
	server := startIPMI(t)
	config := bmc.Config{
		Host: server.Host, IPMIPort: server.Port, Protocol: "ipmi", CipherSuite: "3", User: user, Password: secret.New(password),
	}
	server.AddFault(bmctest.IPMIFault{Times: 3, Do: bmctest.Refused(bmctest.OpenSession, bmctest.InsufficientResources)})
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		power, err := newVerifier(t, config).Verify(t.Context())
		require.NoError(t, err)
		require.Equal(t, states.PowerOn, power)
		require.Equal(t, 15*time.Second, time.Since(begun))
	})
	require.Zero(t, server.Logins().Failed)
}

func TestAutoTakesIPMIOnlyWhereRedfishIsAbsent(t *testing.T) {
	server := startIPMI(t)
	absent := map[string]bmctest.Effect{
		"nothing listens":       bmctest.Refuse(),
		"no service root":       bmctest.Status(404),
		"a page and no Redfish": bmctest.HTMLPage(),
		"a page elsewhere":      bmctest.RedirectTo("https://another-bmc.invalid/redfish/v1/"),
		"a log-in":              bmctest.Status(401),
	}
	for name, do := range absent {
		t.Run(name, func(t *testing.T) {
			redfish := startRedfish(t)
			redfish.AddFault(bmctest.Fault{Do: do})
			config := autoConfigOf(redfish, server)
			power, err := newVerifier(t, config).Verify(t.Context())
			require.NoError(t, err)
			require.Equal(t, states.PowerOn, power)
			require.Zero(t, redfish.Logins().Attempts)

			config.Password = secret.New(wrong)
			before := server.Logins().Attempts
			_, err = newVerifier(t, config).Verify(t.Context())
			require.ErrorIs(t, err, verify.Credentials)
			require.Equal(t, 1, server.Logins().Attempts-before)
			require.ErrorContains(t, err, "; before that: power interface: redfish ")
		})
	}
	present := map[string]bmctest.Fault{
		"wrong credentials": {On: "/redfish/v1/SessionService/Sessions", Do: bmctest.Status(401)},
		"locked":            {On: "/redfish/v1/SessionService/Sessions", Do: bmctest.Locked()},
		"no system":         {On: "/redfish/v1/Systems/1", Do: bmctest.Status(404)},
		"no JSON":           {On: "/redfish/v1/Systems/1", Do: bmctest.HTMLPage()},
		"busy":              {Do: bmctest.Unavailable(time.Second)},
		"no TLS":            {Do: bmctest.PlainHTTP()},
	}
	for name, fault := range present {
		t.Run(name, func(t *testing.T) {
			redfish := startRedfish(t)
			redfish.AddFault(fault)
			before := server.Logins().Attempts
			_, err := newVerifier(t, autoConfigOf(redfish, server)).Verify(t.Context())
			require.Error(t, err)
			require.Equal(t, before, server.Logins().Attempts)
		})
	}
}

func autoConfigOf(redfish *bmctest.Redfish, ipmi *bmctest.IPMI) bmc.Config {
	config := configOf(redfish)
	config.Protocol, config.IPMIPort = "auto", ipmi.Port
	return config
}

func TestTheAbsenceOfIpmitoolIsAClearError(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := newVerifier(t, bmc.Config{Host: "127.0.0.1", User: user, Password: secret.New(password), Protocol: "ipmi"}).Verify(t.Context())
	require.ErrorIs(t, err, verify.Misconfigured)
	require.EqualError(t, err, "power interface: ipmi 127.0.0.1:623: misconfigured: "+
		"the program ipmitool is not installed: IPMI needs it (Debian package ipmitool)")
}

func TestAClosedIPMIPortIsUnreachable(t *testing.T) {
	needs.Programs(t, "ipmitool")
	_, err := newVerifier(t, bmc.Config{Host: "127.0.0.1", IPMIPort: 1, User: user, Password: secret.New(password),
		Protocol: "ipmi"}).Verify(t.Context())
	require.ErrorIs(t, err, verify.Unreachable)
}

// ipmitools returns the arguments of the ipmitool processes for a BMC.
func ipmitools(t *testing.T, server *bmctest.IPMI) []string {
	t.Helper()
	lists, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var running []string
	for _, list := range lists {
		args, _ := os.ReadFile(list) // the process may be gone
		if strings.Contains(string(args), "lanplus") && strings.Contains(string(args), strconv.Itoa(server.Port)) {
			running = append(running, string(args))
		}
	}
	return running
}

// The BMC falls silent as soon as ipmitool has begun to log in.
func TestAnIpmitoolThatHangsIsKilled(t *testing.T) {
	t.Parallel()
	server, ctx := startIPMI(t), newDeadline(t)
	ended := make(chan error)
	go func() {
		_, err := newVerifier(t, ipmiConfigOf(server)).Verify(ctx)
		ended <- err
	}()
	for server.Logins().Attempts == 0 {
		time.Sleep(time.Millisecond)
	}
	server.Drop(true)
	ctx.pass()
	if err := <-ended; err != nil { // otherwise the BMC fell silent too late
		require.ErrorIs(t, err, verify.Timeout)
	}
	require.Empty(t, ipmitools(t, server))
}

func TestIPMIHasNMIsOnly(t *testing.T) {
	server := startIPMI(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": ipmiConfigOf(server)})
	_, err := d.BootMode(t.Context(), "node")
	require.ErrorIs(t, err, verify.Unsupported)
	require.ErrorIs(t, d.SetBootMode(t.Context(), "node", "uefi"), verify.Unsupported)
	require.ErrorIs(t, d.SetSecureBoot(t.Context(), "node", true), verify.Unsupported)
	require.ErrorIs(t, d.InsertMedia(t.Context(), "node", "cdrom", image), verify.Unsupported)
	require.ErrorIs(t, d.EjectMedia(t.Context(), "node"), verify.Unsupported)
	require.ErrorContains(t, d.InjectNMI(t.Context(), "node"), "Set Chassis Power Control to Diag failed", "ipmi_sim has no NMIs")
}
