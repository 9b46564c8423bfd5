// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// The titles of the parts of a node's life, by which [Diagram.Part], chapters and layouts name them. A state between
// parts has the title "".
const (
	partEnrolment  = "Enrolment"
	partInspection = "Inspection"
	partCleaning   = "Cleaning"
	partDeployment = "Deployment"
	partAdoption   = "Adoption"
	partRescue     = "Rescue"
	partService    = "Service"
	partTearDown   = "Tear-down"
)

// A chapter is a part of a node's life, whose states drawings have in a box, and the stable state after it, which they
// have between the boxes.
type chapter struct {
	title  string
	states []states.State // of the part
	then   states.State   // NoState if there is none
}

// chapters holds all states in the order of a node's life. Each work has its place here. A state that a layout does not
// list is drawn at the end of its chapter's part.
var chapters = []chapter{
	{partEnrolment, append([]states.State{states.Enroll}, of(states.WorkVerify)...), states.Manageable},
	{partInspection, of(states.WorkInspect), states.NoState},
	{partCleaning, of(states.WorkClean), states.Available},
	{partDeployment, of(states.WorkDeploy), states.Active},
	{partAdoption, of(states.WorkAdopt), states.NoState},
	{partRescue, slices.Concat(of(states.WorkRescue), []states.State{states.Rescue}, of(states.WorkUnrescue)), states.NoState},
	{partService, of(states.WorkService), states.NoState},
	{partTearDown, of(states.WorkDelete), states.NoState},
}

// of returns the states of a work in the order in which a node may enter them.
func of(w states.Work) []states.State {
	all := []states.State{w.Working(), w.Waiting(), w.Held(), w.Failed()}
	return slices.DeleteFunc(all, func(s states.State) bool { return s == states.NoState })
}

// partOf returns the title of a state's part, empty for a state between parts.
func partOf(s states.State) string {
	for _, c := range chapters {
		if slices.Contains(c.states, s) {
			return c.title
		}
	}
	return ""
}
