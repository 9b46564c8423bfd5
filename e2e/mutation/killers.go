// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"sync"
	"time"
)

// killers remembers the tests that killed the last mutants. They are likely to kill the next ones too, which are beside
// them in the code.
type killers struct {
	mu    sync.Mutex
	names []string // the last killer first
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// add remembers the test that failed, by the output of a test binary.
func (k *killers) add(output []byte) {
	const most = 4
	match := failure.FindSubmatch(output)
	if match == nil {
		return // a panic outside the test's goroutine does not name the test
	}
	name := string(match[1])
	k.mu.Lock()
	defer k.mu.Unlock()
	names := append([]string{name}, slices.DeleteFunc(slices.Clone(k.names), func(other string) bool { return other == name })...)
	k.names = names[:min(most, len(names))]
}

// first groups tests in the order in which they are run: the quick ones that killed the last mutants, then the others
// by the time that each takes.
func (k *killers) first(tests []test) [][]test {
	k.mu.Lock()
	defer k.mu.Unlock()
	groups := make([][]test, 4)
	for _, t := range tests {
		group := 3
		switch {
		case t.took < time.Second && slices.Contains(k.names, t.name):
			group = 0
		case t.took < 50*time.Millisecond:
			group = 1
		case t.took < 500*time.Millisecond:
			group = 2
		}
		groups[group] = append(groups[group], t)
	}
	return slices.DeleteFunc(groups, func(group []test) bool { return len(group) == 0 })
}
