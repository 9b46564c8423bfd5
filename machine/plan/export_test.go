// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Tries counts how often each kind of work was started.
type Tries = tries

// TriesOf returns tries in which one kind of work was started n times.
func TriesOf(s states.State, n uint8) Tries {
	var t Tries
	t[s.Work()] = n
	return t
}

// Tried returns how often a kind of work was started.
func (p Progress) Tried(w states.Work) int { return int(p.tried[w]) }

// The sizes of the arrays, and the order of requests.
const (
	MaxStates = maxStates
	MaxEvents = maxEvents
	MaxWorks  = maxWorks
)

var Preference = preference

// Build builds the index of a series' table, without the cache.
func Build(t *states.Table) { new(index).build(t) }

// NewProgress returns any progress, even one that Next never returns.
func NewProgress(tried Tries, stage uint8) Progress {
	return Progress{tried: tried, stage: toStage(stage)}
}

// stages gives each stage a number, so that tests can draw them and vertices are small.
var stages = []stage{open, asked, finished, "another"}

func toStage(n uint8) stage { return stages[min(int(n), len(stages)-1)] }

// Tries and Stage return the parts of a progress.
func (p Progress) Tries() Tries { return p.tried }
func (p Progress) Stage() uint8 { return uint8(slices.Index(stages, p.stage)) }

// Stages.
const (
	Open  uint8 = 0
	Asked uint8 = 1
)
