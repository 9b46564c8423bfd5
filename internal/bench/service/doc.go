// Service measures the program examples/conductor beside a real Ironic, with one
// client and on one machine, and prints the results as Markdown.
//
//	go run ./internal/bench/service
//
// The first table compares the requests per second: both services have the same number
// of nodes with fake hardware, both clean nodes automatically, neither syncs power, and
// they take turns, so that load on the machine affects both. Ironic is Debian's, its API
// and its conductor in one process on SQLite; the conductor keeps its nodes in an etcd
// in a folder. Both write to the same disk and wait until it has the data. The second
// table is of the conductor alone, with a large fleet: how long it takes to start, how
// much memory it has, and how fast it answers during a round of the power sync.
//
// It is a separate module, so that its dependencies are not those of internal/bench.
package main
