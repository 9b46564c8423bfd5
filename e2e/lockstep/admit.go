// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func (c admissionComparison) title() string { return "admission: " + c.Name }

// compare compares Ironic, ironstate's API, package admission and, for some comparisons, package plan.
func (c admissionComparison) compare(result *Comparison, ctx context.Context, i *Ironic) {
	a := admitting{Comparison: result, of: c, ironic: i, service: startWithoutWork(ctx, i.Series)}
	defer a.service.Close()
	for s, q := range c.trials(i.Installation) {
		a.number++
		if a.number > 1 && c.With != nil && i.sample.leavesOut() { // a sample has the first in any case, and single requests
			continue
		}
		a.try(ctx, s, q)
	}
	a.deleteNode(ctx)
}

// admitting is an admissionComparison that is made.
type admitting struct {
	*Comparison
	of      admissionComparison
	ironic  *Ironic
	service *scripted
	uuid    string // of Ironic's node; empty if it has none
	number  int    // of the trial
}

// newNode creates Ironic's node, with its object.
func (a *admitting) newNode(ctx context.Context) {
	list := a.of.Object
	if a.uuid = a.ironic.newNode(ctx); list == "" {
		return
	}
	body := maps.Clone(admissionTable.Objects[list])
	body["node_uuid"] = a.uuid
	a.ironic.Client.send(ctx, a.ironic.newest(), http.MethodPost, list, body).want(http.StatusCreated, "create %s", list)
}

// deleteNode deletes Ironic's node, if it has one, with its object: an instance has one node, and an address one port.
func (a *admitting) deleteNode(ctx context.Context) {
	if a.uuid != "" {
		a.ironic.database.write(a.uuid, situation{at: a.ironic.inState(states.Enroll)}.columns())
		a.ironic.Client.Delete(ctx, a.ironic.newest(), a.uuid).want(http.StatusNoContent, "delete a node")
	}
}

// try makes a request in a situation, and compares the statuses of all and the texts of the two APIs. The node of
// ironstate is created for the request and removed after it. Ironic's node remains for the next one, unless a request
// deletes it or its object.
func (a *admitting) try(ctx context.Context, s situation, q request) {
	if a.uuid == "" {
		a.newNode(ctx)
	}
	a.ironic.database.write(a.uuid, s.columns())
	object := objectOf(a.of.Object)
	body, _ := json.Marshal(q.Body) // it was JSON
	send := func(client *Client, uuid string) (string, int) {
		path := strings.ReplaceAll(a.of.Path, "NODE", uuid)
		if object != nil {
			path = strings.ReplaceAll(path, "OBJECT", object.Meta().UUID)
		}
		var content any
		if q.Body != nil {
			content = json.RawMessage(strings.ReplaceAll(string(body), "NUMBER", fmt.Sprintf("%02x:%02x", a.number>>8, a.number&255)))
		}
		answer := client.send(ctx, a.ironic.newest(), a.of.Method, path, content)
		return answered(answer, uuid), answer.Status
	}
	want, status := send(a.ironic.Client, a.uuid)
	n := try.Get(a.service.conductor.CreateNode(ctx, s.node()))
	defer try.Finally(func() error { return a.service.forget(ctx, conductor.KindNode, n.UUID) })
	if object != nil {
		object.Meta().NodeUUID = n.UUID
		try.Get(a.service.conductor.CreateObject(ctx, object))
		defer try.Finally(func() error { return a.service.forget(ctx, object.Kind(), object.Meta().UUID) })
	}
	got, _ := send(a.service.Client, n.UUID)
	what := fmt.Sprintf("%s %s %s %v", a.of.Method, a.of.Path, body, s)
	a.compare(want, got, "%s, of ironstate's API", what)
	if decide := rules[a.of.Rule]; decide != nil {
		decided := a.of.Accepted
		if err := decide(a.service.conductor.Rules(), n.Fields(), q, a.ironic.newest()); err != nil {
			decided = http.StatusInternalServerError
			var refusal interface{ HTTPStatus() int }
			if errors.As(err, &refusal) {
				decided = refusal.HTTPStatus()
			}
		}
		a.compare(status, decided, "%s, of package admission", what)
	}
	if status == http.StatusNoContent {
		a.uuid = ""
	}
	if a.of.Plan {
		a.comparePlan(what, s, q, n, status == a.of.Accepted)
	}
}

// comparePlan compares whether the API accepts a request with whether [plan.Next] sends it for a goal whose plan begins
// with it, or finds the node deletable. It leaves out what the API does not know: a plan destroys no workload if a
// later request is refused. A reservation, which ends, makes no node one that is not deletable.
func (a *admitting) comparePlan(what string, s situation, q request, n *conductor.Node, accepted bool) {
	f := n.Fields()
	fields := plan.NodeFields{
		Maintenance: f.Maintenance, Fault: n.Fault, Protected: f.Protected, Retired: f.Retired, Associated: f.Associated, Reserved: f.Reserved,
	}
	if q.word == "" {
		step := a.ironic.nextWith(s.at.State, plan.Deletable, fields)
		if !f.Reserved {
			a.compare(accepted, step.Action == plan.Done, "%s, of package plan", what)
		}
		return
	}
	for goal := range plan.AllGoals() {
		begins := a.ironic.nextWith(s.at.State, goal, plan.NodeFields{})
		step := a.ironic.nextWith(s.at.State, goal, fields)
		if begins.Action == plan.Send && begins.Verb == q.word && step.Verb == q.word {
			a.compare(accepted, step.Action == plan.Send, "%s, of package plan for %v", what, goal)
		}
	}
}

// answered returns the status and the first line of the text of an answer, with NODE for the UUID of the node and
// lists sorted: Ironic prints some in an order that changes with each of its processes.
func answered(a Answer, uuid string) string {
	line, _, _ := strings.Cut(a.Fault, "\n")
	text := listed.ReplaceAllStringFunc(line, func(list string) string {
		words := strings.Split(list[1:len(list)-1], ", ")
		slices.Sort(words)
		return list[:1] + strings.Join(words, ", ") + list[len(list)-1:]
	})
	return fmt.Sprintf("%d %s", a.Status, strings.ReplaceAll(text, uuid, "NODE"))
}

var listed = regexp.MustCompile(`\[[^][]*\]|\([^()]*\)`)
