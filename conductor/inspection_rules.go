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
	"github.com/ironstate/ironstate/states"
)

// applyRules applies the inspection rules to the node n of a task, whose hooks have run, and to its ports. It returns
// the change of the node, which is to be stored with the end of the inspection, and the failure of a rule. The plugin
// data of the inspection become those that the rules have made of them.
//
// Source: apply_rules in ironic/common/inspection_rules/engine.py.
func (i *agentInspection) applyRules(ctx context.Context, t *Task, n *Node) (change func(*Node), failure, err error) {
	none := func(*Node) {}
	if t.Series() < states.Epoxy {
		return none, nil, nil
	}
	stored, err := typed[*InspectionRule](i.fleet.of(KindInspectionRule).list(ctx))
	if err != nil {
		return none, nil, err
	}
	rules := make([]inspectionrules.Rule, len(stored))
	for k, rule := range stored {
		rules[k] = inspectionrules.Rule{UUID: rule.UUID, Priority: rule.Priority, Conditions: rule.Conditions, Actions: rule.Actions}
	}
	ports, err := t.Ports(ctx)
	if err != nil {
		return none, nil, err
	}
	subject := inspectionrules.Subject{
		Node: inspectionrules.NodeAttributes(recordOf(n, n.Empty)), Traits: n.Traits, Inventory: i.inventory, PluginData: i.data,
	}
	for _, port := range ports { // the hooks have set whether they have booted the agent
		subject.Ports = append(subject.Ports, inspectionrules.PortAttributes(recordOf(port, port.Empty)))
	}
	changes, failure := inspectionrules.Apply(t.Series(), rules, subject)
	for _, log := range changes.Logs {
		i.config.Log.Log(ctx, ruleLevels[log.Level], "inspection rule", "node", n.UUID, "message", errtext.Clean(log.Message))
	}
	for id, attributes := range changes.Ports {
		_, err := edit(ctx, i.fleet, id, func(p *Port) error {
			setAttributes(p, attributes)
			return nil
		})
		if err != nil && !errors.Is(err, NotFound) { // a client may have deleted it
			return none, nil, err
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
			return none, nil, err
		}
	}
	i.data = changes.PluginData
	return func(n *Node) {
		setAttributes(n, changes.Node)
		n.Traits = slices.Clone(changes.Traits)
	}, failure, nil
}

// ruleLevels are the levels of the messages of rules.
var ruleLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warning": slog.LevelWarn, "error": slog.LevelError, "critical": slog.LevelError,
}

// settable is a record that tells empty texts from null.
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
	_ = unmarshal(text, &raw)
	return raw
}

// setAttributes sets fields of a record by their names in Ironic. The values fit the fields.
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
			if name == "automated_clean" || name == "is_smartnic" {
				cleared[name] = nil
			}
		}
	}
	for _, values := range []map[string]any{cleared, values} {
		text, _ := json.Marshal(values)
		_ = unmarshal(text, of)
	}
}
