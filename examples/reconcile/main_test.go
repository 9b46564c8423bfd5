package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/program/programtest"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) {
	if !programtest.Main(main) {
		goleak.VerifyTestMain(m)
	}
}

func TestTheProgramEndsWellWhateverEndsIt(t *testing.T) {
	f := start(t, conductor.Node{})
	f.Next(f.node, "verify", forever)
	programtest.CheckEnds(t, "-endpoint", f.URL, "-node", "node-1", "-poll", "1ms")
}

// command runs the program and returns its exit status and what it printed.
func command(t *testing.T, password string, args ...string) (code int, out, errOut string) {
	t.Helper()
	getenv := func(name string) string {
		require.Equal(t, "RESCUE_PASSWORD", name)
		return password
	}
	var o, e bytes.Buffer
	code = program.Run("reconcile", args, &o, &e, func(ctx context.Context, args []string, out, errOut io.Writer) error {
		return run(ctx, args, getenv, out, errOut)
	})
	return code, o.String(), e.String()
}

var (
	clock  = regexp.MustCompile(`\d\d:\d\d:\d\d\.\d{3}`)
	length = regexp.MustCompile(`in \d+\.\ds\.`)
)

func TestWithoutFlagsANodeBecomesActive(t *testing.T) {
	code, out, errOut := command(t, "")
	require.Empty(t, errOut)
	require.Equal(t, program.Good, code)
	programtest.CheckREADME(t, out)
	out = length.ReplaceAllString(clock.ReplaceAllString(out, "TIME        "), "in SOME TIME.")
	require.Equal(t, strings.TrimPrefix(`
A built-in Ironic; the node is locked once, the server busy once, and the first deployment fails.
node-1 shall come to active; Ironic speaks API 1.1 to 1.113, asked in 1.113 as a server of 2026.2.
TIME          SENT   STATE           TARGET      STEP
TIME          1/3    enroll          none        send manage to start verifying
TIME          1/3    verifying       manageable  wait for verifying to end in manageable
TIME          2/3    manageable      none        send provide to start cleaning
TIME                                             send provide: 409 Conflict: Node is locked by host conductortest, please retry after the current operation is completed; again in 20ms
TIME          2/3    manageable      none        send provide to start cleaning
TIME          2/3    cleaning        available   wait for cleaning to end in available
TIME          3/3    available       none        send active to start deploying
TIME                                             send active: 503 Service Unavailable: Requested action cannot be performed due to lack of free conductor workers; again in 20ms
TIME          3/3    available       none        send active to start deploying
TIME          3/3    deploying       active      wait for deploying to end in active
TIME                                             last error: step deploy.deploy failed: no space left on device
TIME          4/4    deploy failed   active      send active to start deploying, try 2
TIME          4/4    deploying       active      wait for deploying to end in active
TIME          4/4    active          none        done

node-1 has come to active; requests accepted: 4, refused for a while: 2, in SOME TIME.
`, "\n"), out)
}

func TestFlagsSelectAnotherIronic(t *testing.T) {
	for name, endpoint := range map[string]string{"as it is": "", "with a slash": "/", "with v1": "/v1", "with v1 and a slash": "/v1/"} {
		t.Run(name, func(t *testing.T) {
			f := start(t, conductor.Node{ProvisionState: states.Active})
			code, out, errOut := command(t, "", "-endpoint", f.URL+endpoint, "-node", f.node.UUID,
				"-goal", "available", "-may-destroy", "-poll", "1ms", "-api", "1.81")
			require.Empty(t, errOut)
			require.Equal(t, program.Good, code)
			require.Contains(t, out, "asked in 1.81 as a server of 2026.2")
			require.Equal(t, []string{"deleted"}, f.verbs())
			require.Equal(t, states.Available, f.state())
		})
	}
}

func TestHelp(t *testing.T) {
	code, out, errOut := command(t, "", "-h")
	require.Equal(t, program.Good, code)
	require.Empty(t, out)
	require.Contains(t, errOut, "usage of reconcile:")
	require.Contains(t, errOut, "-clean-steps FILE")
	require.Contains(t, errOut, "serviced")
}

func TestAnInterruptEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut bytes.Buffer
	require.EqualError(t, run(ctx, nil, func(string) string { return "" }, &out, &errOut),
		"node-1 has not come to active: context canceled")
}

func TestAnInterruptEndsAWait(t *testing.T) {
	f := start(t, conductor.Node{})
	ctx, cancel := context.WithCancel(t.Context())
	f.Next(f.node, "verify", func(ctx context.Context) error { cancel(); return forever(ctx) })
	var out, errOut bytes.Buffer
	args := []string{"-endpoint", f.URL, "-node", "node-1", "-poll", "1h"}
	require.ErrorIs(t, run(ctx, args, func(string) string { return "" }, &out, &errOut), context.Canceled)
}
