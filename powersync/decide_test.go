// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/schedules"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// situation is one input of Decide and DecideRecovery.
type situation struct {
	record  powersync.Record
	reading powersync.Reading
	past    powersync.Failures
	policy  powersync.Policy
}

var (
	errUnread  = errors.New("no route to host")
	errInvalid = errors.New("no address")
)

// readings are all that a driver can answer.
var readings = []powersync.Reading{
	{Power: isOn}, {Power: isOff}, {Power: unknown}, {Power: states.PowerError}, {Power: states.PowerRebooting},
	{Err: errUnread}, {Invalid: errInvalid},
}

// everySituation calls check for the whole input space: every value of a field that the
// rules can tell apart, in every combination. Records that are skipped for their fields
// are combined with Ironic's default policy alone, to save time.
//
// With the race detector, which finds nothing in a pure rule, it calls check for the states that are skipped and one
// that is not.
func everySituation(check func(situation)) {
	var s situation
	bools := []bool{false, true}
	for state := range states.AllStates() {
		if schedules.Raced && !states.SetOf(states.Available, states.Enroll, states.DeployWait, states.CleanWait, states.AdoptFail).Has(state) {
			continue
		}
		for _, power := range []states.Power{unknown, isOn, isOff, states.PowerError, states.PowerRebooting, 200} {
			for _, target := range []states.Power{unknown, isOff} {
				for _, maintenance := range bools {
					for _, fault := range []string{"", powersync.FaultPowerFailure, "clean failure"} {
						for _, reservation := range []string{"", "another"} {
							for _, noPowerOff := range bools {
								for _, lastError := range []string{"", "ours", "theirs", "reason"} {
									s.record = powersync.Record{
										ID: "a", Name: "rack 1", ProvisionState: state, Power: power, TargetPower: target,
										Maintenance: maintenance, MaintenanceReason: "reason", Fault: fault, Reservation: reservation,
										LastError: lastError, DisablePowerOff: noPowerOff, Revision: 7,
									}
									everyJudgement(s, check)
								}
							}
						}
					}
				}
			}
		}
	}
}

// everyJudgement varies what is not in the record.
func everyJudgement(s situation, check func(situation)) {
	pasts := []powersync.Failures{{}, {Count: 1, LastError: "ours"}, {Count: 2}, {Count: 3, LastError: "ours"}}
	retries := []int{-1, 0, 1}
	if s.record.Maintenance || s.busy() {
		retries = []int{0}
	}
	for _, s.reading = range readings {
		for _, s.past = range pasts {
			for _, s.policy.MaxRetries = range retries {
				if len(retries) == 1 {
					check(s)
					continue
				}
				for _, s.policy.RecordOnly = range []bool{false, true} {
					for _, s.policy.ForgetUnread = range []bool{false, true} {
						check(s)
					}
				}
			}
		}
	}
}

// What the rules below are stated in.

func (s situation) retries() int { return map[int]int{-1: 0, 0: 3, 1: 1}[s.policy.MaxRetries] }
func (s situation) last() bool   { return s.past.Count >= s.retries() }
func (s situation) unread() bool { return s.reading.Power != isOn && s.reading.Power != isOff }
func (s situation) busy() bool   { return s.record.TargetPower != unknown || s.record.Reservation != "" }
func (s situation) agree() bool {
	return s.reading.Err == nil && s.reading.Power == s.record.Power && (!s.unread() || s.record.Power == unknown)
}

type rule struct {
	outcome powersync.Outcome
	applies func(situation) bool
}

func inState(state states.State) func(situation) bool {
	return func(s situation) bool { return s.record.ProvisionState == state }
}

// syncRules are the rules of the package comment; the first that applies counts.
var syncRules = []rule{
	{powersync.SkippedEnroll, inState(states.Enroll)},
	{powersync.SkippedDeployWait, inState(states.DeployWait)},
	{powersync.SkippedCleanWait, inState(states.CleanWait)},
	{powersync.SkippedAdoptFail, inState(states.AdoptFail)},
	{powersync.SkippedMaintenance, func(s situation) bool { return s.record.Maintenance }},
	{powersync.SkippedTarget, func(s situation) bool { return s.record.TargetPower != unknown }},
	{powersync.SkippedReservation, func(s situation) bool { return s.record.Reservation != "" }},
	{powersync.SkippedConfiguration, func(s situation) bool { return s.record.Power == unknown && s.reading.Invalid != nil }},
	{powersync.Equal, situation.agree},
	{powersync.IntoMaintenance, func(s situation) bool { return s.unread() && s.last() }},
	{powersync.ReadFailed, situation.unread},
	{powersync.Recorded, func(s situation) bool { return s.record.Power == unknown }},
	{powersync.IntoMaintenance, situation.last},
	{powersync.Corrected, func(s situation) bool {
		return s.policy.RecordOnly || s.record.DisablePowerOff || s.record.Power != isOn && s.record.Power != isOff
	}},
	{powersync.Forced, func(situation) bool { return true }},
}

var recoveryRules = []rule{
	{powersync.SkippedEnroll, inState(states.Enroll)},
	{powersync.SkippedNoPowerFailure, func(s situation) bool { return !s.record.Maintenance || s.record.Fault != "power failure" }},
	{powersync.SkippedTarget, func(s situation) bool { return s.record.TargetPower != unknown }},
	{powersync.SkippedReservation, func(s situation) bool { return s.record.Reservation != "" }},
	{powersync.ReadFailed, func(s situation) bool { return s.unread() || s.reading.Invalid != nil }},
	{powersync.Recovered, func(situation) bool { return true }},
}

func expected(s situation, rules []rule) powersync.Outcome {
	for _, r := range rules {
		if r.applies(s) {
			return r.outcome
		}
	}
	return ""
}

func TestDecideFollowsTheRulesInEverySituation(t *testing.T) {
	seen := map[powersync.Outcome]int{}
	everySituation(func(s situation) {
		after, a := powersync.Decide(s.record, s.reading, s.past, s.policy)
		if want := expected(s, syncRules); a.Outcome != want {
			t.Fatalf("%+v: %s, not %s", s, a.Outcome, want)
		}
		if wrong := wrongEffect(s, after, a); wrong != "" {
			t.Fatalf("%+v: %s: %s: %+v, %+v", s, a.Outcome, wrong, after, a)
		}
		seen[a.Outcome]++
	})
	for _, r := range syncRules {
		require.NotZero(t, seen[r.outcome], r.outcome)
	}
}

// wrongEffect says what is wrong with the record and the failures that follow from an
// outcome; it returns "" if nothing is.
func wrongEffect(s situation, after powersync.Record, a powersync.Action) string {
	want, failures := s.record, powersync.Failures{Count: s.past.Count + 1, LastError: s.past.LastError}
	asked, read, attempts, failed := unknown, unknown, 0, false
	if powersync.SkipSync(s.record) == "" {
		failed = s.unread() && a.Outcome != powersync.Equal
		if !s.unread() {
			read = s.reading.Power
		}
	}
	switch a.Outcome {
	case powersync.Equal:
		failures = powersync.Failures{}
		if s.past.LastError == "ours" && s.record.LastError == "ours" {
			want.LastError = ""
		}
	case powersync.Recorded:
		failures = powersync.Failures{}
		want.Power = s.reading.Power
	case powersync.Corrected:
		want.Power = s.reading.Power
	case powersync.Forced:
		asked = s.record.Power
		want.TargetPower = s.record.Power
	case powersync.IntoMaintenance:
		want.Maintenance, want.Fault = true, "power failure"
		switch {
		case !s.unread():
			want.Power = s.reading.Power
		case s.policy.ForgetUnread:
			want.Power = unknown
		}
		want.LastError, want.MaintenanceReason = after.LastError, after.LastError
		failures.LastError = after.LastError
		if !strings.Contains(after.LastError, fmt.Sprintf("failed %d times", s.past.Count+1)) {
			return "the reason for maintenance has no count"
		}
	case powersync.ReadFailed:
	case powersync.SkippedConfiguration:
		failures = powersync.Failures{}
	default:
		if failures = s.past; !s.busy() {
			failures = powersync.Failures{}
		}
	}
	if powersync.SkipSync(s.record) == "" {
		attempts = failures.Count
	}
	switch {
	case after != want:
		return "another record"
	case a.Failures != failures:
		return "other failures"
	case a.Asked != asked:
		return "another request"
	case a.Recorded != s.record.Power || a.ID != s.record.ID:
		return "another node in the event"
	case a.Read != read || a.Attempts != attempts || (a.Err != nil) != failed:
		return "another attempt in the event"
	case after.LastError != s.record.LastError && (a.LastError != after.LastError || a.ClearedError != s.record.LastError),
		after.LastError == s.record.LastError && a.LastError+a.ClearedError != "":
		return "another change of the last error in the event"
	default:
		return ""
	}
}

func TestDecideRecoveryFollowsTheRulesInEverySituation(t *testing.T) {
	seen := map[powersync.Outcome]int{}
	everySituation(func(s situation) {
		if s.policy != (powersync.Policy{}) {
			return
		}
		after, a := powersync.DecideRecovery(s.record, s.reading, s.past)
		want, failures, attempts := s.record, s.past, 0
		switch outcome := expected(s, recoveryRules); {
		case a.Outcome != outcome:
			t.Fatalf("%+v: %s, not %s", s, a.Outcome, outcome)
		case outcome == powersync.Recovered:
			want.Power, want.Maintenance, want.MaintenanceReason, want.Fault = s.reading.Power, false, "", ""
			failures = powersync.Failures{}
			if s.record.LastError == s.record.MaintenanceReason {
				want.LastError = ""
			}
		case outcome == powersync.ReadFailed:
			failures.Count++
			attempts = failures.Count
		}
		cleared := strings.TrimSuffix(s.record.LastError, want.LastError) // the whole or nothing
		if after != want || a.Failures != failures || a.Attempts != attempts || a.LastError != "" || a.ClearedError != cleared {
			t.Fatalf("%+v: %s: %+v, %+v", s, a.Outcome, after, a)
		}
		seen[a.Outcome]++
	})
	require.Len(t, seen, len(recoveryRules))
}

func TestSettleReleasesANodeAndKeepsTheErrorOfAFailedForce(t *testing.T) {
	before := node(isOn)
	held, a := powersync.Decide(before, powersync.Reading{Power: isOff}, powersync.Failures{}, powersync.Policy{})
	require.Equal(t, powersync.Forced, a.Outcome)
	held.Reservation = "this"

	after, settled := powersync.Settle(held, a, nil)
	require.Equal(t, before, after)
	require.Equal(t, a, settled)

	after, settled = powersync.Settle(held, a, errUnread)
	want := before
	want.LastError = `power sync could not set "power on": no route to host`
	require.Equal(t, want, after)
	require.Equal(t, powersync.ForceFailed, settled.Outcome)
	require.Equal(t, powersync.Failures{Count: 1, LastError: want.LastError}, settled.Failures)
	require.ErrorIs(t, settled.Err, errUnread)
}

func TestDecideDoesNotAllocate(t *testing.T) {
	for _, reading := range readings {
		for _, power := range []states.Power{unknown, isOn, isOff} {
			r := node(power)
			allocs := testing.AllocsPerRun(100, func() {
				powersync.Decide(r, reading, powersync.Failures{Count: 1}, powersync.Policy{})
				powersync.DecideRecovery(r, reading, powersync.Failures{Count: 1})
			})
			require.Zero(t, allocs, "%v %+v", power, reading)
		}
	}
}

// TestARequestFollowsTheRulesInEverySituation checks Accept and DecideRequest against
// change_node_power_state and node_power_action.
func TestARequestFollowsTheRulesInEverySituation(t *testing.T) {
	for asked := states.NoPower; asked <= states.PowerError; asked++ {
		for state := range states.AllStates() {
			for _, r := range []powersync.Record{
				{}, {DisablePowerOff: true}, {TargetPower: isOn}, {Reservation: "another"}, {Maintenance: true, LastError: "old"},
			} {
				r.ProvisionState = state
				after, err := powersync.Accept(r, asked)
				off := asked == isOff || asked == states.PowerSoftOff
				var refused *powersync.RefusedError
				switch {
				case asked.Target() == unknown, state == states.Cleaning, state == states.CleanWait, r.DisablePowerOff && off:
					require.ErrorAs(t, err, &refused)
					require.Equal(t, r, after)
				case r.TargetPower != unknown, r.Reservation != "":
					require.ErrorIs(t, err, powersync.ErrLocked)
					require.Equal(t, r, after)
				default:
					require.NoError(t, err)
					r.TargetPower, r.LastError = asked.Target(), ""
					require.Equal(t, r, after)
				}
			}
		}
		restart := asked == states.PowerRebooting || asked == states.PowerSoftRebooting
		for _, reading := range readings[:6] {
			set, err := powersync.DecideRequest(asked, reading)
			switch {
			case asked.Target() == unknown:
			case restart && reading.Power == isOff:
				require.Equal(t, isOn, set)
			case restart:
				require.Equal(t, asked, set)
			case reading.Err != nil:
				require.ErrorIs(t, err, errUnread)
			case reading.Power == asked.Target():
				require.Equal(t, unknown, set)
			default:
				require.Equal(t, asked, set)
			}
			require.Equal(t, !restart && reading.Err != nil, err != nil)
		}
	}
}

// excluded is Ironic's SYNC_EXCLUDED_STATES.
var excluded = states.SetOf(states.Enroll, states.DeployWait, states.CleanWait, states.AdoptFail)

func TestASyncRoundSkipsTheExcludedStatesAndBusyNodes(t *testing.T) {
	for s := range states.AllStates() {
		skip := powersync.SkipSync(powersync.Record{ProvisionState: s})
		require.Equal(t, excluded.Has(s), skip != "", "%v", s)
	}
	busy := powersync.Record{ProvisionState: states.Active, Maintenance: true, TargetPower: isOn, Reservation: "x"}
	require.Equal(t, powersync.SkippedMaintenance, powersync.SkipSync(busy))
	busy.Maintenance = false
	require.Equal(t, powersync.SkippedTarget, powersync.SkipSync(busy))
	busy.TargetPower = unknown
	require.Equal(t, powersync.SkippedReservation, powersync.SkipSync(busy))
}

func TestARecoveryRoundSkipsAllButFreeNodesWithAPowerFailure(t *testing.T) {
	for s := range states.AllStates() {
		r := powerFailure(isOn)
		r.ProvisionState = s
		require.Equal(t, s == states.Enroll, powersync.SkipRecovery(r) != "", "%v", s)
	}
	r := powerFailure(isOn)
	r.TargetPower, r.Reservation = isOn, "x"
	require.Equal(t, powersync.SkippedTarget, powersync.SkipRecovery(r))
	r.TargetPower = unknown
	require.Equal(t, powersync.SkippedReservation, powersync.SkipRecovery(r))
	r.Fault = "clean failure"
	require.Equal(t, powersync.SkippedNoPowerFailure, powersync.SkipRecovery(r))
	require.Equal(t, powersync.SkippedNoPowerFailure, powersync.SkipRecovery(node(isOn)))
}

func TestAnAnswerWithoutAPowerStateSaysSo(t *testing.T) {
	for power, want := range map[states.Power]string{
		states.NoPower: "no power state reported: the hardware has none", states.PowerError: `no power state reported: it is "error"`,
	} {
		_, a := powersync.Decide(powersync.Record{Power: states.PowerOn}, powersync.Reading{Power: power},
			powersync.Failures{}, powersync.Policy{})
		require.EqualError(t, a.Err, want)
	}
}
