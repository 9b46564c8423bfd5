package graph

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Where Graphviz puts a state depends on the order in which it reads the states,
// on how much it is to keep an edge short and straight, and on which edges say
// that a state is below another. The tables here were searched for the drawing of
// 2026.2 with the fewest crossings, the shortest edges and a node's life running
// in one direction, at the width of a README. Any order is a right drawing.

// layout holds the parts of a node's life and the states of each, in the order in
// which Graphviz and Mermaid read them. The part without a title is the hubs, the
// states that parts meet in.
var layout = []struct {
	title  string
	states []states.State
}{
	{"", []states.State{states.Manageable, states.Active, states.Available}},
	{"Rescue", []states.State{states.Rescuing, states.Unrescuing, states.RescueWait, states.UnrescueFail, states.RescueFail, states.Rescue}},
	{"Deployment", []states.State{states.DeployFail, states.Deploying, states.DeployWait, states.DeployHold}},
	{"Inspection", []states.State{states.Inspecting, states.InspectFail, states.InspectWait}},
	{"Service", []states.State{states.Servicing, states.ServiceHold, states.ServiceWait, states.ServiceFail}},
	{"Cleaning", []states.State{states.CleanWait, states.Cleaning, states.CleanHold, states.CleanFail}},
	{"Adoption", []states.State{states.Adopting, states.AdoptFail}},
	{"Tear-down", []states.State{states.Deleting, states.Error}},
	{"Enrolment", []states.State{states.Enroll, states.Verifying}},
}

// A way is from one state to another.
type way struct{ from, to states.State }

// straight holds the edges to keep short and straight.
var straight = map[way]bool{
	{states.Available, states.Manageable}:    true,
	{states.Cleaning, states.Available}:      true,
	{states.Inspecting, states.Manageable}:   true,
	{states.Manageable, states.Adopting}:     true,
	{states.ServiceFail, states.ServiceHold}: true,
}

// loose holds the edges that do not say that a state is below another, where the
// diagram runs top down. From left to right, where labels take up length and not
// width, it is better without them.
var loose = map[way]bool{
	{states.Active, states.Deploying}:        true,
	{states.CleanWait, states.Cleaning}:      true,
	{states.Cleaning, states.Manageable}:     true,
	{states.Deleting, states.Cleaning}:       true,
	{states.DeployHold, states.DeployWait}:   true,
	{states.InspectFail, states.Inspecting}:  true,
	{states.InspectFail, states.Manageable}:  true,
	{states.RescueWait, states.RescueFail}:   true,
	{states.ServiceWait, states.Deleting}:    true,
	{states.UnrescueFail, states.Unrescuing}: true,
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
