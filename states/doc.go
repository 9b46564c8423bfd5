// Package states is the vocabulary of Ironic's provisioning state machine, and
// the machine itself as a table, for every series of OpenStack from Kilo to
// 2026.2.
//
// A [State] is where a node is, an [Event] what moves it. A [Series] has a
// [Table], which says what leads where:
//
//	table := states.Latest().Table()
//	next, ok := table.Next(states.Enroll, states.EventManage) // Verifying, true
//
// The table also has the sets that Ironic's own rules are written in
// ([Table.Stable], [Table.Failed], [Table.DeleteAllowed], ...), who moves a node on
// from a state ([Table.Phase]), the state that it is headed for ([Table.Target]),
// and the answer that the series' API gives to a client ([Table.Request]):
//
//	event, err := table.Request(states.Available, "active", 81) // EventDeploy
//
// [Table.CanUpdate], [Table.CanDelete] and [CanSchedule] are the API's and Nova's
// rules for a node in a state. [Reported] keeps the words of a server that is newer
// than this module.
//
// All values are plain: small numbers and bits. They print and parse as Ironic's
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
