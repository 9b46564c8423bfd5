// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// TestScenarios runs the files of testdata/scenarios. The commands are:
//
//	node STATE [target=STATE] [series=SERIES]   begin with a node
//	request WORD [version=1.N]                  a client's request, at the series' highest version
//	report EVENT                                a report of the conductor; the lines below are its error text
//	orphaned                                    the conductor has died
//	timed-out                                   the wait for a call has timed out
//
// Each prints the transitions with their targets and notifications, and the node.
// `go test ./machine -rewrite` rewrites the files.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		var s scenario
		datadriven.RunTest(t, path, s.run)
	})
}

// scenario runs the same node twice: as a Node, and as a Machine with hooks.
type scenario struct {
	node    machine.Node
	machine *machine.Machine
	moves   []machine.Transition
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	s.moves = nil
	var (
		next machine.Node
		err  error
	)
	var table *states.Table
	if s.machine != nil { // the first command makes it
		table = s.machine.Table()
	}
	switch d.Cmd {
	case "node":
		return s.begin(t, d)
	case "request":
		v := table.Series().MaxAPIVersion()
		if d.HasArg("version") {
			var text string
			d.ScanArgs(t, "version", &text)
			v, err = states.ParseAPIVersion(text)
			require.NoError(t, err)
		}
		word := d.CmdArgs[0].Key
		next, err = s.node.Request(table, word, v)
		require.Equal(t, err, s.machine.Request(context.Background(), word, v))
	case "report":
		event, parseErr := states.ParseEvent(d.CmdArgs[0].Key)
		require.NoError(t, parseErr)
		next, err = s.node.Report(table, event, d.Input)
		require.Equal(t, err, s.machine.Report(context.Background(), event, d.Input))
	case "orphaned":
		lastError, ok := s.node.Orphaned(table)
		if !ok {
			return "nothing to report\n"
		}
		next, err = s.fail(t, lastError)
	case "timed-out":
		lastError, ok := s.node.TimedOut(time.Hour, machine.DefaultTimeouts())
		if !ok {
			return "nothing to report\n"
		}
		next, err = s.fail(t, lastError)
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
	if err != nil {
		require.Equal(t, s.node, next, "the node is returned as it was")
		require.Equal(t, s.node, s.machine.Node())
		return err.Error() + "\n"
	}
	s.node = next
	require.Equal(t, s.node, s.machine.Node(), "a Machine and a Node agree")
	return s.print()
}

func (s *scenario) fail(t *testing.T, lastError string) (machine.Node, error) {
	require.NoError(t, s.machine.Report(context.Background(), states.EventFail, lastError))
	return s.node.Report(s.machine.Table(), states.EventFail, lastError)
}

func (s *scenario) begin(t *testing.T, d *datadriven.TestData) string {
	series := states.Latest()
	s.node = machine.Node{}
	var err error
	s.node.State, err = states.Parse(strings.ReplaceAll(d.CmdArgs[0].Key, "-", " "))
	require.NoError(t, err)
	if d.HasArg("series") {
		var text string
		d.ScanArgs(t, "series", &text)
		series, err = states.ParseSeries(text)
		require.NoError(t, err)
	}
	s.node.Target = series.Table().Target(s.node.State)
	if d.HasArg("target") {
		var text string
		d.ScanArgs(t, "target", &text)
		s.node.Target, err = states.Parse(text)
		require.NoError(t, err)
	}
	s.node.LastError = d.Input
	s.machine, err = machine.New(machine.Config{
		Table: series.Table(),
		Node:  s.node,
		Save: []machine.Hook{func(_ context.Context, tr machine.Transition) error {
			s.moves = append(s.moves, tr)
			return nil
		}},
	})
	require.NoError(t, err)
	return s.print()
}

func (s *scenario) print() string {
	var b strings.Builder
	for _, m := range s.moves {
		fmt.Fprintf(&b, "%v --%v--> %v, notified as %v\n", m.From.State, m.Event, m.To.State, m.Status)
	}
	fmt.Fprintf(&b, "%v", s.node.State)
	if s.node.Target != states.NoState {
		fmt.Fprintf(&b, ", on the way to %v", s.node.Target)
	}
	if s.node.LastError != "" {
		fmt.Fprintf(&b, ", last error: %s", s.node.LastError)
	}
	return b.String() + "\n"
}
