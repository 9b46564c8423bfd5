// SPDX-License-Identifier: Apache-2.0

// Package powersync keeps the recorded power states of a fleet in agreement with the
// hardware, as Ironic's conductor does, and skips nodes in enroll.
//
// A [Store] has the records, a [Driver] reads and sets the hardware, and a [Syncer]
// compares the two:
//
//	syncer, err := powersync.New(powersync.Config{Store: store, Driver: driver})
//	...
//	err = syncer.Run(ctx) // a round every two minutes, until ctx ends
//
// [Syncer.Sync] is one round. It reads the power state of every node that [SkipSync]
// does not exclude. If the reading differs from the record, it sets the hardware to
// the recorded power state, or with [Policy.RecordOnly] records the reading. A node
// that fails in several rounds in a row goes into maintenance with the fault
// [FaultPowerFailure]. [Syncer.Recover] takes it out again once its power state can be
// read. [Syncer.Set] carries out a power request. [Syncer.Begin] is its first half,
// for a service that answers its client before the request is complete. A service that
// stores and reserves its nodes in its own way gives the Syncer a [Handler] in place of a
// Store and a Driver.
//
// The decisions are pure functions, for services with a loop of their own. [Decide] is the
// rule of a sync round, [DecideRecovery] the rule of a recovery round. The rules of a power
// request are [Accept], [DecideRequest], [Perform], [Confirm] and [SettleRequest]. A
// Syncer is their loop: it lists the records, reads and sets hardware, bounds each call,
// and stores.
//
// # Rules
//
// A round skips nodes in four provision states, in maintenance, with a target power
// state and with a reservation, see [SkipSync]. For any other node the first of these
// rules that applies decides:
//
//  1. The record has no power state, and the driver finds the node's configuration
//     invalid: the hardware is not read, and nothing changes.
//  2. The reading equals the record: nothing changes, except that a last error which a
//     round of this Syncer has stored is cleared.
//  3. The hardware was read, and the record has no power state: the reading is recorded.
//  4. More attempts in a row than [Policy.MaxRetries] have failed, this one included: the
//     node goes into maintenance. The reading is recorded; if there is none, the recorded
//     power state stays, or with [Policy.ForgetUnread] is removed.
//  5. The hardware cannot be read: nothing changes.
//  6. [Policy.RecordOnly], [Config.CanForce] or the node's disable_power_off forbids to
//     set the hardware: the reading is recorded.
//  7. Otherwise the hardware is set to the recorded power state.
//
// Attempts by the rules 4 to 7 count as failed, also if they set the hardware with success.
// Those by the rules 1 to 3 end the count.
//
// A recovery round clears a last error that is the reason of the maintenance. No round clears
// another one that another writer stored, including [Syncer.Set] and [Syncer.Reclaim]; Ironic's rounds clear any last
// error when they set hardware. The [Event] has every error that is cleared or replaced, for callers that keep a
// history such as Ironic's node_history.
//
// A Syncer does not overwrite a record that another writer has changed since it was
// loaded: it handles the node again, with a new read of its hardware. While it sets
// hardware, the node is reserved in the Syncer's name. The next sync round drops a
// reservation in the Syncer's name under which none of its goroutines works, as
// [Syncer.Reclaim] does. No node therefore stays reserved forever after a process has
// died, or after a store has made an update and reported a failure.
//
// The counts are in memory. A restarted process resets the retries of every node, as a
// conductor does.
//
// Source: _sync_power_states, do_sync_power_state, _power_failure_recovery and
// change_node_power_state in ironic/conductor/manager.py, node_power_action in
// ironic/conductor/utils.py.
package powersync
