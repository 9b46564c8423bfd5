// SPDX-License-Identifier: Apache-2.0

// Package inspectionrules decides what inspection rules make of a node: [Apply] takes the rules and what an inspection
// has found out, and returns the changes or the failure. It does no I/O.
//
//	rules.go       the rules of a phase, in their order
//	operations.go  the operators and actions, and their arguments
//	conditions.go  what each operator decides
//	actions.go     what each action changes
//	attributes.go  the attributes of nodes and ports that an action may set
//	format.go      the replacement fields in arguments, such as {inventory[cpu][count]}
//	spec.go        the format specifications of these fields
//	values.go      how decoded JSON is compared and shown
//
// Source: ironic/common/inspection_rules.
package inspectionrules

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Rule is an inspection rule whose operations have passed [CheckCondition] and [CheckAction].
type Rule struct {
	UUID       string
	Priority   int
	Conditions []map[string]any
	Actions    []map[string]any
}

// Subject is what rules see and change, in the types of decoded JSON with numbers as [encoding/json.Number]. Apply does
// not change it.
type Subject struct {
	Node       map[string]any // the attributes of the node by their names in Ironic
	Traits     []string
	Ports      []map[string]any // the attributes of the node's ports, with their UUIDs
	Inventory  map[string]any
	PluginData map[string]any
}

// Log is a message of a rule.
type Log struct {
	Level   string // debug, info, warning, error or critical
	Message string
}

// Changes are the values of a Subject that rules have changed.
type Changes struct {
	Node       map[string]any            // the attributes that were set
	Ports      map[string]map[string]any // the attributes that were set, by the UUID of the port
	Traits     []string
	PluginData map[string]any
	Logs       []Log
}

// Apply applies rules in the order of their priorities, the highest first, and of equal ones in their order. An action
// that fails ends the inspection with an error. The actions before it have made the changes. The end of ctx is such a
// failure, too.
func Apply(ctx context.Context, series states.Series, rules []Rule, s Subject) (Changes, error) {
	a := &application{
		ended: ctx.Err, series: series, node: clone(s.Node).(map[string]any), inventory: s.Inventory, left: maxText,
		changes: Changes{
			Node: map[string]any{}, Ports: map[string]map[string]any{}, Traits: slices.Clone(s.Traits),
			PluginData: clone(s.PluginData).(map[string]any),
		},
	}
	for _, port := range s.Ports {
		a.ports = append(a.ports, clone(port).(map[string]any))
	}
	rules = slices.Clone(rules)
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(b.Priority, a.Priority) })
	for _, rule := range rules {
		if err := a.apply(rule); err != nil {
			return a.changes, err
		}
	}
	return a.changes, nil
}

// application is the application of rules to a node.
type application struct {
	ended     func() error // why to stop; nil to go on
	series    states.Series
	node      map[string]any
	ports     []map[string]any
	inventory map[string]any
	changes   Changes
	left      int // the number of bytes that replacement fields may still make
	fields    int // the number of replacement fields so far
	shown     any // the inventory as rules see it; nil before the first use
}

// failure is an error whose text says all. The text of any other error needs the rule and the node.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

// fail returns a failure.
func fail(format string, args ...any) error { return &failure{fmt.Sprintf(format, args...)} }

// apply applies a rule.
func (a *application) apply(rule Rule) error {
	err := a.run(rule)
	if _, is := err.(*failure); err == nil || is {
		return err
	}
	return fail("Failed to apply rule %s to node %s: %v", rule.UUID, str(a.node["uuid"]), err)
}

// run executes the actions of a rule if all of its conditions hold.
func (a *application) run(rule Rule) error {
	for _, condition := range rule.Conditions {
		if holds, err := a.check(condition); err != nil || !holds {
			return err
		}
	}
	for _, action := range rule.Actions {
		if err := a.execute(action); err != nil {
			return err
		}
	}
	return nil
}

// log adds a message.
func (a *application) log(level, format string, args ...any) {
	a.changes.Logs = append(a.changes.Logs, Log{level, fmt.Sprintf(format, args...)})
}
