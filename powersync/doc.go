// Package powersync keeps the recorded power state of a fleet true, as Ironic's
// conductor does, and leaves nodes in enroll alone.
//
// A [Store] has the records, a [Driver] asks the hardware, a [Syncer] brings the
// two together:
//
//	syncer, err := powersync.New(powersync.Config{Store: store, Driver: driver})
//	...
//	err = syncer.Run(ctx) // a round every two minutes, until ctx ends
//
// [Syncer.Sync] is one round. It reads the power state of every node that is not
// to be left alone ([SkipSync]). Where the reading differs from the record, it
// sets the hardware to the recorded power state, or with [Config.RecordOnly]
// records the reading. A node that fails round after round goes into maintenance
// with the fault [FaultPowerFailure]. [Syncer.Recover] takes it out again once
// its power state can be read. [Syncer.Set] sets a power state on purpose, and
// [Syncer.Begin] is the half of it that a service does before it answers its
// client.
//
// # Rules
//
// A round skips nodes in enroll, wait call-back, clean wait and adopt failed,
// nodes in maintenance, and those that have a target power state or a
// reservation. For a node taken, with count the attempts that failed in a row,
// this one included:
//
//   - No power state is recorded and the driver finds the node's configuration
//     invalid: nothing happens.
//   - Reading fails: nothing changes, and once count is over
//     [Config.MaxRetries] the node goes into maintenance, its recorded power
//     state unchanged ([Config.ForgetUnread] records none, as Ironic's code does
//     against its documentation).
//   - The reading equals the record: count starts over, and the last error is
//     cleared if it is one that a round of this Syncer stored.
//   - No power state is recorded: the reading is recorded.
//   - They differ and count is over MaxRetries: the reading is recorded and the
//     node goes into maintenance.
//   - They differ: the hardware is set; or the reading is recorded, where
//     Config.RecordOnly or Config.CanForce says so, or the node forbids
//     power off.
//
// No round clears a last error that somebody else stored, [Syncer.Set] and
// [Syncer.Reclaim] included; Ironic's rounds clear any when they set hardware. An
// error that is cleared or replaced is in the [Event]: a caller that keeps a
// history, as Ironic's node_history, has it from there.
//
// Nothing is written over a record that somebody else has changed since it was
// loaded: the node starts again, with a new read of its hardware. While it sets
// hardware a Syncer holds the node's reservation. A reservation in its name that
// none of its goroutines works under is dropped by the next sync round, as by
// [Syncer.Reclaim]: a store that did an update and answered that it had not, or a
// process that died, leaves no node held for good.
//
// The counts are in memory. A process that starts anew gives every node its
// retries anew, as a conductor does.
//
// Source: _sync_power_states, do_sync_power_state, _power_failure_recovery and
// change_node_power_state in ironic/conductor/manager.py, node_power_action in
// ironic/conductor/utils.py.
package powersync
