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
// ([Table.Stable], [Table.Failed], [Table.DeleteAllowed], ...), the state that a
// node is headed for ([Table.Target]), and the answer that the series' API gives
// to a client ([Table.Request]):
//
//	event, err := table.Request(states.Available, "active", 81) // EventDeploy
//
// All values are plain: small numbers and bits. They print, parse and are encoded
// as Ironic's own words, in text, JSON, SQL, flags and logs; the zero value of
// each type is none, which JSON and SQL write as null. Tables never change.
// Everything here may be shared between goroutines freely.
//
// Package statestest, below, checks other implementations of the machine against a
// table; its rapidstates has generators for property tests.
//
// The package does no I/O, starts no goroutine and imports the standard library
// alone.
package states
