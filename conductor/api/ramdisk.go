package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/masked"
)

// lookup answers GET /v1/lookup, which an agent sends after it has started.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
func lookup(r *request) (answer, error) {
	a := r.queryArgs("addresses", "node_uuid")
	addresses, uuid := a.list("addresses"), a.uuid("node_uuid")
	if err := r.accept(a); err != nil {
		return answer{}, err
	}
	addresses = slices.DeleteFunc(addresses, func(s string) bool { return !isMAC(s) })
	if len(addresses) == 0 && uuid == "" {
		return answer{}, invalid("At least one of 'addresses' and 'node_uuid' parameters is required")
	}
	n, token, err := r.conductor.Lookup(r.Context(), addresses, uuid)
	if err != nil && asFault(err).status == http.StatusNotFound {
		return answer{}, errNotFound // do not disclose which nodes exist
	}
	if err != nil {
		return answer{}, err
	}
	w := newWriter(4096)
	w.open()
	w.key("node")
	r.writeNode(w, n, fieldSet{"uuid", "properties", "instance_info", "driver_internal_info"})
	w.key("config")
	r.writeAgentConfig(w, token)
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// heartbeatTimeout is the maximum time in seconds between two heartbeats of an agent
// (ramdisk_heartbeat_timeout).
const heartbeatTimeout = 300

// writeAgentConfig writes the configuration of an agent, with Ironic's defaults.
func (r *request) writeAgentConfig(w *writer, token string) {
	w.open()
	w.key("metrics").open()
	w.key("backend").text("noop")
	w.key("prepend_host").boolean(false)
	w.key("prepend_uuid").boolean(false)
	w.key("prepend_host_reverse").boolean(true)
	w.key("global_prefix").null()
	w.close()
	w.key("metrics_statsd").open()
	w.key("statsd_host").text("localhost")
	w.key("statsd_port").integer(8125)
	w.close()
	w.key("heartbeat_timeout").integer(heartbeatTimeout)
	w.key("agent_token")
	switch {
	case r.version < since.AgentToken:
		w.null()
	case token == "": // the token was given out before
		w.text(masked.Secret)
	default:
		w.text(token)
	}
	w.key("agent_token_required").boolean(true)
	w.close()
}

// heartbeatArgs are the keys of a heartbeat.
var heartbeatArgs = []string{"callback_url", "agent_version", "agent_token", "agent_verify_ca", "agent_status", "agent_status_message"}

// heartbeat answers POST /v1/heartbeat/NODE, which agents send periodically.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
func heartbeat(r *request) (answer, error) {
	a := r.bodyArgs(maxBody, heartbeatArgs...)
	if ident := r.param(0); a.err == nil && !isUUID(ident) && !isName(ident) {
		return answer{}, invalid("Expected UUID or name for node_ident: %s", show(ident))
	}
	beat := conductor.Heartbeat{
		CallbackURL: a.need("callback_url").text("callback_url"), AgentVersion: a.text("agent_version"),
		AgentToken: a.text("agent_token"), AgentVerifyCA: a.text("agent_verify_ca"), AgentStatus: a.text("agent_status"),
		AgentStatusMessage: a.text("agent_status_message"),
	}
	if err := r.accept(a); err != nil {
		return answer{}, err
	}
	switch {
	case beat.AgentVersion != "" && r.version < since.AgentVersion:
		return answer{}, invalid("Field \"agent_version\" not recognised")
	case (beat.AgentStatus != "" || beat.AgentStatusMessage != "") && r.version < since.AgentStatus:
		return answer{}, invalid("Fields \"agent_status\" and \"agent_status_message\" not recognised.")
	case a.has("agent_verify_ca") && r.version < since.AgentCA:
		return answer{}, invalid("Field \"agent_verify_ca\" not recognised in this version")
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	known, _ := n.DriverInternalInfo["agent_url"].(string)
	switch {
	case known != "" && known != beat.CallbackURL:
		return answer{}, invalid("Detected change in ramdisk provided \"callback_url\"")
	case !a.has("agent_token"):
		return answer{}, invalid("Agent token is required for heartbeat processing.")
	case a.has("agent_status") && !slices.Contains(agentStates, beat.AgentStatus):
		return answer{}, invalid("Agent status is invalid. Valid states are %s.", strings.Join(agentStates, ","))
	}
	return answer{status: http.StatusAccepted}, r.conductor.Heartbeat(r.Context(), n.UUID, beat)
}

var agentStates = []string{"start", "end", "error"}
