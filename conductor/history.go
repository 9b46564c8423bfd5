// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
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
	// The provision state and its target when the entry was made, and the whole seconds since the node's
	// ProvisionUpdatedAt, which a heartbeat resets, as in Ironic: see [Node.StateSince]. They are empty for an entry of an
	// earlier release, the duration also for a node that has had no transition.
	State                states.State `json:"state,omitzero"`
	TargetProvisionState states.State `json:"target_provision_state,omitzero"`
	DurationSeconds      *int         `json:"duration_seconds,omitzero"`
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
	return typed[*HistoryEntry](c.fleet.listOf(ctx, KindHistory, n.UUID))
}

// history adds entries to the histories of nodes.
type history struct {
	config *Config
	fleet  *fleet
}

// failed adds the failure of a node's work to its history. before is the node before the failure.
func (h history) failed(ctx context.Context, before, n *Node) {
	h.lastError(ctx, before, n, kindOf(before.ProvisionState).texts.eventType)
}

// lastError adds a node's last error to its history. before is the node before the error.
func (h history) lastError(ctx context.Context, before, n *Node, eventType string) {
	h.add(ctx, before, "ERROR", n.LastError, eventType)
}

// notCleanedUp adds to a node's history that the clean-up after its failed work has failed. Ironic adds an entry only
// if the failure has replaced the last error.
func (h history) notCleanedUp(ctx context.Context, n *Node, c CleanUp) {
	if kind := &works[n.ProvisionState.Work()]; c.aborted() || kind.texts.cleanUp.instead != "" {
		h.lastError(ctx, n, n, kind.texts.eventType)
	}
}

// orphan adds to a node's history that the process that worked on it has died. Ironic has other types of events if a
// conductor of the same name finds it, and then no entry for a power request.
//
// Source: _check_orphan_nodes in ironic/conductor/manager.py and _fail_transient_state in
// ironic/conductor/base_manager.py.
func (h history) orphan(ctx context.Context, before, n *Node) {
	restarted := before.Reservation == h.config.Name
	switch {
	case n.ProvisionState == before.ProvisionState && (before.TargetPower == states.NoPower || restarted):
	case n.ProvisionState == before.ProvisionState:
		h.lastError(ctx, before, n, "takeover")
	case restarted:
		h.lastError(ctx, before, n, "transition")
	default:
		h.lastError(ctx, before, n, kindOf(before.ProvisionState).texts.orphanType)
	}
}

// timeout adds to a node's history that no call-back came.
func (h history) timeout(ctx context.Context, before, n *Node) {
	_, eventType := kindOf(before.ProvisionState).texts.timeout(h.config.Table.Series())
	h.lastError(ctx, before, n, eventType)
}

// abort adds the abort of an inspection or a rescue to a node's history. Ironic adds no entry
// for other aborts.
//
// Source: _do_abort and _do_node_rescue_abort in ironic/conductor/manager.py.
func (h history) abort(ctx context.Context, before, n *Node) {
	moved := n.TransitionsSince(before)
	if len(moved) == 0 || moved[0].Event != states.EventAbort {
		return
	}
	if kind := &works[moved[0].From.Work()]; kind.abort.entry != nil {
		severity, event := kind.abort.entry(n)
		h.add(ctx, before, severity, event, kind.texts.eventType)
	}
}

// power adds the last error of a power request or of the power sync to a node's history.
//
// Source: node_power_action in ironic/conductor/utils.py and
// handle_sync_power_state_max_retries_exceeded in ironic/conductor/manager.py.
func (h history) power(ctx context.Context, e powersync.Event) {
	eventType := "UNKNOWN"
	if e.Outcome == powersync.IntoMaintenance {
		eventType = "monitoring"
	}
	n := cmp.Or(h.fleet.indexed(e.ID), &Node{UUID: e.ID})
	h.add(ctx, n, "ERROR", e.LastError, eventType)
}

// add adds an entry to a node's history, unless its event is empty. A failure to store the entry
// is logged and does not affect the node's work.
//
// Source: node_history_record in ironic/conductor/utils.py.
func (h history) add(ctx context.Context, n *Node, severity, event, eventType string) {
	if event == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	entry := &HistoryEntry{
		ObjectMeta: ObjectMeta{NodeUUID: n.UUID, CreatedAt: now()},
		Severity:   severity, Event: shortened(event), EventType: eventType, Conductor: h.config.Name,
		State: n.ProvisionState, TargetProvisionState: n.TargetProvisionState,
	}
	if n.ProvisionUpdatedAt != nil {
		seconds := int(entry.CreatedAt.Sub(*n.ProvisionUpdatedAt).Seconds())
		entry.DurationSeconds = &seconds
	}
	if err := h.store(ctx, entry); err != nil {
		h.config.Log.Warn("the node's history could not be stored", "node", n.UUID, "error", err)
	}
}

// store stores an entry, and deletes the node's entries that are not kept. The entry becomes the newest of its node,
// since entries are listed by their times, and two may be made within a microsecond.
func (h history) store(ctx context.Context, entry *HistoryEntry) error {
	entries := h.fleet.of(KindHistory).AllOf(entry.NodeUUID)
	if last := len(entries) - 1; last >= 0 && !entry.CreatedAt.After(entries[last].Meta().CreatedAt) {
		entry.CreatedAt = entries[last].Meta().CreatedAt.Add(time.Microsecond)
	}
	if _, err := h.fleet.createObject(ctx, entry); err != nil {
		return err
	}
	for _, old := range expired(append(entries, entry), h.config.MaxHistory, h.config.MinHistoryAge) {
		if err := h.fleet.discard(ctx, KindHistory, old.Meta().UUID); err != nil {
			return err
		}
	}
	return nil
}

// expired returns the entries of a node that are not kept: all but the newest of those that are older than a time
// before the newest entry. The entries are sorted by their times, and at least one.
//
// Source: query_node_history_records_for_purge in ironic/db/sqlalchemy/api.py. Ironic deletes such entries once a day.
func expired(entries []Object, newest int, age time.Duration) []Object {
	latest := entries[len(entries)-1].Meta().CreatedAt.Add(-age)
	old := len(entries)
	for old > 0 && entries[old-1].Meta().CreatedAt.After(latest) {
		old--
	}
	return entries[:max(0, old-newest)]
}

const (
	maxHistoryEvent = 65535 // bytes of an event
	cutMark         = " ... [truncated] ... "
)

// shortened returns an event without its middle if it is too long.
//
// Source: _truncate_event in ironic/db/sqlalchemy/models.py of 39.0.0. Before, the database refused such an entry or
// stored it whole.
func shortened(event string) string {
	if len(event) <= maxHistoryEvent {
		return event
	}
	head := (maxHistoryEvent - len(cutMark)) / 2
	tail := maxHistoryEvent - len(cutMark) - head
	return strings.ToValidUTF8(event[:head], "") + cutMark + strings.ToValidUTF8(event[len(event)-tail:], "")
}

// flow returns Ironic's word for the steps that a node's work executes. It is empty for work whose steps have no
// entries in the history, and in series before 2025.2.
//
// Source: StepFlow and log_step_flow_history in ironic/conductor/utils.py since 31.0.0.
func (h history) flow(n *Node) string {
	switch kind := kindOf(n.ProvisionState); {
	case h.config.Table.Series() < states.Flamingo:
		return ""
	case kind.automated(n):
		return kind.texts.automatedFlow
	default:
		return kind.texts.flow
	}
}

// flowType returns the event_type of the "start" or the "end" of a flow.
func flowType(flow, moment string) string {
	return strings.ReplaceAll(strings.ToLower(flow), " ", "_") + "_" + moment
}

// begun adds to a node's history that its work executes steps, which are given by their records.
func (h history) begun(ctx context.Context, n *Node, steps []any) {
	if flow := h.flow(n); flow != "" {
		h.add(ctx, n, "INFO", fmt.Sprintf("Starting %s with steps=%s", strings.ToLower(flow), stepsText(steps)), flowType(flow, "start"))
	}
}

// ended adds to a node's history that all steps of its work have ended, or which one has failed. before is the node
// before the end of the work, whose state has the steps. As in Ironic, a cleaning and a service have forgotten their
// steps when they end.
func (h history) ended(ctx context.Context, before *Node, r result) {
	flow := h.flow(before)
	if flow == "" {
		return
	}
	kind, end := kindOf(before.ProvisionState), flowType(flow, "end")
	steps := kind.records(kind.of(before).Planned)
	var failed *stepError
	switch {
	case errors.As(r.err, &failed):
		h.add(ctx, before, "ERROR", fmt.Sprintf("%s aborted at step '%s' with steps=%s", flow, failed.step.Step, stepsText(steps)), end)
	case r.stepsDone:
		if !kind.steps.merges {
			steps = nil
		}
		h.add(ctx, before, "INFO", fmt.Sprintf("%s completed successfully with steps=%s", flow, stepsText(steps)), end)
	}
}

// The keys of a step in the order in which Ironic prints them, by the origin of the step: a client, whose requests
// mostly have this order, the hardware type, or the agent. Other keys follow.
//
// Source: _validate_user_step in ironic/conductor/steps.py, BaseInterface.__new__ in ironic/drivers/base.py, and
// get_clean_steps in ironic_python_agent/hardware.py.
var (
	clientKeys   = []string{"interface", "step", "args", "order", "abortable", "priority"}
	hardwareKeys = []string{"step", "priority", "abortable", "argsinfo", "interface", "requires_ramdisk"}
	agentKeys    = []string{"step", "priority", "interface", "reboot_requested", "abortable", "argsinfo"}
)

// stepsText returns the records of steps as Ironic prints them, without secrets.
func stepsText(steps []any) string {
	texts := make([]string, len(steps))
	for i, step := range steps {
		record := masked.Value(step).(map[string]any)
		order := clientKeys
		if _, has := record["reboot_requested"]; has {
			order = agentKeys
		} else if _, has := record["argsinfo"]; has {
			order = hardwareKeys
		}
		texts[i] = pyrepr.Object(record, order)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
