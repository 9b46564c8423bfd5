// SPDX-License-Identifier: Apache-2.0

// Package ramdisk serves the requests of programs: the deployment agent sends lookups and heartbeats (ramdisk.go) and
// inspection data (inspection.go), and the network service sends events (events.go).
package ramdisk

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/nodes"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/internal/masked"
)

// lookupFields are the fields of a node that an agent is shown.
var lookupFields = rest.FieldSet{"uuid", "properties", "instance_info", "driver_internal_info"}

// Lookup answers GET /v1/lookup, which an agent sends after it has started.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
func Lookup(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("addresses", "node_uuid")
	addresses, uuid := a.List("addresses"), a.UUID("node_uuid")
	if err := r.CheckArgs(a); err != nil {
		return rest.Answer{}, err
	}
	addresses = slices.DeleteFunc(addresses, func(s string) bool { return !rest.IsMAC(s) })
	if len(addresses) == 0 && uuid == "" {
		return rest.Answer{}, fault.Invalid("At least one of 'addresses' and 'node_uuid' parameters is required")
	}
	n, token, err := r.Conductor.Lookup(r.Context(), addresses, uuid)
	if err != nil && fault.Of(err).Status == http.StatusNotFound {
		return rest.Answer{}, fault.NoSuchResource // do not disclose which nodes exist
	}
	if err != nil {
		return rest.Answer{}, err
	}
	return agentAnswer(r, n, token), nil
}

// agentAnswer returns an answer with the node and the configuration of an agent.
func agentAnswer(r *rest.Request, n *conductor.Node, token string) rest.Answer {
	return rest.Object(func(w *wire.Writer) {
		w.Key("node")
		nodes.Write(r, w, n, lookupFields)
		w.Key("config")
		writeAgentConfig(r, w, token)
	})
}

// heartbeatTimeout is the maximum time in seconds between two heartbeats of an agent
// (ramdisk_heartbeat_timeout).
const heartbeatTimeout = 300

// writeAgentConfig writes the configuration of an agent, with Ironic's defaults. The token is empty if an earlier lookup
// has given it to the agent.
func writeAgentConfig(r *rest.Request, w *wire.Writer, token string) {
	w.Open()
	w.Key("metrics").Open()
	w.Key("backend").Text("noop")
	w.Key("prepend_host").Boolean(false)
	w.Key("prepend_uuid").Boolean(false)
	w.Key("prepend_host_reverse").Boolean(true)
	w.Key("global_prefix").Null()
	w.Close()
	w.Key("metrics_statsd").Open()
	w.Key("statsd_host").Text("localhost")
	w.Key("statsd_port").Integer(8125)
	w.Close()
	w.Key("heartbeat_timeout").Integer(heartbeatTimeout)
	w.Key("agent_token")
	switch {
	case r.Version < since.AgentToken:
		w.Null()
	case token == "":
		w.Text(masked.Secret)
	default:
		w.Text(token)
	}
	w.Key("agent_token_required").Boolean(true)
	w.Close()
}

// heartbeatArgs are the keys of a heartbeat.
var heartbeatArgs = []string{"callback_url", "agent_version", "agent_token", "agent_verify_ca", "agent_status", "agent_status_message"}

// maxStrangeBody is the maximum number of bytes in the heartbeat of a node that does not exist. The path needs no
// password. Ironic checks the arguments before it looks for the node, so that the body is read in any case.
const maxStrangeBody = 4 << 10

// Heartbeat answers POST /v1/heartbeat/NODE, which agents send periodically.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
func Heartbeat(r *rest.Request) (rest.Answer, error) {
	n, missing := r.Node(r.Param(0))
	limit := int64(rest.MaxAgentBody)
	if missing != nil {
		limit = maxStrangeBody
	}
	a := r.BodyArgs(limit, heartbeatArgs...)
	beat := conductor.Heartbeat{
		CallbackURL: a.Need("callback_url").Text("callback_url"), AgentVersion: a.Text("agent_version"),
		AgentToken: a.Text("agent_token"), AgentVerifyCA: a.Text("agent_verify_ca"), AgentStatus: a.Text("agent_status"),
		AgentStatusMessage: a.Text("agent_status_message"),
	}
	if err := r.CheckArgs(a); err != nil {
		return rest.Answer{}, err
	}
	switch {
	case beat.AgentVersion != "" && r.Version < since.AgentVersion:
		return rest.Answer{}, fault.Invalid("Field \"agent_version\" not recognised")
	case (beat.AgentStatus != "" || beat.AgentStatusMessage != "") && r.Version < since.AgentStatus:
		return rest.Answer{}, fault.Invalid("Fields \"agent_status\" and \"agent_status_message\" not recognised.")
	case a.Has("agent_verify_ca") && r.Version < since.AgentCA:
		return rest.Answer{}, fault.Invalid("Field \"agent_verify_ca\" not recognised in this version")
	}
	if missing != nil {
		return rest.Answer{}, missing
	}
	switch {
	case n.Agent.URL != "" && n.Agent.URL != beat.CallbackURL:
		return rest.Answer{}, fault.Invalid("Detected change in ramdisk provided \"callback_url\"")
	case !a.Has("agent_token"):
		return rest.Answer{}, fault.Invalid("Agent token is required for heartbeat processing.")
	case a.Has("agent_status") && !slices.Contains(agentStates, beat.AgentStatus):
		return rest.Answer{}, fault.Invalid("Agent status is invalid. Valid states are %s.", strings.Join(agentStates, ","))
	case !a.Has("agent_version") && !a.Has("agent_status"):
		return rest.Answer{}, fault.Invalid("Agent did not transmit a version, and a version is required. Please update the agent being used.")
	}
	return rest.Accepted, r.Conductor.Heartbeat(r.Context(), n.UUID, beat)
}

var agentStates = []string{"start", "end", "error"}
