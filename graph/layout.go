package graph

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Where Graphviz puts a state depends on the order in which it reads the states,
// and on which edges say that a state is below another. The tables here were
// searched for drawings, of 2026.2 first and then of every other machine, with few
// crossings, short edges and a node's life running in one direction, at the width
// of a README, that Graphviz soon finds. Any order is a right drawing.

// layout holds the parts of a node's life and the states of each, in the order in
// which Graphviz and Mermaid read them. The part without a title is the hubs, the
// states that parts meet in.
var layout = []struct {
	title  string
	states []states.State
}{
	{"Adoption", []states.State{states.Adopting, states.AdoptFail}},
	{"Enrolment", []states.State{states.Enroll, states.Verifying}},
	{"Inspection", []states.State{states.InspectWait, states.Inspecting, states.InspectFail}},
	{"Deployment", []states.State{states.Deploying, states.DeployHold, states.DeployWait, states.DeployFail}},
	{"", []states.State{states.Manageable, states.Available, states.Active}},
	{"Tear-down", []states.State{states.Deleting, states.Error}},
	{"Service", []states.State{states.ServiceWait, states.Servicing, states.ServiceHold, states.ServiceFail}},
	{"Rescue", []states.State{states.Rescuing, states.RescueWait, states.Unrescuing, states.Rescue, states.RescueFail, states.UnrescueFail}},
	{"Cleaning", []states.State{states.Cleaning, states.CleanFail, states.CleanHold, states.CleanWait}},
}

// A way is from one state to another.
type way struct{ from, to states.State }

// loose holds the edges that do not say that a state is below another, where the
// diagram runs top down. From left to right, where labels take up length and not
// width, it is better without them.
var loose = map[way]bool{
	{states.Cleaning, states.CleanHold}:    true,
	{states.Inspecting, states.Manageable}: true,
	{states.UnrescueFail, states.Rescuing}: true,
	{states.DeployWait, states.Deploying}:  true,
}

// partOf returns the title of a state's part, empty for a hub.
func partOf(s states.State) string {
	for _, l := range layout {
		if slices.Contains(l.states, s) {
			return l.title
		}
	}
	return ""
}
