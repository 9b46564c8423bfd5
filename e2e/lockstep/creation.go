// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// creation creates a node at every API version and at one above the highest. It
// compares the stored state with [states.APIVersion.InitialState] and the state in the
// answer with [states.Created].
func (c *Comparison) creation(ctx context.Context, i *Ironic) {
	for v := states.APIVersion(1); v <= i.newest(); v++ {
		node := i.created(ctx, v, map[string]any{"driver": "fake-hardware"})
		c.compare(i.database.read(node.UUID).State, v.InitialState(), "stored of a node created at %v", v)
		shown, _ := states.Created(v, i.newest())
		c.compare(node.State, shown, "shown of a node created at %v", v)
	}
	if i.Newer { // it has the next version
		return
	}
	_, answer := i.Client.Create(ctx, i.newest()+1, map[string]any{"driver": "fake-hardware"})
	c.compare(answer.Status, http.StatusNotAcceptable, "a node created at %v", i.newest()+1)
}

// created creates a node.
func (i *Ironic) created(ctx context.Context, v states.APIVersion, node map[string]any) Node {
	n, answer := i.Client.Create(ctx, v, node)
	answer.want(http.StatusCreated, "create a node at %v", v)
	return n
}

// showChanges are the versions before and after each change of a displayed state, without the newest one.
var showChanges = []states.APIVersion{1, 2, 3, 38, 39, 40}

// display gets a node in every state and compares the displayed state with
// [states.APIVersion.Show]. It compares a state that some version displays as another
// one at every version, and the other states at showChanges and the newest one.
func (c *Comparison) display(ctx context.Context, i *Ironic) {
	uuid := i.newNode(ctx)
	for state := range i.table().States().All() {
		i.database.write(uuid, columnsOf(i.inState(state)))
		for v := states.APIVersion(1); v <= i.newest(); v++ {
			hidden := state == states.Available || state == states.InspectWait
			if !hidden && v != i.newest() && !slices.Contains(showChanges, v) {
				continue
			}
			node, answer := i.Client.Show(ctx, v, uuid)
			c.compare(answer.Status, http.StatusOK, "status of a node in %v at %v", state, v)
			c.compare(node.State, v.Show(state), "shown of a node in %v at %v", state, v)
		}
	}
}

// minFilter is the version from which nodes can be listed by provision state.
const minFilter states.APIVersion = 9

// filter creates a node in each state and lists the nodes by state, at API versions
// below and above minFilter. A list must have the node in its state and none in another.
func (c *Comparison) filter(ctx context.Context, i *Ironic) {
	nodes := make(map[states.State]string)
	for state := range i.table().States().All() {
		nodes[state] = i.nodeIn(ctx, i.inState(state), nil)
	}
	for state := range states.AllStates() {
		for _, v := range []states.APIVersion{1, 2, minFilter - 1, minFilter, minFilter + 1, 38, 39, i.newest()} {
			answer := i.Client.List(ctx, v, state.String())
			want := http.StatusOK
			switch {
			case v < minFilter:
				want = http.StatusNotAcceptable
			case !i.table().States().Has(state):
				want = http.StatusBadRequest
			}
			c.compare(answer.Status, want, "status of a list by %v at %v", state, v)
			if answer.Status == http.StatusOK {
				c.compareListed(answer, nodes, state, v)
			}
		}
	}
}

// compareListed expects that the list of a state has the node in that state, displayed
// as the version displays it, and no node in another state.
func (c *Comparison) compareListed(answer Answer, nodes map[states.State]string, s states.State, v states.APIVersion) {
	var list struct {
		Nodes []Node `json:"nodes"`
	}
	if err := json.Unmarshal(answer.Body, &list); err != nil {
		c.compare(err, "a list", "a list by %v at %v", s, v)
		return
	}
	at := slices.IndexFunc(list.Nodes, func(n Node) bool { return n.UUID == nodes[s] })
	c.compare(at >= 0, true, "the node in %v is in its list at %v", s, v)
	if at >= 0 {
		c.compare(list.Nodes[at].State, v.Show(s), "the node in %v as listed at %v", s, v)
	}
	for other, uuid := range nodes {
		if other != s {
			listed := slices.ContainsFunc(list.Nodes, func(n Node) bool { return n.UUID == uuid })
			c.compare(listed, false, "the node in %v is in the list of %v at %v", other, s, v)
		}
	}
}
