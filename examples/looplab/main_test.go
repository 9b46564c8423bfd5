package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/looplab/fsm"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/program/programtest"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func output(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), args, &out, io.Discard))
	return out.String()
}

func TestTheREADMEShowsTheOutput(t *testing.T) { programtest.CheckREADME(t, output(t)) }

func TestDiagramsAreOfTheWholeMachine(t *testing.T) {
	for _, format := range formats {
		text := output(t, "-diagram", format)
		for state := range states.Latest().Table().States().All() {
			require.Contains(t, text, state.String(), format)
		}
	}
	require.Contains(t, output(t, "-diagram", "looplab"), "    id3[available]\n")
	require.Contains(t, output(t, "-diagram", "looplab"), "    style id3 fill:#00AA00\n")
	require.Contains(t, output(t, "-diagram", "mermaid"), "deploying --> deploy_failed : taken fail\n")
}

func TestGraphvizTakesTheDOT(t *testing.T) {
	needs.Programs(t, "dot")
	for _, format := range []string{"dot", "looplab-dot"} {
		dot := exec.CommandContext(t.Context(), "dot", "-Tsvg")
		dot.Stdin = strings.NewReader(output(t, "-diagram", format))
		svg, err := dot.CombinedOutput()
		require.NoError(t, err, "%s", svg)
		require.Contains(t, string(svg), ">wait call&#45;back</text>")
	}
}

// unreachable is hardware that does not answer.
type unreachable struct{ imagined }

func (unreachable) Power(context.Context) (states.Power, error) {
	return states.NoPower, errors.New("no answer")
}

func TestAVerificationThatFailsEndsInEnroll(t *testing.T) {
	s, err := newService(machine.Node{State: states.Enroll}, &unreachable{}, func(context.Context, machine.Transition) error { return nil })
	require.NoError(t, err)
	require.NoError(t, s.request(t.Context(), "manage", ""))
	require.JSONEq(t, `{"provision_state":"enroll","target_provision_state":null,"last_error":"no answer"}`, string(s.record))
}

func TestACancelledContextLeavesTheServiceInOrder(t *testing.T) {
	s, err := newService(machine.Node{State: states.Manageable}, &imagined{}, func(context.Context, machine.Transition) error { return nil })
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.request(ended, "provide", ""), context.Canceled)
	require.NoError(t, s.request(t.Context(), "provide", ""))
	require.ErrorAs(t, s.request(t.Context(), "active", ""), new(fsm.CanceledError))
	require.Equal(t, "available", s.node.Current())
}

func TestWrongUsageIsReported(t *testing.T) {
	err := run(t.Context(), []string{"-diagram", "png"}, io.Discard, io.Discard)
	require.ErrorIs(t, err, program.ErrUsage)
	require.EqualError(t, err, `-diagram is "png": want one of dot, looplab, looplab-dot, mermaid`)
}
