package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/masked"
)

const (
	minLookup       = 22
	minAgentVersion = 36
	minEvents       = 54
	minAgentToken   = 62
	minAgentCA      = 68
	minAgentStatus  = 72
)

// lookup answers GET /v1/lookup, which an agent sends after it has started.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
func (h *handler) lookup(r *request) (answer, error) {
	a := r.queryArgs("addresses", "node_uuid")
	addresses, uuid := a.list("addresses"), a.uuid("node_uuid")
	if a.err != nil {
		return answer{}, a.err
	}
	addresses = slices.DeleteFunc(addresses, func(s string) bool { return !isMAC(s) })
	if len(addresses) == 0 && uuid == "" {
		return answer{}, invalid("At least one of 'addresses' and 'node_uuid' parameters is required")
	}
	n, token, err := h.conductor.Lookup(r.Context(), addresses, uuid)
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
	case r.version < minAgentToken:
		w.null()
	case token == "": // the token was given out before
		w.text(masked.Secret)
	default:
		w.text(token)
	}
	w.key("agent_token_required").boolean(true)
	w.close()
}

// heartbeat answers POST /v1/heartbeat/NODE, which agents send periodically.
//
// Source: ironic/api/controllers/v1/ramdisk.py.
func (h *handler) heartbeat(r *request) (answer, error) {
	a := r.bodyArgs(maxBody, "callback_url", "agent_version", "agent_token", "agent_verify_ca", "agent_status", "agent_status_message")
	beat := conductor.Heartbeat{
		CallbackURL: a.need("callback_url").text("callback_url"), AgentVersion: a.text("agent_version"),
		AgentVerifyCA: a.text("agent_verify_ca"), AgentStatus: a.text("agent_status"),
		AgentStatusMessage: a.text("agent_status_message"),
	}
	token, isText := a.values["agent_token"].(string)
	if a.err != nil {
		return answer{}, a.err
	}
	beat.AgentToken = token
	switch {
	case beat.AgentVersion != "" && r.version < minAgentVersion:
		return answer{}, invalid("Field \"agent_version\" not recognised")
	case (beat.AgentStatus != "" || beat.AgentStatusMessage != "") && r.version < minAgentStatus:
		return answer{}, invalid("Fields \"agent_status\" and \"agent_status_message\" not recognised.")
	case beat.AgentVerifyCA != "" && r.version < minAgentCA:
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
	case !isText:
		return answer{}, invalid("Agent token is required for heartbeat processing.")
	case a.has("agent_status") && !slices.Contains(agentStates, beat.AgentStatus):
		return answer{}, invalid("Agent status is invalid. Valid states are %s.", strings.Join(agentStates, ","))
	}
	return answer{status: http.StatusAccepted}, h.conductor.Heartbeat(r.Context(), n.UUID, beat)
}

var agentStates = []string{"start", "end", "error"}

// events are the accepted events of a network service. They have no effect. Source:
// ironic/api/controllers/v1/event.py.
var events = []string{"network.bind_port", "network.unbind_port", "network.delete_port"}

// takeEvents answers POST /v1/events.
func (h *handler) takeEvents(r *request) (answer, error) {
	body, err := r.decode(maxBody)
	if err != nil {
		return answer{}, err
	}
	object, err := checkObject("evts", body, oneOf("events"), "events")
	if err != nil {
		return answer{}, err
	}
	if err := checkType("evts", object["events"], []string{"array"}, 0, false); err != nil {
		return answer{}, err
	}
	list := object["events"].([]any)
	if len(list) == 0 {
		return answer{}, schemaError("evts", "[] is too short")
	}
	for _, item := range list {
		if err := checkEvent(item); err != nil {
			return answer{}, err
		}
	}
	return answer{status: http.StatusNoContent}, nil
}

func checkEvent(item any) error {
	keys := oneOf("event", "port_id", "mac_address", "status", "device_id", "binding:host_id", "binding:vnic_type")
	event, _ := item.(map[string]any)
	if name, _ := event["event"].(string); event != nil && event["event"] != nil && !slices.Contains(events, name) {
		return schemaError("evts", "%s is not one of ['%s']", repr(event["event"]), strings.Join(events, "', '"))
	}
	if _, err := checkObject("evts", item, keys, "event", "port_id", "mac_address", "status"); err != nil {
		return err
	}
	a := &args{values: event}
	a.uuid("port_id")
	a.mac("mac_address")
	a.text("status")
	a.uuid("device_id")
	a.uuid("binding:host_id")
	a.text("binding:vnic_type")
	return a.err
}
