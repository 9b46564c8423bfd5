// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestFastTrackIsOnByTheNodeOrByTheConfiguration(t *testing.T) {
	for _, configured := range []bool{false, true} {
		b := &rulebook{config: &Config{FastTrack: configured, Table: states.Latest().Table()}}
		for value, want := range map[any]bool{nil: configured, true: true, false: false, "yes": true, "off": false, "1": true} {
			n := &Node{DriverInfo: map[string]any{"fast_track": value}}
			on, err := b.config.fastTracks(n)
			require.NoError(t, err)
			require.Equal(t, want, on, value)
			for state := range states.Latest().Table().States().All() {
				allowed := b.config.Table.LookupAllowed().Has(state) || want && b.config.Table.FastTrackLookupAllowed().Has(state)
				n.ProvisionState = state
				require.Equal(t, allowed, b.lookupAllowed(n).Has(state), "%v %v", value, state)
				require.Equal(t, want && allowed, b.recordsHeartbeat(n), "%v %v", value, state)
			}
		}
		for _, value := range []any{"maybe", "", 7.5, map[string]any{}} {
			on, err := b.config.fastTracks(&Node{DriverInfo: map[string]any{"fast_track": value}})
			require.ErrorIs(t, err, Invalid)
			require.ErrorContains(t, err, "Invalid value of fast_track: ")
			require.False(t, on)
		}
	}
}

func TestAnAgentIsAliveForATimeAfterItsHeartbeat(t *testing.T) {
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for heartbeat, want := range map[time.Time]bool{
		at.Add(-5 * time.Minute): true, at.Add(-5*time.Minute - time.Microsecond): false,
		at.Add(5 * time.Minute): true, at.Add(5*time.Minute + time.Microsecond): false,
		{}: false,
	} {
		n := &Node{Agent: AgentInfo{LastHeartbeat: heartbeat}}
		require.Equal(t, want, n.agentHeard(at, 5*time.Minute), heartbeat)
	}
}

func TestAnAgentStaysOnlyByFastTrack(t *testing.T) {
	stays := states.SetOf(states.Verifying, states.Cleaning, states.Inspecting, states.InspectWait)
	at := now()
	for _, on := range []bool{false, true} {
		b := &rulebook{config: &Config{FastTrack: on, FastTrackTimeout: time.Minute}}
		for state := range states.Latest().Table().States().All() {
			for _, power := range []states.Power{states.NoPower, states.PowerOn, states.PowerOff} {
				for _, failure := range []string{"", "no disk"} {
					for _, age := range []time.Duration{0, time.Hour} {
						n := &Node{ProvisionState: state, Power: power, LastError: failure, Agent: AgentInfo{LastHeartbeat: at.Add(-age)}}
						want := on && stays.Has(state) && power != states.PowerOff && failure == "" && age == 0
						require.Equal(t, want, b.keepsAgent(n, at), "%v %v %v %q %v", on, state, power, failure, age)
					}
				}
			}
		}
	}
}

// broken is fake-hardware with an invalid deploy interface.
type broken struct{ *Fake }

func (b broken) Validate(*Node) map[string]error {
	return map[string]error{"power": nil, "deploy": errBroken}
}

var errBroken = errors.New("the deploy interface is broken")

func TestAValidationTellsOfFastTrackUnlessTheHardwareTypeTellsMore(t *testing.T) {
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
	require.NoError(t, err)
	c.rules.types.describe(nil)
	n := &Node{Driver: "fake-hardware", DriverInfo: map[string]any{}, Interfaces: map[string]string{"console": "no-console"}}
	require.NoError(t, c.engine.types.validate(t.Context(), &Fake{}, n)["deploy"])
	require.EqualError(t, c.engine.types.validate(t.Context(), &Fake{}, n)["console"],
		"Driver fake-hardware does not support console (disabled or not implemented).")
	require.Equal(t, errBroken, c.engine.types.validate(t.Context(), broken{&Fake{}}, n)["deploy"])
	n.DriverInfo["fast_track"] = "maybe"
	require.EqualError(t, c.engine.types.validate(t.Context(), &Fake{}, n)["deploy"], "Invalid value of fast_track: maybe")
	require.Equal(t, errBroken, c.engine.types.validate(t.Context(), broken{&Fake{}}, n)["deploy"])
}
