// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// TestScenarios runs the files of testdata/scenarios, each with one node. The
// commands are:
//
//	node KEY=VALUE ...      begin with a node: provision, recorded and hardware power,
//	                        reservation, and maintenance or disable-power-off alone
//	hardware STATE          the hardware changes by itself: on, off, dead, alive, deaf
//	sync | recover          a round
//	set STATE               a power request: on, off, soft-off, reboot, soft-reboot
//	reclaim                 what a process does when it starts
//	provision STATE         the provision state changes; a word has _ for its space
//
// Each prints the outcome of a round, the events, the calls that set hardware, and
// the record.
// `go test ./powersync -run Scenarios -rewrite` rewrites the files.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		var s scenario
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) (out string) {
			synctest.Test(t, func(t *testing.T) { out = s.run(t, d) })
			return out
		})
	})
}

type scenario struct{ *fixture }

var powerArguments = map[string]states.Power{
	"on": isOn, "off": isOff, "unknown": states.NoPower,
	"soft-off": states.PowerSoftOff, "reboot": states.PowerRebooting, "soft-reboot": states.PowerSoftRebooting,
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	var (
		report powersync.Report
		err    error
	)
	if s.fixture != nil {
		s.events = nil
		s.calls()
	}
	switch d.Cmd {
	case "node":
		s.begin(t, d)
	case "hardware":
		s.change(t, d.CmdArgs[0].Key)
	case "sync":
		report, err = s.Sync(t.Context())
	case "recover":
		report, err = s.Recover(t.Context())
	case "reclaim":
		_, err = s.Reclaim(t.Context())
	case "set":
		err = s.Set(t.Context(), "a", powerArguments[d.CmdArgs[0].Key], 0)
	case "provision":
		state, parseErr := states.Parse(strings.ReplaceAll(d.CmdArgs[0].Key, "_", " "))
		require.NoError(t, parseErr)
		require.NoError(t, edit(s.store, "a", func(r *powersync.Record) { r.ProvisionState = state }))
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	return s.print(t, report, err)
}

func (s *scenario) begin(t *testing.T, d *datadriven.TestData) {
	r := powersync.Record{ProvisionState: states.Active, Power: isOn}
	hardware := isOn
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "provision":
			state, err := states.Parse(strings.ReplaceAll(arg.Vals[0], "_", " "))
			require.NoError(t, err)
			r.ProvisionState = state
		case "recorded":
			r.Power = powerArguments[arg.Vals[0]]
		case "hardware":
			hardware = powerArguments[arg.Vals[0]]
		case "reservation":
			r.Reservation = arg.Vals[0]
		case "target":
			r.TargetPower = powerArguments[arg.Vals[0]]
		case "maintenance":
			r.Maintenance = true
		case "disable-power-off":
			r.DisablePowerOff = true
		default:
			d.Fatalf(t, "unknown argument %q", arg.Key)
		}
	}
	s.fixture = newFixture(t, newHardware(hardware), []powersync.Record{r})
}

func (s *scenario) change(t *testing.T, to string) {
	switch to {
	case "on", "off":
		s.hardware.set("a", powerArguments[to])
	case "dead", "alive":
		s.kill("a", to == "dead")
	case "deaf":
		s.deaf["a"] = true
	default:
		t.Fatalf("unknown hardware %q", to)
	}
}

func (s *scenario) print(t *testing.T, report powersync.Report, err error) string {
	var b strings.Builder
	for o := range report.Nodes {
		fmt.Fprintf(&b, "the round's outcome: %v\n", o)
	}
	for _, e := range s.allEvents() {
		fmt.Fprintf(&b, "event %v", e.Outcome)
		if e.Attempts > 0 {
			fmt.Fprintf(&b, ", attempt %d", e.Attempts)
		}
		if e.LastError != "" {
			fmt.Fprintf(&b, ", last error %q", e.LastError)
		}
		if e.ClearedError != "" {
			fmt.Fprintf(&b, ", cleared %q", e.ClearedError)
		}
		fmt.Fprintln(&b)
	}
	if _, sets := s.calls(); len(sets) > 0 {
		fmt.Fprintf(&b, "asked for %s\n", strings.TrimPrefix(strings.Join(sets, ","), "a "))
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	r, loadErr := s.store.Load(context.Background(), "a")
	require.NoError(t, loadErr)
	fmt.Fprintf(&b, "recorded %v", r.Power)
	for _, part := range []struct {
		text string
		is   bool
	}{
		{fmt.Sprintf("on the way to %v", r.TargetPower), r.TargetPower != states.NoPower},
		{"maintenance", r.Maintenance},
		{"fault " + r.Fault, r.Fault != ""},
		{"reserved by " + r.Reservation, r.Reservation != ""},
		{fmt.Sprintf("last error %q", r.LastError), r.LastError != ""},
	} {
		if part.is {
			fmt.Fprintf(&b, ", %s", part.text)
		}
	}
	return b.String() + "\n"
}
