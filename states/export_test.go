// SPDX-License-Identifier: Apache-2.0

package states

import "iter"

// VerbsOf returns the VERBS of a series' source.
func VerbsOf(t *Table) map[string]Event { return t.verbs() }

// WordsOf returns the API's words for an event, the word of Verb first.
func WordsOf(e Event) []string {
	var words []string
	for i := range verbRows {
		if verbRows[i].event == e {
			words = append(words, verbRows[i].word)
		}
	}
	return words
}

// Waiting returns the states of PhaseWaiting, and Hold the states of PhaseHold.
func (t *Table) Waiting() Set { return t.set(waitingSet) }
func (t *Table) Hold() Set    { return t.set(holdSet) }

// AllAllocations ranges over every allocation state but NoAllocation.
func AllAllocations() iter.Seq[Allocation] { return all[Allocation](allocationWords) }

// AllPowers ranges over every power state but NoPower.
func AllPowers() iter.Seq[Power] { return all[Power](powerWords) }
