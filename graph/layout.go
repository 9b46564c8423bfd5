package graph

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Where Graphviz puts a state depends on the order in which it reads the states,
// on how much it is to keep an edge short and straight, and on which edges say
// that a state is below another. The tables here were searched for the drawing of
// 2026.2 with the fewest crossings, the shortest edges and a node's life running
// in one direction, at the width of a README, that Graphviz soon finds. Any order
// is a right drawing.

// layout holds the parts of a node's life and the states of each, in the order in
// which Graphviz and Mermaid read them. The part without a title is the hubs, the
// states that parts meet in.
var layout = []struct {
	title  string
	states []states.State
}{
	{"", []states.State{states.Manageable, states.Available, states.Active}},
	{"Enrolment", []states.State{states.Enroll, states.Verifying}},
	{"Inspection", []states.State{states.Inspecting, states.InspectFail, states.InspectWait}},
	{"Rescue", []states.State{states.Unrescuing, states.Rescuing, states.UnrescueFail, states.RescueFail, states.RescueWait, states.Rescue}},
	{"Cleaning", []states.State{states.CleanFail, states.CleanWait, states.CleanHold, states.Cleaning}},
	{"Deployment", []states.State{states.DeployFail, states.Deploying, states.DeployWait, states.DeployHold}},
	{"Service", []states.State{states.Servicing, states.ServiceHold, states.ServiceWait, states.ServiceFail}},
	{"Adoption", []states.State{states.Adopting, states.AdoptFail}},
	{"Tear-down", []states.State{states.Deleting, states.Error}},
}

// A way is from one state to another.
type way struct{ from, to states.State }

// weights holds how much more than 1 it is worth to keep an edge short and straight.
var weights = map[way]int{
	{states.Adopting, states.AdoptFail}:    20,
	{states.Available, states.Manageable}:  20,
	{states.CleanHold, states.CleanWait}:   20,
	{states.DeployHold, states.DeployFail}: 20,
	{states.Inspecting, states.Manageable}: 20,
}

// loose holds the edges that do not say that a state is below another, where the
// diagram runs top down. From left to right, where labels take up length and not
// width, it is better without them.
var loose = map[way]bool{
	{states.Active, states.Deploying}:        true,
	{states.AdoptFail, states.Adopting}:      true,
	{states.CleanHold, states.CleanWait}:     true,
	{states.CleanWait, states.Cleaning}:      true,
	{states.Cleaning, states.Manageable}:     true,
	{states.Deleting, states.Cleaning}:       true,
	{states.InspectFail, states.Inspecting}:  true,
	{states.InspectFail, states.Manageable}:  true,
	{states.RescueWait, states.RescueFail}:   true,
	{states.ServiceFail, states.ServiceWait}: true,
	{states.ServiceWait, states.Deleting}:    true,
	{states.DeployWait, states.Deploying}:    true,
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
