// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package states_test

import (
	"slices"
	"testing"

	"github.com/ironstate/ironstate/states"
)

// Sinks keep the compiler from removing the measured calls.
var (
	sinkState states.State
	sinkEvent states.Event
	sinkTable *states.Table
	sinkBool  bool
)

// lookups returns legal and illegal pairs of state and event, in an order other than
// the table's. Their number is a power of two, so that indexing needs no division.
func lookups() *[1024]states.Transition {
	var pairs [1024]states.Transition
	for i := range pairs {
		pairs[i].From = states.State(1 + i*7%int(states.ServiceHold))
		pairs[i].Event = states.Event(1 + i*11%int(states.EventError))
	}
	return &pairs
}

func BenchmarkNext(b *testing.B) {
	table := states.Latest().Table()
	pairs := lookups()
	var array [64][32]states.State
	for row := range table.Transitions() {
		array[row.From][row.Event] = row.To
	}
	b.Run("array", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			pair := pairs[uint(i)%1024]
			sinkState = array[pair.From][pair.Event]
		}
	})
	b.Run("table", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			pair := pairs[uint(i)%1024]
			sinkState, sinkBool = table.Next(pair.From, pair.Event)
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	table := states.Latest().Table()
	newest := states.Latest().MaxAPIVersion()
	b.Run("accepted", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkEvent, _ = table.Request(states.Available, "active", newest)
		}
	})
	b.Run("refused", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkEvent, _ = table.Request(states.Available, "rescue", newest)
		}
	})
}

func BenchmarkSetHas(b *testing.B) {
	set := states.Latest().Table().Stable()
	pairs := lookups()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sinkBool = set.Has(pairs[uint(i)%1024].From)
	}
}

func BenchmarkParse(b *testing.B) {
	byWord := make(map[string]states.State)
	for s := range states.AllStates() {
		byWord[s.String()] = s
	}
	// Clones, so that no word is found by its address.
	var words []string
	for s := range states.AllStates() {
		words = append(words, string(slices.Clone([]byte(s.String()))))
	}
	b.Run("map", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			sinkState = byWord[words[i%len(words)]]
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			sinkState, _ = states.Parse(words[i%len(words)])
		}
	})
}

func BenchmarkTable(b *testing.B) {
	newest := states.Latest()
	b.ReportAllocs()
	for b.Loop() {
		sinkTable = newest.Table()
	}
}
