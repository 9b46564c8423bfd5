package bmc_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestRedfishPowerStatesAreIronics(t *testing.T) {
	server := startRedfish(t)
	for word, want := range map[string]states.Power{
		bmctest.PowerOn: states.PowerOn, bmctest.PoweringOn: states.PowerOn,
		bmctest.PowerOff: states.PowerOff, bmctest.PoweringOff: states.PowerOff,
	} {
		require.NoError(t, server.SetPower("1", word))
		power, err := newVerifier(t, configOf(server)).Verify(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, power)
	}
	require.NoError(t, server.SetPower("1", "Paused"))
	power, err := newVerifier(t, configOf(server)).Verify(t.Context())
	require.ErrorIs(t, err, verify.Unsupported)
	require.ErrorContains(t, err, `power state: redfish `+server.Addr()+`: not supported: the power state read is "Paused"`)
	require.Equal(t, states.NoPower, power)
	require.Empty(t, server.Sessions())
}

func TestAWrongPasswordIsOneLogin(t *testing.T) {
	for _, protocol := range []bmc.Protocol{bmc.Redfish, bmc.Auto} {
		server := startRedfish(t)
		config := configOf(server)
		config.Protocol, config.Password = protocol, wrong
		_, err := newVerifier(t, config).Verify(t.Context())
		require.ErrorIs(t, err, verify.Credentials)
		require.Equal(t, bmctest.Logins{Attempts: 1, Failed: 1}, server.Logins())
		requireNoSecret(t, config, err)
	}
}

func TestALockedAccountIsSaidToBe(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.LockAfter = 1 })
	config := configOf(server)
	config.Password = wrong
	_, err := newVerifier(t, config).Verify(t.Context())
	require.ErrorIs(t, err, verify.Credentials)
	_, err = newVerifier(t, configOf(server)).Verify(t.Context())
	require.ErrorIs(t, err, verify.Locked)
	require.Equal(t, 2, server.Logins().Attempts)
}

func TestCertificatesAreVerifiedUnlessTheCallerSaysOtherwise(t *testing.T) {
	for _, certificate := range bmctest.BadCertificates() {
		t.Run(certificate.String(), func(t *testing.T) {
			server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Certificate = certificate })
			_, err := newVerifier(t, configOf(server)).Verify(t.Context())
			require.ErrorIs(t, err, verify.TLS)
			require.Zero(t, server.Logins().Attempts, "no password goes where no trust is")

			config := configOf(server)
			config.InsecureSkipTLSVerify = true
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

func TestOneOfSeveralSystemsIsChosenByName(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Systems = []bmctest.System{{ID: "1", Name: "left", Power: bmctest.PowerOn}, {ID: "2", Name: "right"}}
	})
	for name, want := range map[string]states.Power{"left": states.PowerOn, "right": states.PowerOff} {
		config := configOf(server)
		config.SystemName = name
		power, err := newVerifier(t, config).Verify(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, power)
	}
	for _, name := range []string{"", "middle"} {
		config := configOf(server)
		config.SystemName = name
		_, err := newVerifier(t, config).Verify(t.Context())
		require.ErrorIs(t, err, verify.Unsupported)
	}
	require.Empty(t, server.Sessions())
}

// requireNoSecret checks that an error does not have the password in any form.
func requireNoSecret(t *testing.T, config bmc.Config, err error) {
	t.Helper()
	for _, secret := range []string{string(config.Password), "wrong%2Bhorse", "correct+horse", "correct%2Bhorse"} {
		require.NotContains(t, err.Error(), secret)
	}
}

// The steps of a verification, as requests.
var requests = map[string]bmctest.Fault{
	"service root": {On: "/redfish/v1/"},
	"log-in":       {On: "/redfish/v1/SessionService/Sessions", Method: http.MethodPost},
	"systems":      {On: "/redfish/v1/Systems"},
	"system":       {On: "/redfish/v1/Systems/1"},
}

// What an effect is told as, whichever request it strikes; the first row that
// matches counts.
var kindOf = []struct {
	effect  string // how its String begins
	request string // any if empty
	kind    verify.Kind
}{
	{"HangAfter(", "", verify.Timeout},
	{"Drip(", "", verify.Timeout},
	{"ResetAfter(", "", verify.Protocol},
	{"CloseAfter(", "", verify.Protocol},
	{"Garbage()", "", verify.Protocol},
	{"BadJSON()", "", verify.Protocol},
	{"TruncatedJSON()", "log-in", survived}, // what counts is in the header
	{"TruncatedJSON()", "", verify.Protocol},
	{"HTMLPage()", "", verify.Protocol},
	{"EndlessBody()", "", verify.Protocol},
	{"Status(401)", "", verify.Credentials},
	{"Status(404)", "", verify.Unsupported},
	{"Status(500)", "", verify.Protocol},
	{"Locked()", "", verify.Locked},
	{"Unavailable(", "", verify.Unreachable},
	{"RedirectLoop()", "", verify.Protocol},
	{"RedirectTo(", "", verify.Protocol},
	{`Property("PowerState", <nil>)`, "system", verify.Unsupported},
	{`Property("PowerState", 1)`, "system", verify.Protocol},
	{`WithoutProperty("PowerState")`, "system", verify.Unsupported},
}

// survived stands for no failure.
const survived = verify.Failed

func expected(effect bmctest.Effect, request string) verify.Kind {
	for _, row := range kindOf {
		if strings.HasPrefix(effect.String(), row.effect) && (row.request == "" || row.request == request) {
			return row.kind
		}
	}
	return survived
}

// ofThePort has the effects that are about the port and not about a request.
var ofThePort = map[string]verify.Kind{
	"Refuse()":    verify.Unreachable,
	"Silent()":    verify.Timeout,
	"PlainHTTP()": verify.Protocol,
}

func TestEveryFaultIsToldForWhatItIs(t *testing.T) {
	for name, request := range requests {
		for _, effect := range bmctest.Effects() {
			if _, port := ofThePort[effect.String()]; port {
				continue
			}
			t.Run(name+" "+effect.String(), func(t *testing.T) {
				t.Parallel()
				server := startRedfish(t)
				fault := request
				fault.Do = effect
				server.SetFault(fault)
				err := verifyFaulty(t, server)

				kind := expected(effect, name)
				if strings.HasSuffix(effect.String(), "(400)") && err == nil {
					kind = survived // the whole answer is shorter
				}
				if kind == survived {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, kind)
				}
				if name != "log-in" || kind == survived { // a session whose token never came nobody can close
					require.Empty(t, server.Sessions())
				}
			})
		}
	}
	for _, effect := range bmctest.Effects() {
		if kind, port := ofThePort[effect.String()]; port {
			t.Run(effect.String(), func(t *testing.T) {
				t.Parallel()
				server := startRedfish(t)
				server.SetFault(bmctest.Fault{Do: effect})
				require.ErrorIs(t, verifyFaulty(t, server), kind)
			})
		}
	}
}

// verifyFaulty verifies against a BMC with a fault and checks what holds for all
// of them.
func verifyFaulty(t *testing.T, server *bmctest.Redfish) error {
	t.Helper()
	config := configOf(server)
	config.Timeout = time.Second
	ctx, cancel := context.WithTimeout(t.Context(), config.Timeout+5*time.Second)
	defer cancel()
	power, err := newVerifier(t, config).Verify(ctx)
	require.NoError(t, ctx.Err(), "it did not end in its time")
	require.LessOrEqual(t, server.Logins().Attempts, 1)
	if err != nil {
		require.Equal(t, states.NoPower, power)
		requireNoSecret(t, config, err)
		return err
	}
	require.Equal(t, states.PowerOn, power)
	return nil
}

func TestACancelledVerificationEndsAtOnce(t *testing.T) {
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t)
			request.Do = bmctest.HangAfter(0)
			server.SetFault(request)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
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

func TestAContextThatHasEndedAsksNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, protocol := range []bmc.Protocol{bmc.Redfish, bmc.IPMI, bmc.Auto} {
		server := startRedfish(t)
		config := configOf(server)
		config.Protocol = protocol
		if protocol == bmc.IPMI {
			needs(t, "ipmitool")
		}
		_, err := newVerifier(t, config).Verify(ctx)
		require.ErrorIs(t, err, verify.Cancelled)
		require.Empty(t, server.Requests())
	}
}
