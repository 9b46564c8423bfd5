// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package bmc_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// inBubble returns a configuration with the times of a user. In a bubble it is before the date of all certificates.
func inBubble(c bmc.Config) bmc.Config {
	c.Timeout, c.Pause, c.RootCAs, c.InsecureSkipTLSVerify = 0, 3*time.Second, nil, true
	return c
}

// A BMC refuses connections for a moment when its network or its web server starts again.
func TestARequestThatFailsForTheMomentIsRepeated(t *testing.T) {
	cut := bmctest.Handle("cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for name, test := range map[string]struct {
		fault bmctest.Fault
		heals time.Duration // when the fault ends; 0 stands for never
		kind  verify.Kind   // survived stands for none
		after time.Duration
	}{
		"connections are refused": {bmctest.Fault{Do: bmctest.Refuse()}, 5 * time.Second, survived, 6 * time.Second},
		"they remain refused":     {bmctest.Fault{Do: bmctest.Refuse()}, 0, verify.Unreachable, 27 * time.Second},
		// The first read is sent again at once, since the BMC may have closed the open connection before.
		"two reads are cut":         {bmctest.Fault{On: systemPath, Times: 3, Do: bmctest.ResetAfter(0)}, 0, survived, 6 * time.Second},
		"two answers are cut":       {bmctest.Fault{On: systemPath, Times: 4, Do: bmctest.CloseAfter(300)}, 0, survived, 12 * time.Second},
		"the BMC is not available":  {bmctest.Fault{On: systemPath, Times: 2, Do: bmctest.Unavailable(0)}, 0, survived, 6 * time.Second},
		"a read fails":              {bmctest.Fault{On: systemPath, Do: bmctest.Status(500)}, 0, verify.Protocol, 6 * time.Second},
		"a log-in is cut":           {bmctest.Fault{On: sessionsPath, Do: cut}, 0, verify.Protocol, 0},
		"a log-in is refused":       {bmctest.Fault{On: sessionsPath, Do: bmctest.Status(401)}, 0, verify.Credentials, 0},
		"a session is refused":      {bmctest.Fault{On: systemPath, Do: bmctest.Status(401)}, 0, verify.Credentials, 0},
		"there is no such thing":    {bmctest.Fault{On: systemPath, Do: bmctest.Status(404)}, 0, verify.Unsupported, 0},
		"an answer breaks HTTP":     {bmctest.Fault{On: systemPath, Do: bmctest.Raw("HTTP/1.1 200 OK\r\nX\r\n\r\n")}, 0, verify.Protocol, 0},
		"the port begins to refuse": {bmctest.Fault{On: systemPath, Do: bmctest.Refuse()}, 10 * time.Second, survived, 12 * time.Second},
		"it refuses after the log-in": {
			bmctest.Fault{On: "/redfish/v1/Systems", Do: bmctest.Refuse()}, 10 * time.Second, survived, 12 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t)
			server.AddFault(test.fault)
			var log bytes.Buffer
			config := inBubble(configOf(server))
			config.CheckManagement = false
			config.Log = slog.New(slog.NewTextHandler(&log, nil))
			heal, healed := make(chan struct{}), make(chan error, 1)
			go func() { // outside of the bubble, as the BMC is
				for range heal {
					healed <- server.ClearFaults()
				}
			}()
			defer close(heal)
			synctest.Test(t, func(t *testing.T) {
				if test.heals > 0 {
					time.AfterFunc(test.heals, func() {
						heal <- struct{}{}
						require.NoError(t, <-healed)
					})
				}
				begun := time.Now()
				power, err := newVerifier(t, config).Verify(t.Context())
				if test.kind == survived {
					require.NoError(t, err)
					require.Equal(t, states.PowerOn, power)
				} else {
					require.ErrorIs(t, err, test.kind)
				}
				require.Equal(t, test.after, time.Since(begun))
			})
			require.LessOrEqual(t, server.Logins().Attempts, 1)
			require.Empty(t, server.Sessions())
			require.Equal(t, int(test.after/(3*time.Second)), strings.Count(log.String(), "level=WARN"), "each repetition is seen in the log")
		})
	}
}

// An iDRAC 10 does not switch its machine on for a minute after it has switched it off.
func TestAPowerOnIsRepeatedForAMinute(t *testing.T) {
	server := startRedfish(t)
	require.NoError(t, server.SetPower("1", "Off"))
	server.AddFault(bmctest.Fault{On: resetPath, Times: 20, Do: bmctest.PoweringOff()})
	config := inBubble(configOf(server))
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, 0, map[string]bmc.Config{"node": config})
		begun := time.Now()
		require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOn))
		require.Equal(t, time.Minute, time.Since(begun))
	})
	require.Equal(t, "On", server.Power("1"))
}

// The BMC may count a log-in by HTTP Basic authentication that has no answer.
func TestAPasswordThatTheBMCHasNotAcceptedIsNotSentAgain(t *testing.T) {
	for _, effect := range []bmctest.Effect{bmctest.ResetAfter(0), bmctest.Status(503), bmctest.Status(500)} {
		server := startRedfish(t)
		config := configOf(server)
		config.Auth = "basic"
		server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems", Do: effect})
		_, err := newVerifier(t, config).Verify(t.Context())
		require.Error(t, err)
		require.Equal(t, 1, count(server, http.MethodGet, "/redfish/v1/Systems"), effect)
		require.NoError(t, server.ClearFaults())
		server.AddFault(bmctest.Fault{On: systemPath, Times: 2, Do: effect})
		_, err = newVerifier(t, config).Verify(t.Context())
		require.NoError(t, err, "%v: the password was accepted", effect)
	}
}

func TestAChangeIsRepeatedOnlyIfItWasNotSent(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOn))
	server.AddFault(bmctest.Fault{On: resetPath, Do: bmctest.ResetAfter(0)})
	require.Error(t, d.SetPower(t.Context(), "node", states.PowerRebooting))
	require.Equal(t, 1, count(server, http.MethodPost, resetPath))
}

func TestARepetitionEndsWithItsContext(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{Do: bmctest.Refuse()})
	config := inBubble(configOf(server))
	for end, want := range map[time.Duration]time.Duration{4 * time.Second: 4 * time.Second, 0: 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(end, cancel)
			begun := time.Now()
			_, err := newVerifier(t, config).Verify(ctx)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, want, time.Since(begun))
		})
	}
}

// For a BMC that may have IPMI alone, a refused connection is the answer.
func TestARefusedConnectionIsNotRepeatedIfAnotherProtocolIsTried(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{Do: bmctest.Refuse()})
	config := inBubble(configOf(server))
	config.Protocol, config.IPMIPort = "auto", server.Port
	var log bytes.Buffer
	config.Log = slog.New(slog.NewTextHandler(&log, nil))
	t.Setenv("PATH", t.TempDir()) // without ipmitool
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, err := newVerifier(t, config).Verify(t.Context())
		require.ErrorIs(t, err, verify.Misconfigured, "IPMI was tried")
		require.Zero(t, time.Since(begun))
	})
	require.Empty(t, log.String())
}
