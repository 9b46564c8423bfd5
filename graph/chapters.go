// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// A chapter is a part of a node's life: the states that drawings have in a box, and the stable state after them, which
// they have between the boxes.
type chapter struct {
	title string
	part  []states.State
	then  states.State // NoState if there is none
}

// chapters holds all states in the order of a node's life. Each work has its place here. A state that a layout does not
// list is drawn at the end of its chapter's part.
var chapters = []chapter{
	{"Enrolment", append([]states.State{states.Enroll}, of(states.WorkVerify)...), states.Manageable},
	{"Inspection", of(states.WorkInspect), states.NoState},
	{"Cleaning", of(states.WorkClean), states.Available},
	{"Deployment", of(states.WorkDeploy), states.Active},
	{"Adoption", of(states.WorkAdopt), states.NoState},
	{"Rescue", slices.Concat(of(states.WorkRescue), []states.State{states.Rescue}, of(states.WorkUnrescue)), states.NoState},
	{"Service", of(states.WorkService), states.NoState},
	{"Tear-down", of(states.WorkDelete), states.NoState},
}

// of returns the states of a work in the order in which a node may enter them.
func of(w states.Work) []states.State {
	all := []states.State{w.Working(), w.Waiting(), w.Held(), w.Failed()}
	return slices.DeleteFunc(all, func(s states.State) bool { return s == states.NoState })
}

// partOf returns the title of a state's part, empty for a state between parts.
func partOf(s states.State) string {
	for _, c := range chapters {
		if slices.Contains(c.part, s) {
			return c.title
		}
	}
	return ""
}
