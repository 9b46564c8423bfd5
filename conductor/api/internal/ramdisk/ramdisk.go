// SPDX-License-Identifier: Apache-2.0

// Package ramdisk serves the requests of programs: the deployment agent sends lookups and heartbeats (ramdisk.go), is
// given its configuration (config.go) and sends inspection data (inspection.go); the network service sends events
// (events.go). As in package nodes, each request passes a list of checks in the order of Ironic.
package ramdisk

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// request is a request of a program, with the results of its checks.
type request struct {
	*rest.Request
	args      *rest.Args
	body      any                 // of inspection data or events, set by bodyDecodes
	addresses []string            // of a machine, set by lookupDecodes
	uuid      string              // the argument node_uuid
	beat      conductor.Heartbeat // set by heartbeatDecodes
	node      *conductor.Node     // of the heartbeat
	missing   error               // why the node in the path of a heartbeat has not been found
}

func newRequest(r *rest.Request) *request { return &request{Request: r} }

type checks = rest.Checks[*request]

// refuse returns a check that refuses a request to which a condition applies.
func refuse(text string, applies func(q *request) bool) func(*request) error {
	return func(q *request) error {
		if applies(q) {
			return fault.Invalid("%s", text)
		}
		return nil
	}
}

// inVersion refuses a version that does not have the action.
func inVersion(q *request) error { return q.CheckArgs(nil) }

// bodyDecodes reads a body within a limit.
func bodyDecodes(limit rest.Limit) func(*request) error {
	return func(q *request) (err error) {
		q.body, err = q.Decode(limit)
		return err
	}
}

// lookupFields are the fields of a node that an agent is shown.
var lookupFields = rest.FieldSet{"uuid", "properties", "instance_info", "driver_internal_info"}

// Lookup answers GET /v1/lookup, which an agent sends after it has started.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
var Lookup = checks{
	lookupDecodes, inVersion,
	refuse("At least one of 'addresses' and 'node_uuid' parameters is required", func(q *request) bool {
		return len(q.addresses) == 0 && q.uuid == ""
	}),
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	n, token, err := q.Conductor.Lookup(q.Context(), q.Source(), q.addresses, q.uuid)
	if err != nil {
		return rest.Answer{}, undisclosed(err)
	}
	return agentAnswer(q.Request, n, token), nil
})

// lookupDecodes reads the arguments of a lookup. It ignores addresses that are none.
func lookupDecodes(q *request) error {
	a := q.QueryArgs("addresses", "node_uuid")
	q.addresses, q.uuid = slices.DeleteFunc(a.List("addresses"), func(s string) bool { return !rest.IsMAC(s) }), a.UUID("node_uuid")
	return a.Err
}

// undisclosed returns the error of a request for a node. It does not say which nodes exist.
func undisclosed(err error) error {
	if fault.Of(err).Status == http.StatusNotFound {
		return fault.NoSuchResource
	}
	return err
}

// agentAnswer returns an answer with the node and the configuration of an agent.
func agentAnswer(r *rest.Request, n *conductor.Node, token string) rest.Answer {
	return rest.Object(func(w *wire.Writer) {
		w.Key("node")
		objects.WriteNode(r, w, n, lookupFields)
		w.Key("config")
		writeAgentConfig(r, w, n, token)
	})
}

// HeartbeatArgs are the arguments of a heartbeat, which the body, the query or further segments of the path set.
var HeartbeatArgs = []string{"callback_url", "agent_version", "agent_token", "agent_verify_ca", "agent_status", "agent_status_message"}

// Heartbeat answers POST /v1/heartbeat/NODE, which agents send periodically. The body may name the node in place of the
// path; then it is read as if the node did not exist.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
var Heartbeat = checks{
	heartbeatDecodes, inVersion,
	refuse(`Field "agent_version" not recognised`, func(q *request) bool {
		return q.beat.AgentVersion != "" && q.Version < since.AgentVersion
	}),
	refuse(`Fields "agent_status" and "agent_status_message" not recognised.`, func(q *request) bool {
		return (q.beat.AgentStatus != "" || q.beat.AgentStatusMessage != "") && q.Version < since.AgentStatus
	}),
	refuse(`Field "agent_verify_ca" not recognised in this version`, func(q *request) bool {
		return q.args.Has("agent_verify_ca") && q.Version < since.AgentCA
	}),
	nodeExists,
	refuse(`An issue with the supplied "callback_url" has been detected.`, func(q *request) bool { // the conductor checks the rest
		u, err := url.Parse(q.beat.CallbackURL)
		return q.Series >= states.Dalmatian && q.beat.CallbackURL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https")
	}),
	refuse(`Detected change in ramdisk provided "callback_url"`, func(q *request) bool {
		return q.node.Agent.URL != "" && q.node.Agent.URL != q.beat.CallbackURL
	}),
	refuse("Agent token is required for heartbeat processing.", func(q *request) bool { return !q.args.Has("agent_token") }),
	refuse("Agent status is invalid. Valid states are start,end,error.", func(q *request) bool {
		return q.args.Has("agent_status") && !slices.Contains([]string{"start", "end", "error"}, q.beat.AgentStatus)
	}),
	refuse("Agent did not transmit a version, and a version is required. Please update the agent being used.", func(q *request) bool {
		return !q.args.Has("agent_version") && !q.args.Has("agent_status")
	}),
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.Accepted, q.Conductor.Heartbeat(q.Context(), q.node.UUID, q.beat)
})

// heartbeatDecodes reads the arguments. It looks for the node in the path, which decides about the limit of the body.
func heartbeatDecodes(q *request) error {
	limit, names := rest.MaxStrangeBody, append([]string{"node_ident"}, HeartbeatArgs...)
	inPath := len(q.Params) > 0
	if inPath {
		names = HeartbeatArgs
		if q.node, q.missing = q.FindNodeOrJSON(q.Param(0)); q.missing == nil {
			limit = rest.MaxAgentBody
		}
	}
	a := q.BodyArgs(limit, names...)
	if inPath {
		a.Values["node_ident"] = q.Param(0)
	}
	a.Need("node_ident").Ident("node_ident")
	q.args, q.beat = a, conductor.Heartbeat{
		From: q.Source(), CallbackURL: a.Need("callback_url").Text("callback_url"), AgentVersion: a.Text("agent_version"),
		AgentToken: a.Text("agent_token"), AgentVerifyCA: a.Text("agent_verify_ca"), AgentStatus: a.Text("agent_status"),
		AgentStatusMessage: a.Text("agent_status_message"),
	}
	return a.Err
}

// nodeExists refuses an unknown node. The body may name it in place of the path.
func nodeExists(q *request) error {
	if q.node == nil && q.missing == nil {
		q.node, q.missing = q.FindNodeOrJSON(q.args.Ident("node_ident"))
	}
	return q.missing
}
