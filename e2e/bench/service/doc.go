// SPDX-License-Identifier: Apache-2.0

// Service measures the program cmd/ironstate beside a real Ironic, with one
// client and on one machine, and prints the results as Markdown.
//
//	go run ./e2e/bench/service
//
// The first table compares the requests per second. Both services have the same number
// of nodes with fake hardware, both clean nodes automatically, and neither syncs power.
// They are measured in turns, so that load on the machine affects both. Ironic is
// Debian's, with its API and its conductor in one process on SQLite; the conductor
// keeps its nodes in an embedded etcd in a folder. Both write to the same disk and sync
// their writes. The second table is about the conductor alone, with a large fleet: the
// time of its start, its memory, and its latencies during a round of power sync.
package main
