// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// The steps of a verification, as requests.
var requests = map[string]bmctest.Fault{
	"service root": {On: "/redfish/v1/"},
	"log-in":       {On: "/redfish/v1/SessionService/Sessions", Method: http.MethodPost},
	"systems":      {On: "/redfish/v1/Systems"},
	"system":       {On: "/redfish/v1/Systems/1"},
}

// kindOf has the kind of error that each effect causes, by effect and request; the
// first row that matches counts.
var kindOf = []struct {
	effect  string // a prefix of its String
	request string // any if empty
	kind    verify.Kind
}{
	{"HangAfter(", "", verify.Timeout},
	{"Drip(", "", verify.Timeout},
	{"ResetAfter(400)", "log-in", survived}, // the header has all that is needed
	{"CloseAfter(400)", "log-in", survived},
	{"ResetAfter(", "", verify.Protocol},
	{"CloseAfter(", "", verify.Protocol},
	{"Garbage()", "", verify.Protocol},
	{"BadJSON()", "", verify.Protocol},
	{"TruncatedJSON()", "log-in", survived},
	{"TruncatedJSON()", "", verify.Protocol},
	{"HTMLPage()", "", verify.Protocol},
	{"EndlessBody()", "", verify.Protocol},
	{"Status(401)", "", verify.Credentials},
	{"Status(404)", "log-in", survived}, // without sessions, by HTTP Basic authentication
	{"Status(404)", "", verify.Unsupported},
	{"Status(500)", "", verify.Protocol},
	{"Locked()", "", verify.Locked},
	{"Unavailable(", "", verify.Unreachable},
	{"RedirectLoop()", "", verify.Protocol},
	{"RedirectTo(", "", verify.Protocol},
	{`Property("PowerState", <nil>)`, "system", verify.Unsupported},
	{`Property("PowerState", 1)`, "system", verify.Protocol},
	{`WithoutProperty("PowerState")`, "system", verify.Unsupported},
	{"Body(", "", verify.Protocol},
	{"LongBody(", "", verify.Protocol},
	{"LongError(", "", verify.Protocol},
	{"GzipBomb(", "", verify.Protocol},
	{"Raw(", "", verify.Protocol},
	{"Echo(", "", verify.Protocol},
	{"Members(", "systems", verify.Protocol},
	{`Property("Members", `, "systems", verify.Unsupported},
	{`Property("Members@odata.nextLink", ":%zz")`, "systems", verify.Protocol},
	{`WithoutHeader("X-Auth-Token")`, "log-in", verify.Protocol},
	{"WithoutBody()", "log-in", survived},
	{"NamelessSession()", "log-in", survived},
	{"NamelessSession()", "", verify.Protocol},
	{"WithoutBody()", "", verify.Protocol},
}

// survived means that no failure is expected.
const survived = verify.Failed

func expected(effect bmctest.Effect, request string) verify.Kind {
	for _, row := range kindOf {
		if strings.HasPrefix(effect.String(), row.effect) && (row.request == "" || row.request == request) {
			return row.kind
		}
	}
	return survived
}

// ofThePort has the effects on the port instead of a request.
var ofThePort = map[string]verify.Kind{
	"Refuse()":    verify.Unreachable,
	"Silent()":    verify.Timeout,
	"PlainHTTP()": verify.Protocol,
}

func TestEveryFaultHasItsKindOfError(t *testing.T) {
	t.Parallel()
	for name, request := range requests {
		for _, effect := range bmctest.Effects() {
			if _, port := ofThePort[effect.String()]; port {
				continue
			}
			kind := expected(effect, name)
			if name == "log-in" && kind == verify.Timeout {
				continue // see TestALogInWithoutAWholeAnswerIsATimeout
			}
			t.Run(name+" "+effect.String(), func(t *testing.T) {
				t.Parallel()
				server := startRedfish(t)
				fault := request
				fault.Do = effect
				server.AddFault(fault)
				err := verifyFaulty(t, server, timeoutFor(kind))
				if strings.HasSuffix(effect.String(), "(400)") && err == nil {
					kind = survived // the whole answer is shorter
				}
				if kind == survived {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, kind)
				}
				lost := strings.HasSuffix(effect.String(), "After(0)") || strings.HasSuffix(effect.String(), "After(20)")
				if name != "log-in" || !lost { // nobody can close a session whose token was lost
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
				server.AddFault(bmctest.Fault{Do: effect})
				require.ErrorIs(t, verifyFaulty(t, server, timeoutFor(kind)), kind)
			})
		}
	}
}

// Nobody can close a session whose token was lost.
func TestALogInWithoutAWholeAnswerIsATimeout(t *testing.T) {
	bmc.ShortenLoginGrace(t)
	for _, effect := range bmctest.Effects() {
		if expected(effect, "log-in") != verify.Timeout || ofThePort[effect.String()] != verify.Failed {
			continue
		}
		t.Run(effect.String(), func(t *testing.T) {
			server, ctx := startRedfish(t), newDeadline(t)
			fault := requests["log-in"]
			fault.Do, fault.If = effect, func(*http.Request) bool { ctx.pass(); return true }
			server.AddFault(fault)
			require.ErrorIs(t, verifyUntil(ctx, t, server), verify.Timeout)
			require.Equal(t, 1, server.Logins().Attempts)
		})
	}
}

// timeoutFor sets a short timeout for a verification that ends by it.
func timeoutFor(kind verify.Kind) func(*bmc.Config) {
	return func(c *bmc.Config) {
		if kind == verify.Timeout {
			c.Timeout = time.Second
		}
	}
}

// verifyFaulty verifies against a BMC with a fault and checks the rules that hold for
// all faults.
func verifyFaulty(t *testing.T, server *bmctest.Redfish, set ...func(*bmc.Config)) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // without a deadline, Manage waits for a minute
	defer cancel()
	return verifyUntil(ctx, t, server, set...)
}

// verifyUntil is verifyFaulty within a context.
func verifyUntil(ctx context.Context, t *testing.T, server *bmctest.Redfish, set ...func(*bmc.Config)) error {
	t.Helper()
	config := configOf(server)
	for _, s := range set {
		s(&config)
	}
	node, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}})
	require.NoError(t, err)
	power, err := verify.Manage(ctx, node, newVerifier(t, config))
	logins := server.Logins()
	require.LessOrEqual(t, logins.Attempts-logins.Succeeded, 1)
	if err != nil {
		require.Equal(t, states.NoPower, power)
		require.Equal(t, machine.Node{State: states.Enroll, LastError: err.Error()}, node.Node())
		requireNoSecret(t, config, err)
		return err
	}
	require.Equal(t, states.PowerOn, power)
	require.Equal(t, machine.Node{State: states.Manageable}, node.Node())
	return nil
}

func TestABMCMayFallSilentAtAnyByte(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	for n := 0; n < 1200; n += 41 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			server := startRedfish(t)
			server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.HangAfter(n)})
			if err := verifyFaulty(t, server, timeoutFor(verify.Timeout)); err != nil { // otherwise the whole answer is shorter
				require.ErrorIs(t, err, verify.Timeout)
			}
			require.Empty(t, server.Sessions())
		})
	}
}
