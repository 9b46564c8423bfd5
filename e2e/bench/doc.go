// SPDX-License-Identifier: Apache-2.0

// Bench measures package machine beside github.com/looplab/fsm and
// github.com/qmuntal/stateless, all walking the same path of the same table, and
// prints the results as Markdown.
//
//	go run ./e2e/bench
//
// A figure is the median of -count runs. The benchmarks also run one by one under go
// test:
//
//	go test ./e2e/bench -bench . -count 5
//
// It is a separate module, so that the peers are dependencies of no other module.
package main
