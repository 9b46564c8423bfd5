// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// A chapter is a part of a node's life: the works that are done in it, and the stable states around them.
type chapter struct {
	title  string
	states []states.State
}

// chapters holds all states in the order of a node's life. Each work has its place here, and a layout needs a state
// only to draw it elsewhere than at the end of the chapter's part.
var chapters = []chapter{
	{"Enrolment", slices.Concat([]states.State{states.Enroll}, of(states.WorkVerify), []states.State{states.Manageable})},
	{"Inspection", of(states.WorkInspect)},
	{"Cleaning", append(of(states.WorkClean), states.Available)},
	{"Deployment", append(of(states.WorkDeploy), states.Active)},
	{"Adoption", of(states.WorkAdopt)},
	{"Rescue", slices.Concat(of(states.WorkRescue), []states.State{states.Rescue}, of(states.WorkUnrescue))},
	{"Service", of(states.WorkService)},
	{"Tear-down", of(states.WorkDelete)},
}

// of returns the states of a work in the order in which a node may enter them.
func of(w states.Work) []states.State {
	all := []states.State{w.Working(), w.Waiting(), w.Held(), w.Failed()}
	return slices.DeleteFunc(all, func(s states.State) bool { return s == states.NoState })
}

// chapterOf returns the title of a state's chapter, empty if it has none.
func chapterOf(s states.State) string {
	for _, c := range chapters {
		if slices.Contains(c.states, s) {
			return c.title
		}
	}
	return ""
}
