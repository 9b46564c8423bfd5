// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"iter"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Part is a part of a node's life, by its title. The zero value is no part.
type Part string

// The parts of a node's life, in their order.
const (
	PartEnrolment  Part = "Enrolment"
	PartInspection Part = "Inspection"
	PartCleaning   Part = "Cleaning"
	PartDeployment Part = "Deployment"
	PartAdoption   Part = "Adoption"
	PartRescue     Part = "Rescue"
	PartService    Part = "Service"
	PartTearDown   Part = "Tear-down"
)

// AllParts ranges over the parts of a node's life, from [PartEnrolment] to [PartTearDown].
func AllParts() iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for _, c := range chapters {
			if !yield(c.part) {
				return
			}
		}
	}
}

// A chapter has the states of a part, and the stable state after it, which is between parts. How drawings place the
// part is in its partLayouts, one for each layout; what one diagram shows of it is a [group].
type chapter struct {
	part   Part
	states []states.State
	then   states.State // NoState if there is none
}

// chapters holds all states in the order of a node's life. Each work has its place here. A state that a layout does not
// list is drawn at the end of its chapter's part.
var chapters = []chapter{
	{PartEnrolment, append([]states.State{states.Enroll}, of(states.WorkVerify)...), states.Manageable},
	{PartInspection, of(states.WorkInspect), states.NoState},
	{PartCleaning, of(states.WorkClean), states.Available},
	{PartDeployment, of(states.WorkDeploy), states.Active},
	{PartAdoption, of(states.WorkAdopt), states.NoState},
	{PartRescue, slices.Concat(of(states.WorkRescue), []states.State{states.Rescue}, of(states.WorkUnrescue)), states.NoState},
	{PartService, of(states.WorkService), states.NoState},
	{PartTearDown, of(states.WorkDelete), states.NoState},
}

// of returns the states of a work in the order in which a node may enter them.
func of(w states.Work) []states.State {
	all := []states.State{w.Working(), w.Waiting(), w.Held(), w.Failed()}
	return slices.DeleteFunc(all, func(s states.State) bool { return s == states.NoState })
}

// partOf returns a state's part, "" for a state between parts.
func partOf(s states.State) Part {
	for _, c := range chapters {
		if slices.Contains(c.states, s) {
			return c.part
		}
	}
	return ""
}
