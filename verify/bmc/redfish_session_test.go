// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

const sessionsPath = "/redfish/v1/SessionService/Sessions"

// The context has ended when the BMC opens the session, and answers a little later.
func TestASessionThatIsOpenedTooLateIsClosed(t *testing.T) {
	for _, late := range []time.Duration{0, 50 * time.Millisecond} {
		t.Run(late.String(), func(t *testing.T) {
			server := startRedfish(t)
			ctx, cancel := context.WithCancel(t.Context())
			server.AddFault(bmctest.Fault{On: sessionsPath, Method: http.MethodPost, Do: bmctest.Delay(late),
				If: func(*http.Request) bool { cancel(); return true }})
			_, err := newVerifier(t, configOf(server)).Verify(ctx)
			require.ErrorIs(t, err, verify.Cancelled)
			require.Equal(t, 1, server.Logins().Succeeded)
			require.Empty(t, server.Sessions())
		})
	}
}

func TestASessionIsFoundHoweverItIsNamed(t *testing.T) {
	for _, do := range []bmctest.Effect{
		bmctest.EscapedLocation(),
		bmctest.BareLocation(),
		bmctest.WithoutHeader("Location"),
		bmctest.WithoutBody(),
		bmctest.NamelessSession(),
		bmctest.TruncatedJSON(),
		setHeader("Location", ":%zz"),
		setHeader("Location", "https://bmc.invalid"),
		setHeader("Location", "?session=1"),
		setHeader("Location", sessionsPath+"/none"),
		setHeader("Location", "/redfish/v1/Systems/1"),
		bmctest.WithoutHeader("X-Auth-Token"),
	} {
		t.Run(do.String(), func(t *testing.T) {
			server := startRedfish(t)
			server.AddFault(bmctest.Fault{On: sessionsPath, Method: http.MethodPost, Do: do})
			_, err := newVerifier(t, configOf(server)).Verify(t.Context())
			if do.String() == `WithoutHeader("X-Auth-Token")` {
				require.ErrorContains(t, err, "the session has no token")
			} else {
				require.NoError(t, err)
			}
			require.Zero(t, server.Logins().Failed)
			require.Empty(t, server.Sessions())
			for _, r := range server.Requests() {
				require.False(t, r.Method == http.MethodDelete && r.Path == systemPath, "a system is no session")
			}
		})
	}
}

// A BMC has 16 sessions: if each attempt left one, all clients would be locked out.
func TestAttemptsInARowLeaveNoSession(t *testing.T) {
	server := startRedfish(t)
	attempts := 21
	if needs.Asked(needs.Systems) && !raced {
		attempts = 201
	}
	for i := range attempts {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		effects := []bmctest.Effect{
			bmctest.Change("too late", func(_ http.Header, body []byte) []byte { cancel(); return body }),
			bmctest.EscapedLocation(), bmctest.WithoutHeader("Location"),
		}
		require.NoError(t, server.ClearFaults())
		server.AddFault(bmctest.Fault{On: sessionsPath, Method: http.MethodPost, Do: effects[i%len(effects)]})
		_, err := newVerifier(t, configOf(server)).Verify(ctx)
		if i%len(effects) == 0 {
			require.ErrorIs(t, err, verify.Cancelled)
		} else {
			require.NoError(t, err)
		}
		require.Empty(t, server.Sessions(), "after attempt %d", i+1)
	}
}

func TestADriverHasOneSessionANode(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.MaxSessions = 1 })
	server.AddFault(bmctest.Fault{On: sessionsPath, Method: http.MethodPost, Do: bmctest.Delay(5 * time.Millisecond)})
	config := configOf(server)
	config.Auth = "session"
	for _, sessions := range []int{0, 1} {
		d := newDriver(t, sessions, map[string]bmc.Config{"node": config})
		var calls sync.WaitGroup
		for i := range 16 {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Millisecond)
				defer cancel()
				_, err := d.PowerState(ctx, "node")
				assert.NotErrorIs(t, err, verify.Unreachable, "the BMC has no room for a second session")
			})
		}
		calls.Wait()
		require.NoError(t, d.Close(t.Context()))
		require.Empty(t, server.Sessions())
	}
}

func TestABMCWithoutSessionsGetsBasicAuthentication(t *testing.T) {
	withoutSessions := func(c *bmctest.RedfishConfig) { c.NoSessions = true }
	for _, test := range []struct {
		auth string
		kind verify.Kind
		logins
	}{
		{"auto", verify.Failed, logins{right: true, wrong: 1}},
		{"basic", verify.Failed, logins{right: true, wrong: 1}},
		{"session", verify.Unsupported, logins{}},
	} {
		t.Run(string(test.auth), func(t *testing.T) {
			server := startRedfish(t, withoutSessions)
			config := configOf(server)
			config.Auth = test.auth
			power, err := newVerifier(t, config).Verify(t.Context())
			if test.right {
				require.NoError(t, err)
				require.Equal(t, states.PowerOn, power)
				require.Positive(t, server.Logins().Succeeded)
			} else {
				require.ErrorIs(t, err, test.kind)
			}
			require.Equal(t, server.Logins().Attempts, server.Logins().Succeeded)

			config.Password = secret.New(wrong)
			_, err = newVerifier(t, config).Verify(t.Context())
			require.Error(t, err)
			require.Equal(t, test.wrong, server.Logins().Failed)
			requireNoSecret(t, config, err)
			if test.wrong > 0 {
				require.ErrorIs(t, err, verify.Credentials)
				require.ErrorContains(t, err, "power interface", "a refusal is the log-in's")
			}
		})
	}
}

// Sessions that other programs have left open last for half an hour.
func TestABMCWithoutAFreeSessionGetsBasicAuthentication(t *testing.T) {
	for name, full := range map[string]bmctest.Effect{
		"DMTF": bmctest.Delay(0),
		"an iDRAC": bmctest.Handle("full", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error": {"@Message.ExtendedInfo": [{"MessageId": "IDRAC.2.8.RAC0218",
				"Message": "The maximum number of user sessions is reached."}]}}`))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.MaxSessions = 1 })
			other := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
			_, err := other.PowerState(t.Context(), "node")
			require.NoError(t, err)
			server.AddFault(bmctest.Fault{On: sessionsPath, Method: http.MethodPost, Do: full})
			config := configOf(server)
			d := newDriver(t, 1, map[string]bmc.Config{"node": config})
			require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOff))
			require.Equal(t, "Off", server.Power("1"))

			config.Auth = "session"
			_, err = newVerifier(t, config).Verify(t.Context())
			require.ErrorIs(t, err, verify.Unreachable)

			config.Auth, config.Password = "auto", secret.New(wrong)
			_, err = newVerifier(t, config).Verify(t.Context())
			require.ErrorIs(t, err, verify.Credentials)
			require.Equal(t, 1, server.Logins().Failed)
			require.Len(t, server.Sessions(), 1)

			require.NoError(t, other.Close(t.Context()))
			require.NoError(t, server.ClearFaults())
			require.Empty(t, server.Sessions())
			_, err = d.PowerState(t.Context(), "node")
			require.NoError(t, err)
			require.Len(t, server.Sessions(), 1, "the next call opens a session")
		})
	}
}

// logins are the log-ins that a BMC without sessions records.
type logins struct {
	right bool // the right password is accepted
	wrong int  // failed logins with a wrong password
}

func TestBasicAuthenticationOpensNoSession(t *testing.T) {
	server := startRedfish(t)
	config := configOf(server)
	config.Auth = "basic"
	_, err := newVerifier(t, config).Verify(t.Context())
	require.NoError(t, err)
	for _, r := range server.Requests() {
		require.NotEqual(t, http.MethodPost, r.Method)
	}
	d := newDriver(t, 1, map[string]bmc.Config{"node": config})
	require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOff))
	require.Equal(t, "Off", server.Power("1"))
}

// SECURITY.md: A refused password is not sent again.
func TestARefusedPasswordIsNotTriedByBasicAuthentication(t *testing.T) {
	server := startRedfish(t)
	config := configOf(server)
	config.Password = secret.New(wrong)
	_, err := newVerifier(t, config).Verify(t.Context())
	require.ErrorIs(t, err, verify.Credentials)
	require.Equal(t, bmctest.Logins{Attempts: 1, Failed: 1}, server.Logins())
}

// Some BMCs require credentials for the systems but not for their collection.
func TestARefusedPasswordIsNotTriedForEachSystem(t *testing.T) {
	for _, auth := range []string{"basic", "session"} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) {
			c.Systems = []bmctest.System{{ID: "1"}, {ID: "2"}, {ID: "3"}}
			for _, s := range c.Systems {
				c.Faults = append(c.Faults, bmctest.Fault{On: systemsPath + "/" + s.ID, Do: bmctest.Status(http.StatusUnauthorized)})
			}
		})
		config := configOf(server)
		config.Auth, config.SystemName = auth, "3"
		_, err := newVerifier(t, config).Verify(t.Context())
		require.ErrorIs(t, err, verify.Credentials)
		refused := 0
		for _, r := range server.Requests() {
			if r.Status == http.StatusUnauthorized {
				refused++
			}
		}
		require.Equal(t, 1, refused)
	}
}

// A connection without a session does not expire: a refusal is a refusal of the
// password.
//
// SECURITY.md: A refused password is not sent again.
func TestADriverDoesNotTryARefusedPasswordAgain(t *testing.T) {
	server := startRedfish(t)
	config := configOf(server)
	config.Auth = "basic"
	d := newDriver(t, 1, map[string]bmc.Config{"node": config})
	_, err := d.PowerState(t.Context(), "node")
	require.NoError(t, err)
	server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.Status(http.StatusUnauthorized)})
	before := len(server.Requests())
	_, err = d.PowerState(t.Context(), "node")
	require.ErrorIs(t, err, verify.Credentials)
	require.Len(t, server.Requests(), before+1)
}

// The selected system is not the last one in the collection.
func TestManagementIsReadFromTheSelectedSystem(t *testing.T) {
	for i, want := range []error{nil, verify.Unsupported} {
		meant, other := fmt.Sprint(i+1), fmt.Sprint(2-i)
		set := map[string]func(*bmc.Config){
			"by name": func(c *bmc.Config) { c.SystemName = "node-" + meant },
			"by ID":   func(c *bmc.Config) { c.SystemID = meant },
		}
		for how, set := range set {
			t.Run(how+" "+meant, func(t *testing.T) {
				server := startRedfish(t, func(c *bmctest.RedfishConfig) {
					c.Systems = []bmctest.System{{ID: "1", Name: "node-1", Power: "On"}, {ID: "2", Name: "node-2", Power: "On"}}
				})
				server.AddFault(bmctest.Fault{On: systemsPath + "/2", Do: bmctest.WithoutProperty("Boot")})
				server.AddFault(bmctest.Fault{On: systemsPath + "/" + other, Do: bmctest.Delay(30 * time.Millisecond)})
				config := configOf(server)
				set(&config)
				_, err := newVerifier(t, config).Verify(t.Context())
				require.ErrorIs(t, err, want)
				if want != nil {
					require.ErrorContains(t, err, "management interface")
				}
			})
		}
	}
}

// Some BMCs refuse a session that they accept elsewhere at a resource that the call can do without.
func TestASessionThatIsRefusedAtAResourceThatIsNotNeededIsKept(t *testing.T) {
	const settings, info = systemPath + "/SD", systemPath + "/ResetActionInfo"
	device := func(d *bmc.Driver) error { return d.SetBootDevice(t.Context(), "node", "pxe", false) }
	for name, test := range map[string]struct {
		at string
		do func(*bmc.Driver) error
	}{
		"set the boot device": {settings, device},
		"read the boot device": {settings, func(d *bmc.Driver) error {
			_, _, err := d.BootDevice(t.Context(), "node")
			return err
		}},
		"set the boot mode": {settings, func(d *bmc.Driver) error { return d.SetBootMode(t.Context(), "node", "bios") }},
		"set the power":     {info, func(d *bmc.Driver) error { return d.SetPower(t.Context(), "node", states.PowerOff) }},
		"read the BIOS settings": {registriesPath, func(d *bmc.Driver) error {
			_, err := d.BIOS(t.Context(), "node")
			return err
		}},
	} {
		refused := bmctest.Fault{On: test.at, Method: http.MethodGet, Do: bmctest.Status(http.StatusUnauthorized)}
		d, server := profileDriver(t, bmctest.Profile{Settings: "SD", ActionInfo: true}, refused)
		for range 2 {
			require.NoError(t, test.do(d), name)
		}
		require.Positive(t, count(server, http.MethodGet, test.at), name)
		require.Equal(t, 1, server.Logins().Attempts, name)
	}
	refused := bmctest.Fault{On: settings, Method: http.MethodGet, Do: bmctest.Status(http.StatusUnauthorized)}
	d, _ := profileDriver(t, bmctest.Profile{Settings: "SD"}, refused, drops(2))
	require.ErrorIs(t, device(d), verify.Protocol, "the BMC drops what it has accepted")
}

// The session may also have ended there.
func TestASessionThatEndsAtAResourceThatIsNotNeededIsOpenedAgain(t *testing.T) {
	const ports = adaptersPath + "/NIC.1/Ports"
	for at, test := range map[string]struct {
		at string
		do func(*bmc.Driver) (any, error)
	}{
		"BIOS": {registriesPath, func(d *bmc.Driver) (any, error) { return d.BIOS(t.Context(), "node") }},
		"MACs": {adaptersPath, func(d *bmc.Driver) (any, error) { return d.MACAddresses(t.Context(), "node") }},
		"boot device": {systemPath + "/SD", func(d *bmc.Driver) (any, error) {
			word, _, err := d.BootDevice(t.Context(), "node")
			return word, err
		}},
	} {
		for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
			name := fmt.Sprint(at, " ", status)
			ends, ended := false, "" // the token of the session
			d, server := profileDriver(t, bmctest.Profile{Settings: "SD"},
				bmctest.Fault{Do: bmctest.Status(status), If: func(r *http.Request) bool {
					token := r.Header.Get("X-Auth-Token")
					if ends && r.URL.Path == test.at && ended == "" {
						ended = token
					}
					return token != "" && token == ended
				}},
				bmctest.Fault{On: systemPath + "/EthernetInterfaces", Do: bmctest.Property("Members", []any{})},
				serving(t, adaptersPath+"/NIC.1", map[string]any{"Id": "NIC.1", "Ports": linkTo(ports)}),
				serving(t, ports, map[string]any{"Members": []any{linkTo(ports + "/1")}}),
				serving(t, ports+"/1", map[string]any{"Id": "1", "Ethernet": map[string]any{"AssociatedMACAddresses": []any{"52:54:00:aa:bb:01"}}}))
			for _, f := range withAdapters(t, linkTo(adaptersPath+"/NIC.1")) {
				server.AddFault(f)
			}
			want, err := test.do(d)
			require.NoError(t, err, name)
			ends = true
			got, err := test.do(d)
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
			require.NotEmpty(t, ended, name)
			_, err = d.PowerState(t.Context(), "node")
			require.NoError(t, err, name)
			require.Equal(t, 2, server.Logins().Attempts, name)
		}
	}
}

// What cannot be read of one part leaves the others of the call, and the later calls of the session, as they are.
func TestNoResourceIsLeftOutAfterCredentialsWereRefusedAtAnother(t *testing.T) {
	for _, auth := range []string{"session", "basic"} {
		server := startRedfish(t)
		config := configOf(server)
		config.Auth = auth
		d := newDriver(t, 1, map[string]bmc.Config{"node": config})
		want, err := d.Inspect(t.Context(), "node")
		require.NoError(t, err, auth)
		require.NotEmpty(t, want.Interfaces)
		settings, err := d.BIOS(t.Context(), "node")
		require.NoError(t, err, auth)
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
		logins := server.Logins().Attempts
		server.AddFault(bmctest.Fault{On: registriesPath, Times: 1, Do: bmctest.Status(http.StatusUnauthorized)})
		found, err := d.BIOS(t.Context(), "node")
		require.NoError(t, err, auth)
		require.Len(t, found, len(settings), auth)
		got, err := d.Inspect(t.Context(), "node")
		require.NoError(t, err, auth)
		require.Equal(t, want, got, auth)
		require.NoError(t, d.EjectMedia(t.Context(), "node"), auth)
		require.Empty(t, server.Media("CD"), auth)
		if auth == "session" {
			require.Equal(t, logins, server.Logins().Attempts)
		}

		server.AddFault(bmctest.Fault{On: systemPath + "/Processors", Do: bmctest.Status(http.StatusUnauthorized)})
		got, err = d.Inspect(t.Context(), "node")
		require.ErrorIs(t, err, verify.Credentials, auth)
		require.Equal(t, want.Interfaces, got.Interfaces, auth)
		require.Equal(t, want.Disks, got.Disks, auth)
	}
}
