// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// compareCreation creates a node at every API version and at one above the highest. It
// compares the stored state with [states.APIVersion.InitialState] and the state in the
// answer with [states.Created].
func compareCreation(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "API: the state of a new node"}
	for v := states.APIVersion(1); v <= i.newest(); v++ {
		node, answer, err := i.Client.Create(ctx, v, map[string]any{"driver": "fake-hardware"})
		if err != nil {
			return c, err
		}
		if answer.Status != http.StatusCreated {
			return c, fmt.Errorf("lockstep: create a node at %v: %s", v, answer.Fault)
		}
		r, err := i.database.read(node.UUID)
		if err != nil {
			return c, err
		}
		c.compare(r.State, v.InitialState(), "stored of a node created at %v", v)
		shown, _ := states.Created(v, i.newest())
		c.compare(node.State, shown, "shown of a node created at %v", v)
	}
	if i.Newer { // it has the next version
		return c, nil
	}
	_, answer, err := i.Client.Create(ctx, i.newest()+1, map[string]any{"driver": "fake-hardware"})
	c.compare(answer.Status, http.StatusNotAcceptable, "a node created at %v", i.newest()+1)
	return c, err
}

// showChanges are the versions before and after each change of a displayed state, without the newest one.
var showChanges = []states.APIVersion{1, 2, 3, 38, 39, 40}

// compareDisplay gets a node in every state and compares the displayed state with
// [states.APIVersion.Show]. It compares a state that some version displays as another
// one at every version, and the other states at showChanges and the newest one.
func compareDisplay(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "API: the state that a client is shown"}
	uuid, err := i.newNode(ctx)
	if err != nil {
		return c, err
	}
	for state := range i.table().States().All() {
		if _, err := i.database.write(uuid, columnsOf(i.inState(state))); err != nil {
			return c, err
		}
		for v := states.APIVersion(1); v <= i.newest(); v++ {
			hidden := state == states.Available || state == states.InspectWait
			if !hidden && v != i.newest() && !slices.Contains(showChanges, v) {
				continue
			}
			node, answer, err := i.Client.Show(ctx, v, uuid)
			if err != nil {
				return c, err
			}
			c.compare(answer.Status, http.StatusOK, "status of a node in %v at %v", state, v)
			c.compare(node.State, v.Show(state), "shown of a node in %v at %v", state, v)
		}
	}
	return c, nil
}

// minFilter is the version from which nodes can be listed by provision state.
const minFilter states.APIVersion = 9

// compareFilter creates a node in each state and lists the nodes by state, at API versions
// below and above minFilter. A list must have the node in its state and none in another.
func compareFilter(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "API: listing by state"}
	nodes := make(map[states.State]string)
	for state := range i.table().States().All() {
		uuid, err := i.nodeIn(ctx, i.inState(state), nil)
		if err != nil {
			return c, err
		}
		nodes[state] = uuid
	}
	for state := range states.AllStates() {
		for _, v := range []states.APIVersion{1, 2, minFilter - 1, minFilter, minFilter + 1, 38, 39, i.newest()} {
			answer, err := i.Client.List(ctx, v, state.String())
			if err != nil {
				return c, err
			}
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
	return c, nil
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
