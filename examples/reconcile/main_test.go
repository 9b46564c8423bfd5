package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/program/programtest"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) {
	if !programtest.Main(main) {
		goleak.VerifyTestMain(m)
	}
}

func TestTheProgramEndsWellWhateverEndsIt(t *testing.T) {
	ironic := startFake(t, machine.Node{State: states.Enroll}, func(f *fake) { f.delay = time.Hour })
	programtest.CheckEnds(t, "-endpoint", ironic.url(), "-node", "node-1", "-poll", "1ms")
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

// startFake starts an Ironic with a node; change may change it before.
func startFake(t *testing.T, node machine.Node, change ...func(*fake)) *fake {
	t.Helper()
	ironic := newFake(node)
	for _, c := range change {
		c(ironic)
	}
	ironic.start()
	t.Cleanup(ironic.close)
	return ironic
}

// bring brings the fake's node to a goal, with little patience.
func bring(t *testing.T, ironic *fake, goal plan.Goal, change ...func(*options)) (out string, err error) {
	t.Helper()
	opts := options{
		endpoint: ironic.url(),
		node:     ironic.name,
		goal:     goal,
		poll:     time.Millisecond,
		timeout:  time.Minute,
		patience: patience{times: 3, first: time.Millisecond, most: 2 * time.Millisecond, longest: time.Second},
	}
	for _, c := range change {
		c(&opts)
	}
	var o bytes.Buffer
	err = reconcile(t.Context(), opts, &o)
	return o.String(), err
}

// verbs returns the words of the requests that were accepted.
func (f *fake) verbs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var verbs []string
	for _, body := range f.accepted {
		verbs = append(verbs, body["target"].(string))
	}
	return verbs
}

// state returns the state of the fake's node.
func (f *fake) state() states.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.node.State
}

var (
	clock  = regexp.MustCompile(`\d\d:\d\d:\d\d\.\d{3}`)
	length = regexp.MustCompile(`in \d+\.\ds\.`)
)

func TestWithoutFlagsANodeBecomesActive(t *testing.T) {
	code, out, errOut := command(t, "")
	require.Empty(t, errOut)
	require.Equal(t, program.Good, code)
	out = length.ReplaceAllString(clock.ReplaceAllString(out, "TIME        "), "in SOME TIME.")
	require.Equal(t, strings.TrimPrefix(`
A built-in Ironic; the node is locked once, the server busy once, and the first deployment fails.
node-1 shall come to active; Ironic speaks API 1.1 to 1.113, asked in 1.113 as a server of 2026.2.
TIME          SENT   STATE           TARGET      STEP
TIME          1/3    enroll          none        send manage to start verification
TIME          1/3    verifying       manageable  wait for verification to end in manageable
TIME          2/3    manageable      none        send provide to start cleaning
TIME                                             send provide: 409 Conflict: node-1 is locked by host conductor-1; again in 20ms
TIME          2/3    manageable      none        send provide to start cleaning
TIME          2/3    cleaning        available   wait for cleaning to end in available
TIME          2/3    clean wait      available   wait for cleaning to end in available, after a call from the node
TIME          2/3    cleaning        available   wait for cleaning to end in available
TIME          3/3    available       none        send active to start deployment
TIME                                             send active: 503 Service Unavailable: no free worker; again in 1s
TIME          3/3    available       none        send active to start deployment
TIME          3/3    deploying       active      wait for deployment to end in active
TIME          3/3    wait call-back  active      wait for deployment to end in active, after a call from the node
TIME          3/3    deploying       active      wait for deployment to end in active
TIME                                             last error: the agent on the node reports: no space left on device
TIME          4/4    deploy failed   active      send active to start deployment, try 2
TIME          4/4    deploying       active      wait for deployment to end in active
TIME          4/4    wait call-back  active      wait for deployment to end in active, after a call from the node
TIME          4/4    deploying       active      wait for deployment to end in active
TIME          4/4    active          none        done

node-1 has come to active; requests accepted: 4, refused for a while: 2, in SOME TIME.
`, "\n"), out)
}

func TestWithFlagsAnotherIronicIsAsked(t *testing.T) {
	for name, endpoint := range map[string]string{"as it is": "", "with a slash": "/", "with v1": "/v1", "with v1 and a slash": "/v1/"} {
		t.Run(name, func(t *testing.T) {
			ironic := startFake(t, machine.Node{State: states.Active})
			code, out, errOut := command(t, "", "-endpoint", ironic.url()+endpoint, "-node", ironic.uuid,
				"-goal", "available", "-may-destroy", "-poll", "1ms", "-api", "1.81")
			require.Empty(t, errOut)
			require.Equal(t, program.Good, code)
			require.Contains(t, out, "asked in 1.81 as a server of 2026.2")
			require.Equal(t, []string{"deleted"}, ironic.verbs())
			require.Equal(t, states.Available, ironic.state())
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
	ironic := startFake(t, machine.Node{State: states.Enroll}, func(f *fake) { f.delay = time.Hour })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ironic.state() != states.Verifying {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	var out, errOut bytes.Buffer
	args := []string{"-endpoint", ironic.url(), "-node", "node-1", "-poll", "1h"}
	require.ErrorIs(t, run(ctx, args, func(string) string { return "" }, &out, &errOut), context.Canceled)
}
