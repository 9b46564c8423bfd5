// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// A layout holds the order of the states and Graphviz's other layout hints.
type layout struct {
	nodesep, ranksep float64 // gaps, in inches
	// parts holds the parts in the order in which they are written for Graphviz and
	// Mermaid.
	parts []partLayout
	// unranked holds the edges that do not rank one state below the other.
	unranked map[pair]bool
}

// A partLayout is a part's title, the title's corner ("tl" is top left) and the
// part's states. The states between parts have neither title nor corner.
type partLayout struct {
	title, corner string
	states        []states.State
}

// A pair is the two states of an edge.
type pair struct{ from, to states.State }

// Both layouts are the result of a search over 2026.2, its requests alone and six
// older series. The search minimized the lines through titles, labels, parts and other
// lines, and the length of the lines. In the drawings of 2026.2 no line runs through a
// title or a label. A layout affects looks alone: every layout draws the same graph.
var (
	topDown = layout{
		nodesep: 0.2, ranksep: 0.35,
		parts: []partLayout{
			{"Enrolment", "tr", []states.State{states.Enroll, states.Verifying}},
			{"Adoption", "tl", []states.State{states.Adopting, states.AdoptFail}},
			{"Deployment", "tr", []states.State{states.Deploying, states.DeployHold, states.DeployWait, states.DeployFail}},
			{"Inspection", "bl", []states.State{states.InspectFail, states.InspectWait, states.Inspecting}},
			{"", "", []states.State{states.Manageable, states.Active, states.Available}},
			{"Service", "tl", []states.State{states.ServiceWait, states.ServiceHold, states.ServiceFail, states.Servicing}},
			{"Cleaning", "br", []states.State{states.CleanHold, states.Cleaning, states.CleanFail, states.CleanWait}},
			{"Rescue", "tr", []states.State{states.Rescuing, states.RescueWait, states.Unrescuing, states.Rescue, states.RescueFail, states.UnrescueFail}},
			{"Tear-down", "br", []states.State{states.Error, states.Deleting}},
		},
		unranked: map[pair]bool{
			{states.AdoptFail, states.Adopting}:      true,
			{states.Cleaning, states.CleanFail}:      true,
			{states.Cleaning, states.CleanHold}:      true,
			{states.DeployFail, states.Deploying}:    true,
			{states.Error, states.Deleting}:          true,
			{states.InspectFail, states.Inspecting}:  true,
			{states.Inspecting, states.Manageable}:   true,
			{states.ServiceFail, states.ServiceHold}: true,
			{states.ServiceHold, states.Servicing}:   true,
			{states.UnrescueFail, states.Rescuing}:   true,
			{states.Verifying, states.Manageable}:    true,
		},
	}
	leftToRight = layout{
		nodesep: 0.2, ranksep: 0.25,
		parts: []partLayout{
			{"Adoption", "br", []states.State{states.Adopting, states.AdoptFail}},
			{"", "", []states.State{states.Manageable, states.Available, states.Active}},
			{"Rescue", "tl", []states.State{states.Rescuing, states.RescueWait, states.RescueFail, states.Unrescuing, states.Rescue, states.UnrescueFail}},
			{"Tear-down", "br", []states.State{states.Deleting, states.Error}},
			{"Inspection", "tr", []states.State{states.InspectFail, states.InspectWait, states.Inspecting}},
			{"Cleaning", "tr", []states.State{states.CleanFail, states.Cleaning, states.CleanHold, states.CleanWait}},
			{"Enrolment", "bl", []states.State{states.Enroll, states.Verifying}},
			{"Service", "tl", []states.State{states.ServiceFail, states.ServiceWait, states.ServiceHold, states.Servicing}},
			{"Deployment", "bl", []states.State{states.DeployWait, states.DeployHold, states.Deploying, states.DeployFail}},
		},
		unranked: map[pair]bool{
			{states.DeployFail, states.Deploying}:    true,
			{states.Enroll, states.Verifying}:        true,
			{states.InspectFail, states.Inspecting}:  true,
			{states.InspectWait, states.Manageable}:  true,
			{states.RescueFail, states.Rescuing}:     true,
			{states.Rescue, states.Rescuing}:         true,
			{states.ServiceFail, states.ServiceHold}: true,
			{states.ServiceFail, states.ServiceWait}: true,
			{states.ServiceWait, states.Servicing}:   true,
			{states.UnrescueFail, states.Unrescuing}: true,
			{states.Verifying, states.Enroll}:        true,
			{states.DeployWait, states.DeployHold}:   true,
		},
	}
)

// partOf returns the title of a state's part, empty for a state between parts.
func partOf(s states.State) string {
	for _, p := range topDown.parts {
		if slices.Contains(p.states, s) {
			return p.title
		}
	}
	return ""
}
