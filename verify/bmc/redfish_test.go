// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

func TestRedfishPowerStatesAreIronics(t *testing.T) {
	server := startRedfish(t)
	for word, want := range map[string]states.Power{
		"On": states.PowerOn, "PoweringOn": states.PowerOn,
		"Off": states.PowerOff, "PoweringOff": states.PowerOff,
	} {
		require.NoError(t, server.SetPower("1", word))
		power, err := newVerifier(t, configOf(server)).Verify(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, power)
	}
	require.NoError(t, server.SetPower("1", "Paused"))
	power, err := newVerifier(t, configOf(server)).Verify(t.Context())
	require.ErrorIs(t, err, verify.Unsupported)
	require.ErrorContains(t, err, `power state: redfish `+server.Addr+`: not supported: the power state read is "Paused"`)
	require.Equal(t, states.NoPower, power)
	require.Empty(t, server.Sessions())
}

// SECURITY.md: A refused password is not sent again.
func TestAWrongPasswordIsOneLogin(t *testing.T) {
	for _, protocol := range []string{"redfish", "auto"} {
		server := startRedfish(t)
		config := configOf(server)
		config.Protocol, config.Password = protocol, secret.New(wrong)
		_, err := newVerifier(t, config).Verify(t.Context())
		require.ErrorIs(t, err, verify.Credentials)
		require.Equal(t, bmctest.Logins{Attempts: 1, Failed: 1}, server.Logins())
		requireNoSecret(t, config, err)
	}
}

func TestALockedAccountIsSaidToBe(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.LockAfter = 1 })
	config := configOf(server)
	config.Password = secret.New(wrong)
	_, err := newVerifier(t, config).Verify(t.Context())
	require.ErrorIs(t, err, verify.Credentials)
	_, err = newVerifier(t, configOf(server)).Verify(t.Context())
	require.ErrorIs(t, err, verify.Locked)
	require.Equal(t, 2, server.Logins().Attempts)
}

// SECURITY.md: Certificates are verified for each new connection, unless the node's `redfish_verify_ca` is false.
func TestCertificatesAreVerifiedUnlessTheCallerSaysOtherwise(t *testing.T) {
	for _, certificate := range bmctest.BadCertificates() {
		t.Run(string(certificate), func(t *testing.T) {
			server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Certificate = certificate })
			_, err := newVerifier(t, configOf(server)).Verify(t.Context())
			require.ErrorIs(t, err, verify.TLS)
			require.Zero(t, server.Logins().Attempts, "no password goes where no trust is")

			config := configOf(server)
			config.RootCAs, config.InsecureSkipTLSVerify = nil, true
			_, err = newVerifier(t, config).Verify(t.Context())
			require.NoError(t, err)
		})
	}
	server := startRedfish(t)
	config := configOf(server)
	config.RootCAs = nil
	_, err := newVerifier(t, config).Verify(t.Context())
	require.ErrorIs(t, err, verify.TLS, "the system's authorities did not sign it")
}

func TestAPinnedCertificateIsTakenForItselfAlone(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Certificate = "expired" })
	other := startRedfish(t)
	config := configOf(server)
	config.RootCAs = nil

	config.Fingerprint = strings.ToUpper(fmt.Sprintf("% x", server.Fingerprint))
	config.Fingerprint = strings.ReplaceAll(config.Fingerprint, " ", ":")
	_, err := newVerifier(t, config).Verify(t.Context())
	require.NoError(t, err)

	config.Fingerprint = fmt.Sprintf("%x", other.Fingerprint)
	_, err = newVerifier(t, config).Verify(t.Context())
	require.ErrorIs(t, err, verify.TLS)
	require.ErrorContains(t, err, fmt.Sprintf("%x", server.Fingerprint))
	require.Equal(t, 1, server.Logins().Attempts)
}

func TestOneOfSeveralSystemsIsChosen(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Systems = []bmctest.System{{ID: "1", Name: "left", Power: "On"}, {ID: "2", Name: "right"}}
	})
	for name, want := range map[string]states.Power{"left": states.PowerOn, "right": states.PowerOff} {
		config := configOf(server)
		config.SystemName = name
		power, err := newVerifier(t, config).Verify(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, power)
	}
	for id, want := range map[string]states.Power{"1": states.PowerOn, "2": states.PowerOff} {
		config := configOf(server)
		config.SystemID = id
		power, err := newVerifier(t, config).Verify(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, power)
	}
	for _, id := range []string{"", "3"} {
		config := configOf(server)
		config.SystemID = id
		_, err := newVerifier(t, config).Verify(t.Context())
		require.ErrorIs(t, err, verify.Unsupported)
	}
	for _, name := range []string{"", "middle"} {
		config := configOf(server)
		config.SystemName = name
		_, err := newVerifier(t, config).Verify(t.Context())
		require.ErrorIs(t, err, verify.Unsupported)
	}
	require.Empty(t, server.Sessions())
}

func TestEachStepFailsByItself(t *testing.T) {
	const system = "/redfish/v1/Systems/1"
	tests := map[string]struct {
		fault bmctest.Fault
		step  string
		kind  verify.Kind
	}{
		"no session service": {bmctest.Fault{On: "/redfish/v1/SessionService/Sessions", Do: bmctest.Status(404)}, "power interface",
			verify.Unsupported},
		"no systems":       {bmctest.Fault{On: "/redfish/v1/Systems", Do: bmctest.Status(404)}, "management interface", verify.Unsupported},
		"no boot override": {bmctest.Fault{On: system, Do: bmctest.WithoutProperty("Boot")}, "management interface", verify.Unsupported},
		"an empty override": {bmctest.Fault{On: system, Do: bmctest.Property("Boot", map[string]any{})}, "management interface",
			verify.Unsupported},
		"a slow system":        {bmctest.Fault{On: system, Do: bmctest.HangAfter(0)}, "management interface", verify.Timeout},
		"no power state":       {bmctest.Fault{On: system, Do: bmctest.WithoutProperty("PowerState")}, "power state", verify.Unsupported},
		"slow the second time": {bmctest.Fault{On: system, Skip: 1, Do: bmctest.HangAfter(0)}, "power state", verify.Timeout},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, ctx := startRedfish(t), newDeadline(t)
			if test.kind == verify.Timeout {
				test.fault.If = func(*http.Request) bool { ctx.pass(); return true }
			}
			server.AddFault(test.fault)
			config := configOf(server)
			config.Auth = "session"
			_, err := newVerifier(t, config).Verify(ctx)
			var failed *verify.Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, test.step, failed.Op, "%v", err)
			require.Equal(t, test.kind, failed.Kind, "%v", err)
			require.Equal(t, "redfish", failed.Protocol)
			require.Equal(t, server.Addr, failed.Host)
			require.Empty(t, server.Sessions())
		})
	}
}

func TestTheManagementStepCanBeLeftOut(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.WithoutProperty("Boot")})
	config := configOf(server)
	config.CheckManagement = false
	power, err := newVerifier(t, config).Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, states.PowerOn, power)
}

func TestABootDeviceThatBmclibHasNoWordForIsOne(t *testing.T) {
	server := startRedfish(t)
	boot := map[string]string{"BootSourceOverrideTarget": "UefiBootNext"}
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.Property("Boot", boot)})
	_, err := newVerifier(t, configOf(server)).Verify(t.Context())
	require.NoError(t, err)
}

func TestABMCBehindAProxyIsReachedByItsBasePath(t *testing.T) {
	server := startRedfish(t)
	target, err := url.Parse("https://" + server.Addr)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = server.Client().Transport
	proxy.ModifyResponse = func(resp *http.Response) error {
		if location := resp.Header.Get("Location"); location != "" {
			resp.Header.Set("Location", "/bmc/17"+location)
		}
		return nil
	}
	front := httptest.NewTLSServer(http.StripPrefix("/bmc/17", proxy))
	defer front.Close()

	config := configOf(server)
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AddCert(front.Certificate())
	config.RedfishPort = front.Listener.Addr().(*net.TCPAddr).Port
	config.BasePath = "/bmc/17"
	_, err = newVerifier(t, config).Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, server.Logins().Succeeded)
	require.Empty(t, server.Sessions())

	config.BasePath = "/bmc/18"
	_, err = newVerifier(t, config).Verify(t.Context())
	require.ErrorIs(t, err, verify.Unsupported)
}

// requireNoSecret checks that an error does not contain the password in any form.
func requireNoSecret(t *testing.T, config bmc.Config, err error) {
	t.Helper()
	for _, form := range []string{config.Password.Reveal(), "wrong%2Bhorse", "correct+horse", "correct%2Bhorse"} {
		require.NotContains(t, err.Error(), form)
	}
}

func TestACancelledVerificationEndsAtOnce(t *testing.T) {
	bmc.ShortenLoginGrace(t)
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t)
			ctx, cancel := context.WithCancel(t.Context())
			request.Do = bmctest.HangAfter(0)
			request.If = func(*http.Request) bool { cancel(); return true }
			server.AddFault(request)
			_, err := newVerifier(t, configOf(server)).Verify(ctx)
			require.ErrorIs(t, err, verify.Cancelled)
			require.ErrorIs(t, err, context.Canceled)
			if name != "log-in" {
				require.Empty(t, server.Sessions())
			}
		})
	}
}

func TestAVerifierMayBeShared(t *testing.T) {
	server := startRedfish(t)
	v := newVerifier(t, configOf(server))
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			power, err := v.Verify(t.Context())
			require.NoError(t, err)
			require.Equal(t, states.PowerOn, power)
		})
	}
	wg.Wait()
	require.Empty(t, server.Sessions())
	require.Equal(t, 12, server.Logins().Succeeded)
}

func TestAnEndedContextSendsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, protocol := range []string{"redfish", "ipmi", "auto"} {
		server := startRedfish(t)
		config := configOf(server)
		config.Protocol = protocol
		if protocol == "ipmi" {
			needs.Programs(t, "ipmitool")
		}
		_, err := newVerifier(t, config).Verify(ctx)
		require.ErrorIs(t, err, verify.Cancelled)
		require.Empty(t, server.Requests())
	}
}
