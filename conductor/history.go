// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// HistoryEntry is an event in the life of a node.
//
// Source: ironic/objects/node_history.py.
type HistoryEntry struct {
	ObjectMeta
	Severity  string `json:"severity,omitzero"` // "ERROR" or "INFO"
	Event     string `json:"event,omitzero"`    // a text
	EventType string `json:"event_type,omitzero"`
	Conductor string `json:"conductor,omitzero"` // the name of the conductor that worked on the node
	User      string `json:"user,omitzero"`
	Project   string `json:"project,omitzero"`
}

// Kind implements [Object].
func (*HistoryEntry) Kind() Kind { return KindHistory }

// History returns the entries of a node's history, oldest first. The error matches [NotFound], or is
// the store's.
func (c *Conductor) History(ctx context.Context, ident string) ([]*HistoryEntry, error) {
	n, err := c.Node(ctx, ident)
	if err != nil {
		return nil, err
	}
	return typed[*HistoryEntry](c.fleet.of(KindHistory).listOf(ctx, n.UUID))
}

// eventTypes maps the state in which work has failed to the event_type of the history entry.
var eventTypes = map[states.State]string{
	states.Verifying: "verify", states.Inspecting: "introspection", states.InspectWait: "introspection",
	states.Cleaning: "cleaning", states.CleanWait: "cleaning", states.CleanHold: "cleaning",
	states.Deploying: "deploying", states.DeployWait: "deploying", states.DeployHold: "deploying",
	states.Deleting: "unprovision", states.Rescuing: "rescue", states.RescueWait: "rescue",
	states.Unrescuing: "rescue", states.Adopting: "adoption",
	states.Servicing: "servicing", states.ServiceWait: "servicing", states.ServiceHold: "servicing",
}

// history adds entries to the histories of nodes.
type history struct {
	config *Config
	fleet  *fleet
}

// failed adds a node's last error to its history.
func (h history) failed(ctx context.Context, n *Node, eventType string) {
	h.add(ctx, n, "ERROR", n.LastError, eventType)
}

// orphan adds to a node's history that the process that worked on it has died.
//
// Source: _check_orphan_nodes in ironic/conductor/manager.py and _fail_transient_state in
// ironic/conductor/base_manager.py.
func (h history) orphan(ctx context.Context, before, n *Node) {
	switch {
	case n.ProvisionState == before.ProvisionState && before.TargetPower == states.NoPower:
	case n.ProvisionState == before.ProvisionState, before.ProvisionState == states.Deploying:
		h.failed(ctx, n, "takeover")
	case before.ProvisionState == states.Cleaning:
		h.failed(ctx, n, "cleaning")
	default:
		h.failed(ctx, n, "transition")
	}
}

// timeout adds to a node's history that no call-back came.
func (h history) timeout(ctx context.Context, before, n *Node) {
	eventType := eventTypes[before.ProvisionState]
	if before.ProvisionState == states.InspectWait {
		eventType = "transition"
	}
	h.failed(ctx, n, eventType)
}

// abort adds the abort of an inspection or a rescue to a node's history. Ironic adds no entry
// for other aborts.
//
// Source: _do_abort and _do_node_rescue_abort in ironic/conductor/manager.py.
func (h history) abort(ctx context.Context, before, n *Node) {
	switch moved := n.TransitionsSince(before); {
	case len(moved) == 0 || moved[0].Event != states.EventAbort:
	case moved[0].From == states.InspectWait:
		h.failed(ctx, n, "introspection")
	case moved[0].From == states.RescueWait:
		h.add(ctx, n, "INFO", "By request, the rescue operation was aborted.", "rescue")
	}
}

// power adds the last error of a power request or of the power sync to a node's history.
//
// Source: node_power_action in ironic/conductor/utils.py and
// handle_sync_power_state_max_retries_exceeded in ironic/conductor/manager.py.
func (h history) power(e powersync.Event) {
	eventType := "UNKNOWN"
	switch e.Outcome {
	case powersync.IntoMaintenance:
		eventType = "monitoring"
	case powersync.Reclaimed: // the process that made the request has died
		eventType = "takeover"
	}
	h.add(context.Background(), &Node{UUID: e.ID}, "ERROR", e.LastError, eventType)
}

// add adds an entry to a node's history, unless its event is empty. A failure to store the entry
// is logged and does not affect the node's work.
func (h history) add(ctx context.Context, n *Node, severity, event, eventType string) {
	if event == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	_, err := h.fleet.createObject(ctx, &HistoryEntry{
		ObjectMeta: ObjectMeta{NodeUUID: n.UUID},
		Severity:   severity, Event: event, EventType: eventType, Conductor: h.config.Name,
	})
	if err == nil {
		err = h.trim(ctx, n)
	}
	if err != nil {
		h.config.Log.Warn("the node's history could not be stored", "node", n.UUID, "error", err)
	}
}

// trim deletes the oldest entries beyond MaxHistory. It does nothing before the
// index of the history has been filled.
func (h history) trim(ctx context.Context, n *Node) error {
	index := h.fleet.of(KindHistory)
	if !index.isSynced() {
		return nil
	}
	entries, err := index.listOf(ctx, n.UUID)
	if err != nil {
		return err
	}
	for len(entries) > h.config.MaxHistory {
		if err := h.fleet.discard(ctx, KindHistory, entries[0].Meta().UUID); err != nil {
			return err
		}
		entries = entries[1:]
	}
	return nil
}
