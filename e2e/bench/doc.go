// SPDX-License-Identifier: Apache-2.0

// Bench measures package machine beside other state machines for Go and beside an array, which
// generated code would have, all walking the same path of the same table. It prints the
// results as Markdown: hooks and creation beside the two best known, github.com/looplab/fsm and
// github.com/qmuntal/stateless, and events without hooks beside all.
//
//	go run ./e2e/bench
//
// A figure is the median of -count runs. The benchmarks also run one by one under go
// test:
//
//	go test ./e2e/bench -bench . -count 5
//
// The other state machines were found by a search. Each of them follows a table with any states,
// has a free licence, and is served by the module proxy in a version whose checksum is public.
// The module e2e alone requires them.
package main
