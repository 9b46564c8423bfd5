// SPDX-License-Identifier: Apache-2.0

// Package states is the vocabulary of Ironic's provisioning state machine, and
// the machine itself as a table, for every series of OpenStack from Kilo to
// 2026.2. A series stands for its last release, 2026.2 for Ironic 39.0.0 (API 1.115).
//
// A [State] is a provision state of a node; an [Event] moves a node from one state to
// another. A [Series] has a [Table] of all its transitions:
//
//	table := states.Latest().Table()
//	next, ok := table.Next(states.Enroll, states.EventManage) // Verifying, true
//
// The table also has the sets that Ironic's own rules are written in
// ([Table.Stable], [Table.Failed], [Table.DeleteAllowed], ...). [Table.Phase] says who
// moves a node on from a state, [Table.Work] which work the state belongs to and, as a
// [Work], in which other states that work runs, waits, is held or has failed, [Table.Target] which state the node is
// headed for, and [Table.Request] how the series' API answers a client:
//
//	event, err := table.Request(states.Available, "active", 81) // EventDeploy
//
// [Table.CanUpdate] and [CanSchedule] are the API's and Nova's
// rules for a node in a state. [State.Description] and [Event.Description] explain
// states and events to people. [RawState] keeps the words of a server that is newer
// than this module.
//
// States, events, power states, states of allocations, works and series are small numbers
// that print and parse as Ironic's own words. The zero value of each type stands for none:
// NoState, NoEvent, NoPower and NoAllocation are null in JSON and SQL. Tables never
// change. All values may be shared between goroutines freely.
//
// Package statestest, below, checks other implementations of the machine against a
// table; its rapidstates has generators for property tests.
//
// The package does no I/O, starts no goroutine and imports the standard library
// alone.
//
// # Enroll by default
//
// A request that creates a node at API version 1.11 or up creates it in [Enroll]; at a
// lower version, or without one, it creates it in [Available], free for use and with
// nothing verified. [APIVersion.InitialState] has this rule. The server must be of
// Liberty or later to know 1.11; [Created] warns of one that is older.
//
// A script that creates nodes at 1.11 or up makes two requests more than before:
//
//	manage     verifies the node's credentials: enroll, verifying, manageable
//	provide    cleans the node: manageable, cleaning, available
//
// Each takes time, and the script waits for the first before it makes the second. A
// verification that fails ends in enroll, with the reason in last_error; cleaning that
// fails ends in clean failed. A script that does not do this breaks:
//
//   - It waits for available forever, because only a request moves a node out of
//     enroll.
//   - Its request for active is refused (400), and so is provide in enroll.
//   - Schedulers pass the node over, see [CanSchedule].
//   - Power sync leaves the node alone: its power state stays null until manage.
//   - A wrong address or password shows at manage, and no longer at the first
//     deployment.
//
// A client that asks for the latest version, as the baremetal command does by default,
// has the new behaviour with any server that knows it. To keep the old one, name a
// version, which also keeps the next server from changing anything else:
//
//	X-OpenStack-Ironic-API-Version: 1.10            the header of every request
//	OS_BAREMETAL_API_VERSION=1.10 baremetal ...     the command
//	client.Microversion = "1.10"                    gophercloud
//
// At 1.10 the API takes no request that came later, among them abort (1.13), clean
// (1.15) and adopt (1.17). The better way is to add the two requests and to name a
// version of at least 1.11.
package states
