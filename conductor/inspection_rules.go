// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/ironstate/ironstate/conductor/internal/inspectionrules"
	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/internal/exactjson"
	"github.com/ironstate/ironstate/states"
)

// rulesResult is the result of the inspection rules.
type rulesResult struct {
	change  func(*Node) // of the node by the hooks and the rules, to be stored with the end of the inspection
	data    map[string]any
	failure error // of a rule
}

// applyRules applies the inspection rules to the task's node as runHooks has described it, to its ports and to the
// plugin data of its inspection.
//
// Source: apply_rules in ironic/common/inspection_rules/engine.py.
func (t *Task) applyRules(ctx context.Context, described func(*Node), inventory, data map[string]any) (rulesResult, error) {
	none := rulesResult{change: described, data: data}
	if t.Series() < states.Epoxy {
		return none, nil
	}
	f := t.engine.fleet
	stored, err := typed[*InspectionRule](f.list(ctx, KindInspectionRule))
	if err != nil {
		return none, err
	}
	var rules []inspectionrules.Rule
	for _, rule := range stored {
		if rule.Phase == "main" { // the end of an agent's inspection
			rules = append(rules, inspectionrules.Rule{UUID: rule.UUID, Priority: rule.Priority, Conditions: rule.Conditions, Actions: rule.Actions})
		}
	}
	n := t.Node().Clone()
	described(n)
	ports, err := t.Ports(ctx)
	if err != nil {
		return none, err
	}
	subject := inspectionrules.Subject{
		Node: inspectionrules.NodeAttributes(recordOf(n, n.Empty)), Traits: n.Traits, Inventory: inventory, PluginData: data,
	}
	for _, port := range ports { // the hooks have set whether they have booted the agent
		subject.Ports = append(subject.Ports, inspectionrules.PortAttributes(recordOf(port, port.Empty)))
	}
	changes, failure := inspectionrules.Apply(ctx, t.Series(), rules, subject)
	if err := ctx.Err(); err != nil {
		return none, err
	}
	for _, log := range changes.Logs {
		t.engine.config.Log.Log(ctx, ruleLevels[log.Level], "inspection rule", "node", n.UUID, "message", errtext.Clean(log.Message))
	}
	for id, attributes := range changes.Ports {
		_, err := editObject(ctx, f, id, func(p *Port) error {
			setAttributes(p, attributes)
			return nil
		})
		if err != nil && !errors.Is(err, NotFound) { // a client may have deleted it
			return none, err
		}
	}
	if name, has := changes.Node["name"]; has { // first, as another node may have it
		err := t.Update(ctx, func(n *Node) error {
			setAttributes(n, map[string]any{"name": name})
			return nil
		})
		switch {
		case errors.Is(err, Exists):
			delete(changes.Node, "name")
			//lint:ignore ST1005 the text is Ironic's
			failure = fmt.Errorf("Inspection rule action execution failed. Reason: Failed to set attribute name with value %s: %w", name, err)
		case err != nil:
			return none, err
		}
	}
	change := func(n *Node) {
		described(n)
		setAttributes(n, changes.Node)
		n.Traits = slices.Clone(changes.Traits)
	}
	return rulesResult{change, changes.PluginData, failure}, nil
}

// ruleLevels are the levels of the messages of rules.
var ruleLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warning": slog.LevelWarn, "error": slog.LevelError, "critical": slog.LevelError,
}

// settable is a record that stores which of its empty texts are "" and which are null.
type settable interface {
	SetEmpty(name string, empty bool)
}

// recordOf returns a record in the types of decoded JSON, with the texts that are empty and not null.
func recordOf(of settable, empty []string) map[string]any {
	raw := map[string]any{}
	for _, name := range empty {
		raw[name] = ""
	}
	text, _ := json.Marshal(of) // records can be encoded, as the store has them
	_ = exactjson.Unmarshal(text, &raw)
	return raw
}

// nullableBooleans are the fields of nodes and ports that are true, false or null, and no texts.
var nullableBooleans = []string{"automated_clean", "is_smartnic"}

// setAttributes sets fields of a record by their names in Ironic. The values fit the fields. It decodes the values as
// JSON over the record, in two passes, since decoding leaves a text at null as it is, and merges an object into the old
// one: the first pass clears such fields, the second sets the values that are not null.
func setAttributes(of settable, attributes map[string]any) {
	cleared, values := map[string]any{}, map[string]any{}
	for name, value := range attributes {
		of.SetEmpty(name, value == "")
		if value != nil {
			values[name] = value
		}
		switch value.(type) {
		case map[string]any:
			cleared[name] = nil // other copies of the record share the old object
		case nil:
			cleared[name] = "" // a text
			if slices.Contains(nullableBooleans, name) {
				cleared[name] = nil
			}
		}
	}
	for _, values := range []map[string]any{cleared, values} {
		text, _ := json.Marshal(values)
		_ = exactjson.Unmarshal(text, of)
	}
}
