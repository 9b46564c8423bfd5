// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// nonsense are words that are neither a verb nor an event.
var nonsense = []string{"", "none", "Manage", "manage ", "available", "power on", "nonsense"}

// minimums has the versions at which Ironic's answer to a word may change. It includes
// the words for which only later series have a minimum version.
var minimums = map[string][]states.APIVersion{
	"manage":   {4},
	"provide":  {4},
	"inspect":  {6},
	"abort":    {13, 41, 110},
	"clean":    {15},
	"adopt":    {17},
	"rescue":   {38},
	"unrescue": {38},
	"deploy":   {73},
	"delete":   {73},
	"undeploy": {73},
	"unhold":   {85},
	"service":  {87},
}

// fullStates are the states in which every word is requested at every version at which
// the answer to any word may change. In the other states a word is requested only at
// the versions at which its own answer may change, because Ironic's minimum version
// depends on the word alone, and for abort also on the state inspect wait.
var fullStates = states.SetOf(states.Enroll, states.InspectWait)

// words returns every requested word: the verbs, their aliases, all events of all
// series, and nonsense.
func words() []string {
	words := append(slices.Collect(maps.Keys(states.Verbs())), nonsense...)
	for event := range states.AllEvents() {
		words = append(words, event.String())
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// versionsFor returns the versions at which a word is requested in a state: the lowest,
// the highest, one above it, and those around the versions at which the answer may
// change. An Ironic that is newer than its series has the versions above the highest.
func (i Installation) versionsFor(state states.State, word string) []states.APIVersion {
	versions := []states.APIVersion{1, i.newest(), i.newest() + 1}
	for other, changes := range minimums {
		if other != word && !fullStates.Has(state) {
			continue
		}
		for _, v := range changes {
			versions = append(versions, v-1, v, v+1)
		}
	}
	if i.Newer {
		versions = slices.DeleteFunc(versions, func(v states.APIVersion) bool { return v > i.newest() })
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// requests requests every word in every state, at every version at which the
// answer may change, from Ironic's API, from [states.Table.Request] and from the API of
// ironstate's conductor.
func (c *Comparison) requests(ctx context.Context, i *Ironic) {
	node := i.newNode(ctx)
	s := startWithoutWork(ctx, i.Series)
	defer s.Close()
	s.newNode(ctx, node)
	for state := range i.table().States().All() {
		c.requestsIn(ctx, i, s, node, state)
	}
}

// requestsIn requests every word in one state. It puts the node back into the
// state after an accepted request, since only such a request moves the node. The node's
// driver accepts every request and the request has all required fields, so that the answer
// comes from the state machine. See [admissionComparison] for the other refusals.
func (c *Comparison) requestsIn(ctx context.Context, i *Ironic, s *scripted, node string, state states.State) {
	moved := true
	for _, word := range words() {
		for _, v := range i.versionsFor(state, word) {
			if i.sample.leavesOut() {
				continue
			}
			if moved {
				i.database.write(node, columnsOf(i.inState(state)))
				s.put(ctx, node, i.inState(state))
			}
			answer := i.request(ctx, v, node, word)
			got := s.Client.Provision(ctx, v, node, i.bodyFor(word))
			moved = answer.Status == http.StatusAccepted || got.Status == http.StatusAccepted
			_, err := i.table().Request(state, word, v)
			c.compare(describe(answer), describeError(err), "%q in %v at %v", word, state, v)
			c.compare(describe(answer), describe(got), "%q in %v at %v, of ironstate's API", word, state, v)
		}
	}
}

// request requests a provision state, and repeats the request while the node is
// reserved.
func (i *Ironic) request(ctx context.Context, v states.APIVersion, node, word string) Answer {
	return whileReserved(ctx, func() Answer { return i.Client.Provision(ctx, v, node, i.bodyFor(word)) })
}

// whileReserved sends a request again until the node is not reserved, and returns the last answer.
func whileReserved(ctx context.Context, send func() Answer) Answer {
	return await(ctx, 10*time.Millisecond, func() (Answer, bool) {
		answer := send()
		return answer, answer.Status != http.StatusConflict
	})
}

// bodyFor returns the body of the request for a word, with the fields that it requires.
func (i Installation) bodyFor(word string) map[string]any {
	body := map[string]any{"target": word}
	event, err := states.ParseVerb(word)
	if err != nil {
		return body
	}
	switch field := event.Requires(); field {
	case "clean_steps":
		body[field] = []map[string]string{
			{"interface": "deploy", "step": "clean"},
			{"interface": "deploy", "step": "finish_clean"},
		}
	case "rescue_password":
		body[field] = "secret"
	case "service_steps":
		if i.table().States().Has(states.Servicing) {
			body[field] = []map[string]string{
				{"interface": "deploy", "step": "service"},
				{"interface": "deploy", "step": "finish_service"},
			}
		}
	}
	return body
}

// nodeIn creates a node in a state and with further columns, and returns its UUID.
func (i *Ironic) nodeIn(ctx context.Context, at machine.Node, more columns) string {
	uuid := i.newNode(ctx)
	set := columnsOf(at)
	maps.Copy(set, more)
	i.database.write(uuid, set)
	return uuid
}

// newNode creates a node whose work succeeds, and returns its UUID.
func (i *Ironic) newNode(ctx context.Context) string {
	return i.created(ctx, i.newest(), map[string]any{
		"driver":            "fake-hardware",
		"power_interface":   driverName,
		"deploy_interface":  driverName,
		"inspect_interface": driverName,
		"rescue_interface":  driverName,
		"vendor_interface":  driverName,
		"extra":             map[string]Outcome{"outcome": Done},
	}).UUID
}

// inState returns a node in a state with its default target.
func (i Installation) inState(s states.State) machine.Node {
	return machine.Node{State: s, Target: i.table().Target(s)}
}

// faults maps parts of Ironic's faults to the reasons of a refusal.
var faults = []struct {
	text   string
	reason error
}{
	{" can not be performed on node ", states.ErrNotAllowed},
	{" could not be understood", states.ErrNotUnderstood},
	{"because it's in maintenance mode", admission.InMaintenance},
}

// describe returns an answer's status, with the reason if the status can have several.
func describe(a Answer) string {
	if a.Status >= http.StatusInternalServerError {
		return fmt.Sprintf("%d %s", a.Status, a.Fault)
	}
	if a.Status != http.StatusBadRequest {
		return fmt.Sprint(a.Status)
	}
	for _, f := range faults {
		if strings.Contains(a.Fault, f.text) {
			return fmt.Sprintf("%d %v", a.Status, f.reason)
		}
	}
	return fmt.Sprintf("%d %s", a.Status, a.Fault)
}

// describeError is describe for an error of [states.Table.Request] or package admission.
func describeError(err error) string {
	var refused *states.RequestError
	var refusal *admission.Refusal
	switch {
	case err == nil:
		return fmt.Sprint(http.StatusAccepted)
	case errors.As(err, &refusal) && refusal.HTTPStatus() != http.StatusBadRequest:
		return fmt.Sprint(refusal.HTTPStatus())
	case errors.As(err, &refusal):
		return fmt.Sprintf("%d %v", refusal.HTTPStatus(), refusal.Reason)
	case !errors.As(err, &refused):
		return err.Error()
	case refused.HTTPStatus() != http.StatusBadRequest:
		return fmt.Sprint(refused.HTTPStatus())
	case errors.Is(err, states.ErrUnknownTarget): // Ironic gives no other reason for these
		return fmt.Sprintf("%d %v", refused.HTTPStatus(), states.ErrNotAllowed)
	default:
		return fmt.Sprintf("%d %v", refused.HTTPStatus(), errors.Unwrap(refused))
	}
}
