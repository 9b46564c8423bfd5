// Package states is the vocabulary of Ironic's provisioning state machine, and
// the machine itself as a table, for every series of OpenStack from Kilo to
// 2026.2.
//
// A [State] is a provision state of a node; an [Event] moves a node from one state to
// another. A [Series] has a [Table] of all its transitions:
//
//	table := states.Latest().Table()
//	next, ok := table.Next(states.Enroll, states.EventManage) // Verifying, true
//
// The table also has the sets that Ironic's own rules are written in
// ([Table.Stable], [Table.Failed], [Table.DeleteAllowed], ...). [Table.Phase] says who
// moves a node on from a state, [Table.Target] which state the node is headed for, and
// [Table.Request] how the series' API answers a client:
//
//	event, err := table.Request(states.Available, "active", 81) // EventDeploy
//
// [Table.CanUpdate], [Table.CanDelete] and [CanSchedule] are the API's and Nova's
// rules for a node in a state. [Reported] keeps the words of a server that is newer
// than this module.
//
// All values are plain: numbers, bits and words. They print and parse as Ironic's
// own words; the zero value of each type is none. A State, Event or Power is null
// for none in JSON and SQL. Tables never change. Everything here may be shared
// between goroutines freely.
//
// Package statestest, below, checks other implementations of the machine against a
// table; its rapidstates has generators for property tests.
//
// The package does no I/O, starts no goroutine and imports the standard library
// alone.
package states
