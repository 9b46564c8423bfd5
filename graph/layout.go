package graph

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// A layout holds the order of states and the other hints by which Graphviz places
// them, beside the edges.
type layout struct {
	nodesep, ranksep float64 // gaps, in inches
	// parts is in the order in which Graphviz and Mermaid read the states.
	parts []place
	// unranked has the edges that do not put one state below the other.
	unranked map[pair]bool
}

// A place is that of a part: its title's corner ("tl" is top left) and its states.
// The states between parts have neither title nor corner.
type place struct {
	title, corner string
	states        []states.State
}

// A pair is the two states of an edge.
type pair struct{ from, to states.State }

// Both layouts were found by search, over 2026.2, its requests alone and six older series,
// for drawings with few lines through titles, labels, parts and each other, and short
// ones. The drawings of 2026.2 have none through titles and labels. Every layout gives
// a right drawing.
var (
	topDown = layout{
		nodesep: 0.2, ranksep: 0.35,
		parts: []place{
			{"Enrolment", "tr", []states.State{states.Enroll, states.Verifying}},
			{"Adoption", "tl", []states.State{states.Adopting, states.AdoptFail}},
			{"Deployment", "tr", []states.State{states.Deploying, states.DeployHold, states.DeployWait, states.DeployFail}},
			{"Inspection", "bl", []states.State{states.InspectFail, states.InspectWait, states.Inspecting}},
			{"", "", []states.State{states.Manageable, states.Active, states.Available}},
			{"Service", "tl", []states.State{states.ServiceWait, states.ServiceHold, states.ServiceFail, states.Servicing}},
			{"Cleaning", "br", []states.State{states.CleanFail, states.CleanHold, states.Cleaning, states.CleanWait}},
			{"Rescue", "tr", []states.State{states.Rescuing, states.RescueWait, states.Unrescuing, states.Rescue, states.RescueFail, states.UnrescueFail}},
			{"Tear-down", "br", []states.State{states.Error, states.Deleting}},
		},
		unranked: map[pair]bool{
			{states.AdoptFail, states.Adopting}:      true,
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
		parts: []place{
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

// partOf returns the title of a state's part, empty between parts.
func partOf(s states.State) string {
	for _, p := range topDown.parts {
		if slices.Contains(p.states, s) {
			return p.title
		}
	}
	return ""
}
