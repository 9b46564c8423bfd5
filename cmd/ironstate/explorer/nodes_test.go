// SPDX-License-Identifier: Apache-2.0

package explorer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/states"
)

// nodeList is the form of a page of nodes that the page reads.
type nodeList struct {
	Nodes []struct {
		UUID, Name, State string
		Target            *string
		LastError         string `json:"last_error"`
		Overdue           bool
	}
	Next string
}

// SECURITY.md: The passwords in URLs, such as `http://user:PASSWORD@host`, are masked in every answer and on the live
// page.
func TestThePageShowsNoPasswordsOfURLs(t *testing.T) {
	s := start(t, conductortest.Config{})
	const secret = "http://u:hunter2@h/x"
	n := s.Add(conductor.Node{
		Name: "n", ProvisionState: states.DeployFail, LastError: strings.Repeat("x", 185) + " " + secret,
		Maintenance: true, MaintenanceReason: secret,
		Protected: true, ProtectedReason: secret, ResourceClass: secret,
	})
	for _, path := range []string{"/explorer/nodes", "/explorer/nodes/" + n.UUID} {
		text := fmt.Sprint(read[map[string]any](s, path))
		require.Contains(t, text, "http://u:***")
		require.NotContains(t, text, "hun")
	}
}

func TestNodesAreListedByStateAndName(t *testing.T) {
	s := start(t, conductortest.Config{})
	var uuids, after []string
	for n := range 60 {
		state := states.Available
		if n%2 == 1 {
			state = states.Active
		}
		added := s.Add(conductor.Node{Name: fmt.Sprintf("Rack-%02d", n), ProvisionState: state})
		uuids = append(uuids, added.UUID)
		after = append(after, "after="+url.QueryEscape("other,"+added.CreatedAt.Format(time.RFC3339Nano)+","+added.UUID))
	}
	for query, want := range map[string]struct {
		nodes int
		more  bool
	}{
		"":                         {50, true},
		after[9]:                   {50, false},
		after[59]:                  {0, false},
		"state=available":          {30, false},
		"state=active&" + after[0]: {30, false},
		"state=active&" + after[1]: {29, false},
		"state=enroll":             {0, false},
		"find=rack-0":              {10, false},
		"find=RACK-0&state=active": {5, false},
		"find=" + uuids[3]:         {1, false},
		"find=%00%ff":              {0, false},
	} {
		got := read[nodeList](s, "/explorer/nodes?"+query)
		require.Len(t, got.Nodes, want.nodes, query)
		require.Equal(t, want.more, got.Next != "", query)
	}
	first := read[nodeList](s, "/explorer/nodes")
	_, err := s.Conductor.UpdateNode(t.Context(), first.Nodes[49].UUID, func(n *conductor.Node) error { n.Maintenance = true; return nil })
	require.NoError(t, err)
	require.NoError(t, s.Conductor.DeleteNode(t.Context(), first.Nodes[49].UUID))
	require.Len(t, read[nodeList](s, "/explorer/nodes?after="+url.QueryEscape(first.Next)).Nodes, 10, "the last node of a page is deleted")
	refused, _ := s.get("/explorer/nodes?after=nonsense", "*/*")
	require.Equal(t, http.StatusBadRequest, refused.StatusCode)
	for n, node := range []conductor.Node{
		{ProvisionState: states.CleanFail}, {ProvisionState: states.DeployFail, Maintenance: true}, {ProvisionState: states.Error},
		{ProvisionState: states.Active, Maintenance: true},
	} {
		node.Name = fmt.Sprintf("troubled-%d", n) // no part of a UUID
		s.Add(node)
	}
	for query, want := range map[string][]string{
		"failed=1":                               {"troubled-0", "troubled-1", "troubled-2"},
		"maintenance=1":                          {"troubled-1", "troubled-3"},
		"failed=1&maintenance=1":                 {"troubled-1"},
		"failed=1&state=error":                   {"troubled-2"},
		"failed=1&maintenance=1&find=troubled-0": nil,
		"failed=&maintenance=&find=troubled":     {"troubled-0", "troubled-1", "troubled-2", "troubled-3"},
	} {
		var names []string
		for _, n := range read[nodeList](s, "/explorer/nodes?"+query).Nodes {
			names = append(names, n.Name)
		}
		require.Equal(t, want, names, query)
	}
	response, body := s.get("/explorer/nodes?state=busy", "*/*")
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
	require.Contains(t, body, `unknown`)
}

func TestOverdueNodesAreMarkedAndListed(t *testing.T) {
	s := start(t, conductortest.Config{})
	ago := func(age time.Duration) *time.Time { at := time.Now().Add(-age); return &at }
	late := s.Add(conductor.Node{Name: "late", ProvisionState: states.CleanWait, Maintenance: true, ProvisionUpdatedAt: ago(time.Hour)})
	s.Add(conductor.Node{Name: "in-time", ProvisionState: states.CleanWait, Maintenance: true, ProvisionUpdatedAt: ago(time.Minute)})
	s.Add(conductor.Node{Name: "stable", ProvisionState: states.Available, ProvisionUpdatedAt: ago(1000 * time.Hour)})
	marks := func(query string) map[string]bool {
		marks := map[string]bool{}
		for _, n := range read[nodeList](s, "/explorer/nodes?"+query).Nodes {
			marks[n.Name] = n.Overdue
		}
		return marks
	}
	require.Equal(t, map[string]bool{"late": true, "in-time": false, "stable": false}, marks(""))
	require.Equal(t, map[string]bool{"late": true}, marks("overdue=1"))
	require.Contains(t, s.details(late.UUID).Why, "The node is overdue: it was expected to leave this state within 30m0s.")
	require.NotContains(t, strings.Join(s.details("in-time").Why, " "), "overdue")
}

func TestALongErrorIsCutInAList(t *testing.T) {
	s := start(t, conductortest.Config{})
	s.Add(conductor.Node{LastError: strings.Repeat("é", 300)})
	require.Equal(t, strings.Repeat("é", 100)+"…", read[nodeList](s, "/explorer/nodes").Nodes[0].LastError)
}

// nodeDetails is the form of a node that the page reads.
type nodeDetails struct {
	State, Name string
	Target      *string
	LastError   string `json:"last_error"`
	Power       *string
	Why         []string
	Next        []struct{ Goal, Step string }
	Timeline    []struct {
		State  *string
		Source string
		Text   string
		By     *struct{ From, Event, To string }
	}
}

// stages returns one line for each stage of the timeline.
func (n nodeDetails) stages() (lines []string) {
	for _, s := range n.Timeline {
		line := "?"
		if s.State != nil {
			line = *s.State
		}
		line += " " + s.Source
		if s.Text != "" {
			line += " " + fmt.Sprintf("%q", s.Text)
		}
		if s.By != nil {
			line += " | " + s.By.From + " " + s.By.Event + " " + s.By.To
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *service) details(ident string) nodeDetails {
	s.t.Helper()
	return read[nodeDetails](s, "/explorer/nodes/"+url.PathEscape(ident))
}

func broken(text string) func(context.Context) error {
	return func(context.Context) error { return errors.New(text) }
}

func TestTheTimelineIsTheRecordsTransitions(t *testing.T) {
	s := start(t, conductortest.Config{})
	node := s.Add(conductor.Node{Name: "rack1-1"})
	require.Equal(t, []string{"enroll record"}, s.details("rack1-1").stages())
	s.Next(node, "verify", broken("no route to host"))
	s.provision("rack1-1", "manage")
	s.WaitFor(t.Context(), "rack1-1", states.Enroll)
	failed := fmt.Sprintf("verification of node rack1-1 (%s) failed: no route to host", node.UUID)
	require.Contains(t, s.details("rack1-1").Why, "The work in the state verifying has failed; the last error gives the cause. "+
		"The node stays in this state until a client sends a request.")
	s.provision("rack1-1", "manage")
	s.WaitFor(t.Context(), "rack1-1", states.Manageable)
	s.provision("rack1-1", "provide")
	s.WaitFor(t.Context(), "rack1-1", states.Available)
	require.Equal(t, []string{
		"enroll before",
		"verifying transition | enroll manage verifying",
		fmt.Sprintf("enroll transition %q | verifying fail enroll", failed),
		"verifying transition | enroll manage verifying",
		"manageable transition | verifying done manageable",
		"cleaning transition | manageable provide cleaning",
		"available transition | cleaning done available",
	}, s.details(node.UUID).stages())
}

func TestANodesStateIsExplained(t *testing.T) {
	s := start(t, conductortest.Config{})
	for name, test := range map[string]struct {
		node conductor.Node
		why  string
		next string // to available
	}{
		"stable": {conductor.Node{ProvisionState: states.Manageable},
			"The node stays in this state until a client sends a request.", "The request `provide` is the next step."},
		"at the goal": {conductor.Node{ProvisionState: states.Available}, "The node stays in this state until a client sends a request.",
			"The node is already in this state."},
		"unverified": {conductor.Node{LastError: "no route"}, "The last error is older than the transitions of the record.",
			"The request `manage` is the next step."},
		"waiting": {conductor.Node{ProvisionState: states.CleanWait}, "waits for a call-back of the agent",
			"Wait: cleaning leads to available if it succeeds."},
		"on hold": {conductor.Node{ProvisionState: states.CleanHold}, "until a client requests unhold", "The request `unhold` resumes the work"},
		"failed":  {conductor.Node{ProvisionState: states.CleanFail}, "until an operator has checked it", "repeats cleaning, which has failed"},
		"active": {conductor.Node{ProvisionState: states.Active}, "The node stays in this state",
			"The request `deleted` is the next step, but destroys"},
		"retired": {conductor.Node{ProvisionState: states.Manageable, Retired: true, RetiredReason: "old"},
			"The node is retired: Ironic refuses to provide it. Reason: old.", "Ironic does not provide a retired node"},
		"maintenance": {conductor.Node{ProvisionState: states.CleanFail, Maintenance: true, MaintenanceReason: "fan", Fault: "clean failure"},
			"The node is in maintenance: Ironic refuses to deploy, rebuild, rescue, clean or service it. Reason: fan. " +
				"Its fault is \"clean failure\".", "repeats cleaning"},
		"protected": {conductor.Node{ProvisionState: states.Active, Protected: true},
			"The node is protected: Ironic refuses to tear it down, rebuild or delete it.", "destroys"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.details(s.Add(test.node).UUID)
			require.Contains(t, strings.Join(got.Why, " "), test.why)
			require.Equal(t, "available", got.Next[1].Goal)
			require.Contains(t, got.Next[1].Step, test.next)
		})
	}
	response, body := s.get("/explorer/nodes/nobody", "*/*")
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	require.Contains(t, body, "there is no such node")
}

// The responses have no field that may contain a secret.
//
// SECURITY.md: They may do everything to every node, since there are no roles, but no answer shows them the password of
// a BMC, which they can learn in another way, see [below](#what-is-not-defended).
func TestNoSecretReachesThePage(t *testing.T) {
	s := start(t, conductortest.Config{})
	secrets := map[string]any{"redfish_password": "hunter2", "any": "hunter2"}
	node := s.Add(conductor.Node{
		Name: "rack1-1", ProvisionState: states.Available, DriverInfo: secrets, DriverInternalInfo: secrets,
		InstanceInfo: secrets, Extra: secrets,
		Properties: secrets,
	})
	events := s.stream()
	events.next()
	s.provision("rack1-1", "active")
	for e := events.next(); e.Counts["active"] == 0; e = events.next() {
	}
	for _, path := range []string{"", "/rack1-1", "/" + node.UUID} {
		_, body := s.get("/explorer/nodes"+path, "*/*")
		require.Contains(t, body, "rack1-1")
		require.NotContains(t, body, "hunter2")
		require.NotContains(t, body, "password")
	}
}

// Every state of every series has an explanation, whatever the other fields of the record are.
func TestEveryStateIsExplained(t *testing.T) {
	for series := range states.AllSeries() {
		s := start(t, conductortest.Config{Series: series})
		for state := range series.Table().States().All() {
			got := s.details(s.Add(conductor.Node{ProvisionState: state, LastError: "it broke"}).UUID)
			require.NotEmpty(t, got.Why[0], "%v of %v", state, series)
			require.NotContains(t, got.Why[0], "has no such state")
			require.Len(t, got.Next, 3, "%v of %v", state, series)
			require.Equal(t, got.State, *got.Timeline[len(got.Timeline)-1].State)
		}
	}
}
