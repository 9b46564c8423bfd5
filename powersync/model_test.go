// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"errors"
	"flag"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/internal/needs"
	_ "github.com/ironstate/ironstate/internal/rapidseed"
	"github.com/ironstate/ironstate/internal/schedules"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// world is a fixture with random interference by people, hardware and faults. It wraps
// the Syncer's store and hardware, and checks each call against the rules.
type world struct {
	*fixture
	t      *rapid.T
	config powersync.Config

	recovery     bool         // the current round is one of Recover
	asked        states.Power // requested by the current request; none in a round
	read         map[string][]states.Power
	bad          map[string]int    // rounds in a row in which the node did not read as recorded
	wasBad       map[string]bool   // in this round
	interference []func(id string) // called one at a time, while the hardware of a node is read
	updates      int               // updates until the process dies
	faulty                         // the store
}

const worldSize = 3

func newWorld(t *rapid.T) *world {
	w := &world{t: t, bad: map[string]int{}, fixture: &fixture{store: new(powersync.Memory)}}
	w.hardware = newHardware()
	w.onRead = w.checkRead
	w.onSet = func(_ context.Context, id string) { w.interfereOnce(id) }
	for i := range worldSize {
		w.power[name(i)] = drawPower(t)
		w.store.Put(powersync.Record{ID: name(i), ProvisionState: drawState(t), Power: drawPower(t)})
	}
	w.config = powersync.Config{
		Store: w, Driver: w, Name: "this", Workers: 1, Poll: time.Microsecond, OnEvent: w.checkEvent,
		Policy: powersync.Policy{
			MaxRetries:   rapid.SampledFrom([]int{-1, 1, 2}).Draw(t, "retries"),
			RecordOnly:   rapid.Bool().Draw(t, "record only"),
			ForgetUnread: rapid.Bool().Draw(t, "forget"),
		},
		ForceLimit: rapid.SampledFrom([]int{0, 2}).Draw(t, "force limit"),
	}
	w.start()
	return w
}

func drawPower(t *rapid.T) states.Power {
	return rapid.SampledFrom([]states.Power{isOn, isOff, unknown, states.PowerError}).Draw(t, "power")
}

func drawState(t *rapid.T) states.State {
	return rapid.SampledFrom([]states.State{
		states.Available, states.Active, states.Manageable, states.Enroll, states.Cleaning, states.CleanWait, states.DeployFail,
	}).Draw(t, "state")
}

func drawNode(t *rapid.T) string { return name(rapid.IntRange(0, worldSize-1).Draw(t, "node")) }

// start restarts the process.
func (w *world) start() {
	var err error
	w.Syncer, err = powersync.New(w.config)
	require.NoError(w.t, err)
	w.updates = 1 << 30
	w.bad = map[string]int{}
	w.faulty = faulty{unsaved: map[string]states.Power{}, before: map[string]powersync.Record{}, stored: map[string]bool{}, applied: true}
	_, err = w.Reclaim(context.Background())
	require.NoError(w.t, err)
	w.applied = false
	for i := range worldSize {
		require.NotEqual(w.t, "this", w.record(w.t, name(i)).Reservation)
	}
}

// record replaces the record of fixture, which needs a testing.TB.
func (w *world) record(t *rapid.T, id string) powersync.Record {
	r, err := w.store.Load(context.Background(), id)
	require.NoError(t, err)
	return r
}

func (w *world) PowerState(ctx context.Context, id string) (states.Power, error) {
	recorded := w.record(w.t, id)
	power, err := w.hardware.PowerState(ctx, id)
	if err != nil || power != isOn && power != isOff {
		power = unknown
	}
	w.read[id] = append(w.read[id], power)
	if w.asked == unknown && !w.recovery {
		w.wasBad[id] = power == unknown || recorded.Power != power
	}
	return power, err
}

// checkRead is called when a read begins.
func (w *world) checkRead(_ context.Context, id string) {
	r := w.record(w.t, id)
	if w.asked == unknown && !w.stale {
		require.NotEqual(w.t, states.Enroll, r.ProvisionState, "a round asks a node in enroll")
		require.Equal(w.t, w.recovery, r.Maintenance)
		require.Empty(w.t, r.Reservation)
	}
	w.interfereOnce(id)
}

func (w *world) interfereOnce(id string) {
	if len(w.interference) > 0 {
		w.interference[0](id)
		w.interference = w.interference[1:]
	}
}

func (w *world) Update(ctx context.Context, r powersync.Record) error {
	if w.updates--; w.updates < 0 {
		return errStore
	}
	fault := w.nextFault()
	if fault.err != nil && !fault.applied {
		return fault.err
	}
	old := w.record(w.t, r.ID)
	if err := w.store.Update(ctx, r); err != nil {
		return err
	}
	w.checkUpdate(old, r)
	w.before[r.ID] = old
	if r.Reservation == "" && fault.err != nil && (fault.err == errStore || len(w.faults)+len(w.stales) > 0) {
		w.stored[r.ID] = true
	}
	return fault.err
}

// checkUpdate checks an update of a Syncer against the record that it replaces.
func (w *world) checkUpdate(old, r powersync.Record) {
	t := w.t
	require.Equal(t, old.Revision, r.Revision, "a change by somebody else is written over")
	require.Equal(t, old.ProvisionState, r.ProvisionState)
	require.Equal(t, old.DisablePowerOff, r.DisablePowerOff)
	require.Contains(t, []string{"", "this"}, old.Reservation)

	if old.Power != r.Power {
		known := append(slices.Clone(w.read[r.ID]), w.asked.Target(), w.unsaved[r.ID])
		if w.config.ForgetUnread && r.Maintenance && !old.Maintenance {
			known = append(known, unknown)
		}
		require.Contains(t, known, r.Power, "recorded power that was neither read nor asked for")
	}
	switch {
	case r.Maintenance && !old.Maintenance:
		require.False(t, w.recovery)
		require.Equal(t, unknown, w.asked, "a request sets no maintenance")
		require.Equal(t, powersync.FaultPowerFailure, r.Fault)
		require.True(t, w.wasBad[r.ID])
		require.Greater(t, w.bad[r.ID]+1, max(w.config.MaxRetries, 0), "before the retries are over")
	case old.Maintenance && !r.Maintenance:
		require.True(t, w.recovery)
		require.Equal(t, powersync.FaultPowerFailure, old.Fault, "taken out of maintenance that an operator set")
	default:
		require.Equal(t, old.Fault, r.Fault)
		require.Equal(t, old.MaintenanceReason, r.MaintenanceReason)
	}
}

func (w *world) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return w.store.Records(ctx)
}

func (w *world) Load(ctx context.Context, id string) (powersync.Record, error) {
	if old, ok := w.nextStale(id); ok {
		return old, nil
	}
	return w.store.Load(ctx, id)
}

// person returns a random change of a node by somebody other than the Syncer.
func person(t *rapid.T, w *world) func() {
	id := drawNode(t)
	edits := map[string]func(*powersync.Record){
		"into maintenance":   func(r *powersync.Record) { r.Maintenance, r.MaintenanceReason, r.Fault = true, "by an operator", "" },
		"out of maintenance": func(r *powersync.Record) { r.Maintenance, r.MaintenanceReason, r.Fault = false, "", "" },
		"lock": func(r *powersync.Record) {
			if r.Reservation == "" {
				r.Reservation = "an operator"
			}
		},
		"unlock": func(r *powersync.Record) {
			if r.Reservation == "an operator" {
				r.Reservation = ""
			}
		},
		"forbid power off": func(r *powersync.Record) { r.DisablePowerOff = !r.DisablePowerOff },
		"touch":            func(*powersync.Record) {},
	}
	what := rapid.SampledFrom(slices.Sorted(maps.Keys(edits))).Draw(t, "edit")
	change := edits[what]
	if rapid.Bool().Draw(t, "move instead") {
		state := drawState(t)
		change = func(r *powersync.Record) { r.ProvisionState = state }
	}
	return func() { _ = edit(w.store, id, change) }
}

// nature returns a random change that hardware makes by itself.
func nature(t *rapid.T, w *world) func() {
	id, power := drawNode(t), drawPower(t)
	dead, deaf := rapid.Bool().Draw(t, "dead"), rapid.Bool().Draw(t, "deaf")
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hardware.mu.Lock()
		defer w.hardware.mu.Unlock()
		w.power[id], w.dead[id], w.deaf[id] = power, dead, deaf
	}
}

// amid draws the interference during a round or request, and whether the process dies
// in it.
func (w *world) amid(t *rapid.T) (dies bool) {
	w.read, w.wasBad, w.interference = map[string][]states.Power{}, map[string]bool{}, nil
	for range rapid.IntRange(0, 4).Draw(t, "interferences") {
		var do func()
		switch rapid.IntRange(0, 2).Draw(t, "by a request, an operator or chance") {
		case 0:
			w.interference = append(w.interference, w.requestInVain)
			continue
		case 1:
			do = person(t, w)
		default:
			do = nature(t, w)
		}
		w.interference = append(w.interference, func(string) { do() })
	}
	w.drawFaults(t)
	if rapid.IntRange(0, 9).Draw(t, "dies") == 0 {
		w.updates = rapid.IntRange(0, 3).Draw(t, "updates until then")
		return true
	}
	return false
}

func (w *world) doRound(t *rapid.T, recovery bool, do func(context.Context) (powersync.Report, error)) {
	w.recovery, w.asked = recovery, unknown
	dies := w.amid(t)
	if rapid.IntRange(0, 3).Draw(t, "switched behind its back, and asked for meanwhile") == 0 {
		id := drawNode(t)
		w.switchOver(id)
		w.interference = slices.Insert(w.interference, 0, func(read string) {
			if read == id {
				w.requestInVain(id)
			}
		})
	}
	w.count(do(context.Background()))
	w.interference = nil
	if dies {
		w.start()
	}
}

// count counts the rounds in a row in which nodes did not read as recorded.
func (w *world) count(_ powersync.Report, err error) {
	require.NoError(w.t, err)
	for id, bad := range w.wasBad {
		if w.bad[id]++; !bad {
			delete(w.bad, id)
		}
	}
}

func (w *world) doSet(t *rapid.T) {
	id := drawNode(t)
	w.asked = rapid.SampledFrom([]states.Power{
		isOn, isOff, states.PowerRebooting, states.PowerSoftOff, states.PowerSoftRebooting,
	}).Draw(t, "asked")
	dies := w.amid(t)
	before := w.record(t, id)
	err := w.Set(context.Background(), id, w.asked, 20*time.Microsecond)
	after := w.record(t, id)
	w.interference = nil
	switch {
	case dies:
		w.start()
	case errors.Is(err, powersync.ErrNotSaved):
		require.Contains(t, w.unsaved, id, "the outcome may be stored all the same, and a round has to find out")
	case err != nil:
		require.Equal(t, before.Power, after.Power, "a request that failed has changed the recorded state")
	default:
		require.Equal(t, w.asked.Target(), after.Power)
	}
	w.asked = unknown
}

// moreChecks makes a test try more than rapid's 100 cases if IRONSTATE_TESTS asks for systems, unless -rapid.checks is
// given or the race detector is on.
func moreChecks(t *testing.T, checks string) {
	given := flag.Lookup("rapid.checks")
	if old := given.Value.String(); old == given.DefValue && needs.Asked(needs.Systems) && !schedules.Raced {
		require.NoError(t, given.Value.Set(checks))
		t.Cleanup(func() { require.NoError(t, given.Value.Set(old)) })
	}
}

func TestNoInterleavingBreaksTheRules(t *testing.T) {
	moreChecks(t, "1000")
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"sync":       func(t *rapid.T) { w.doRound(t, false, w.Sync) },
			"sync again": func(t *rapid.T) { w.doRound(t, false, w.Sync) },
			"recover":    func(t *rapid.T) { w.doRound(t, true, w.Recover) },
			"set":        w.doSet,
			"restart":    func(*rapid.T) { w.start() },
			"person":     func(t *rapid.T) { person(t, w)() },
			"nature":     func(t *rapid.T) { nature(t, w)() },
			"": func(t *rapid.T) {
				w.heal(t)
				for i := range worldSize {
					require.NotEqual(t, "this", w.record(t, name(i)).Reservation, "a node is reserved with no call in flight")
				}
			},
		})
	})
}
