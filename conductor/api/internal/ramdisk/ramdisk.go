// SPDX-License-Identifier: Apache-2.0

// Package ramdisk serves the requests of programs: the deployment agent sends lookups and heartbeats (ramdisk.go), is
// given its configuration (config.go) and sends inspection data (inspection.go); the network service sends events
// (events.go).
package ramdisk

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
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
	n, token, err := r.Conductor.Lookup(r.Context(), r.Source(), addresses, uuid)
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
		objects.WriteNode(r, w, n, lookupFields)
		w.Key("config")
		writeAgentConfig(r, w, n, token)
	})
}

// heartbeatArgs are the keys of a heartbeat.
var heartbeatArgs = []string{"callback_url", "agent_version", "agent_token", "agent_verify_ca", "agent_status", "agent_status_message"}

// Heartbeat answers POST /v1/heartbeat/NODE, which agents send periodically. The body may name the node in place of the
// path; then it is read as if the node did not exist.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
func Heartbeat(r *rest.Request) (rest.Answer, error) {
	inPath := len(r.Params) > 0
	limit, names := rest.MaxStrangeBody, append([]string{"node_ident"}, heartbeatArgs...)
	var n *conductor.Node
	var missing error
	if inPath {
		if n, missing = r.FindNodeOrJSON(r.Param(0)); missing == nil {
			limit = rest.MaxAgentBody
		}
		names = heartbeatArgs
	}
	a := r.BodyArgs(limit, names...)
	if inPath {
		a.Values["node_ident"] = r.Param(0)
	}
	ident := a.Need("node_ident").Ident("node_ident")
	beat := conductor.Heartbeat{
		From:        r.Source(),
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
	if !inPath {
		n, missing = r.FindNodeOrJSON(ident)
	}
	if missing != nil {
		return rest.Answer{}, missing
	}
	switch {
	case r.Series >= states.Dalmatian && beat.CallbackURL != "" && !hasHTTP(beat.CallbackURL):
		return rest.Answer{}, fault.Invalid("An issue with the supplied \"callback_url\" has been detected.")
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

// hasHTTP reports whether a URL has the scheme http or https. The conductor checks the rest of it.
func hasHTTP(callback string) bool {
	u, err := url.Parse(callback)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}
