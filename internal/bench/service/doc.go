// Service measures the program examples/conductor beside a real Ironic, with one
// client and on one machine, and prints the results as Markdown.
//
//	go run ./internal/bench/service
//
// The first table compares the requests a second: both services have as many nodes of
// fake hardware, both clean nodes automatically, neither syncs power, and they take
// turns, so that a busy moment of the machine meets both. Ironic is Debian's, its API
// and its conductor in one process on SQLite; the conductor keeps its nodes in an etcd
// in a folder. Both write to the same disk and wait until it has the data. The second
// table is of the conductor alone, with a large fleet: how long it takes to start, how
// much memory it has, and how fast it answers during a round of the power sync.
//
// It is a module of its own, so that Ironic's parts are no dependencies of the
// comparison of packages one folder above.
package main
