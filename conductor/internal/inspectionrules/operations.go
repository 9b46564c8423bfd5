// SPDX-License-Identifier: Apache-2.0

package inspectionrules

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// operation describes the arguments of an operator or an action.
type operation struct {
	name               string
	required, optional []string
	formatted          []string // the arguments whose replacement fields are replaced; in a loop all are
	pluginData         bool     // Ironic adds an argument plugin_data, which the stored rule shows
}

func (o operation) word() string { return o.name }

// operator is an operator of conditions.
type operator struct {
	operation
	decide func(args map[string]any) (bool, error) // whether it holds
}

var (
	ofValue  = []string{"value"}
	ofValues = operation{required: []string{"values"}, optional: []string{"force_strings"}, formatted: []string{"values"}}
)

// named returns the operation with a name.
func (o operation) named(name string) operation {
	o.name = name
	return o
}

var operators = []operator{
	{ofValues.named("eq"), comparison("eq")},
	{ofValues.named("lt"), comparison("lt")},
	{ofValues.named("gt"), comparison("gt")},
	{operation{name: "is-empty", required: ofValue, formatted: ofValue}, isEmpty},
	{operation{name: "in-net", required: []string{"address", "subnet"}, formatted: []string{"address", "subnet"}}, inNet},
	{operation{name: "matches", required: []string{"value", "regex"}, formatted: ofValue}, matches(true)},
	{operation{name: "contains", required: []string{"value", "regex"}, formatted: ofValue}, matches(false)},
	{operation{name: "one-of", required: ofValue, optional: []string{"values"}, formatted: ofValue}, isOneOf},
	{operation{name: "is-none", required: ofValue, formatted: ofValue}, isNone},
	{operation{name: "is-true", required: ofValue, formatted: ofValue}, isTrue},
	{operation{name: "is-false", required: ofValue, formatted: ofValue}, isFalse},
}

// action is an action of a rule.
type action struct {
	operation
	// failure is the text before the reason of an error, in which {path} stands for the argument of that name; "" for
	// errors that have their text.
	failure string
	// do executes the action; nil if this package does not have it.
	do func(a *application, args map[string]any) error
}

var actions = []action{
	{operation{name: "fail", required: []string{"msg"}}, "", (*application).fail},
	{operation{name: "log", required: []string{"msg"}, optional: []string{"level"}, formatted: []string{"msg"}}, "", (*application).write},
	{
		operation{name: "set-attribute", required: []string{"path", "value"}, formatted: ofValue},
		"Failed to set attribute {path} with value {value}", onNode(record.setTo),
	},
	{
		operation{name: "extend-attribute", required: []string{"path", "value"}, optional: []string{"unique"}, formatted: ofValue},
		"Failed to extend attribute {path}", onNode(record.extendBy),
	},
	{operation{name: "del-attribute", required: []string{"path"}}, "Failed to delete attribute at {path}", onNode(record.without)},
	{
		operation{name: "set-capability", required: []string{"name", "value"}, formatted: ofValue},
		"Failed to set capability {name}", (*application).setCapability,
	},
	{operation{name: "unset-capability", required: []string{"name"}}, "Failed to unset capability {name}", (*application).unsetCapability},
	{operation{name: "add-trait", required: []string{"name"}}, "Failed to add new trait {name}", (*application).addTrait},
	{operation{name: "remove-trait", required: []string{"name"}}, "", (*application).removeTrait},
	{
		operation{name: "set-plugin-data", required: []string{"path", "value", "plugin_data"}, formatted: ofValue, pluginData: true},
		"Failed to set plugin data at {path}", (*application).setPluginData,
	},
	{
		operation{
			name: "extend-plugin-data", required: []string{"path", "value", "plugin_data"}, optional: []string{"unique"}, formatted: ofValue,
			pluginData: true,
		},
		"Failed to extend plugin data at {path}", (*application).extendPluginData,
	},
	{operation{name: "unset-plugin-data", required: []string{"path", "plugin_data"}, pluginData: true}, "", (*application).unsetPluginData},
	{
		operation{name: "set-port-attribute", required: []string{"port_id", "path", "value"}, formatted: ofValue},
		"Failed to set attribute {path} for port {port_id}", onPort(record.setTo),
	},
	{
		operation{
			name: "extend-port-attribute", required: []string{"port_id", "path", "value"}, optional: []string{"unique"}, formatted: ofValue,
		},
		"Failed to extend attribute {path} for port {port_id}", onPort(record.extendBy),
	},
	{
		operation{name: "del-port-attribute", required: []string{"port_id", "path"}},
		"Failed to delete attribute {path} for port {port_id}", onPort(record.without),
	},
	{
		operation{name: apiCall, required: []string{"url"}, optional: []string{"headers", "proxies", "timeout", "retries", "backoff_factor"}},
		"", nil,
	},
}

// apiCall is the action that sends a request to a URL of the rule. The conductor does not have it: SECURITY.md promises
// that a client of the API cannot make it send requests to where it likes.
const apiCall = "api-call"

// Operators returns the words of conditions: the operators, and each with an exclamation mark, which inverts it.
func Operators() (words []string) {
	for _, o := range operators {
		words = append(words, o.name)
	}
	for _, o := range operators {
		words = append(words, "!"+o.name)
	}
	return words
}

// Actions returns the words of the actions of a series.
func Actions(series states.Series) (words []string) {
	for _, o := range actions {
		if o.name != apiCall || series >= states.Flamingo {
			words = append(words, o.name)
		}
	}
	return words
}

// find returns the operator or the action of a word, which must exist. The word of an operator may begin with an
// exclamation mark.
func find[O interface{ word() string }](list []O, word any) O {
	name := strings.TrimPrefix(word.(string), "!")
	return list[slices.IndexFunc(list, func(o O) bool { return o.word() == name })]
}

// ErrUnsupported is matched by the error of an operation that Ironic has and this package does not.
var ErrUnsupported = errors.New("not supported")

// CheckCondition returns the form in which a condition is stored. It refuses one whose arguments do not belong to its
// operator. The condition satisfies the schema of the API.
func CheckCondition(condition map[string]any) (map[string]any, error) {
	o := find(operators, condition["op"])
	stored, err := o.stored(condition)
	if err != nil {
		return nil, err
	}
	if text, is := o.args(condition["args"])["regex"].(string); is && condition["loop"] == nil {
		var e *syntax.Error
		_, err := compile(text, o.name == "matches")
		unsupported := []syntax.ErrorCode{
			syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatSize, syntax.ErrNestingDepth, syntax.ErrLarge,
		}
		if errors.As(err, &e) && slices.Contains(unsupported, e.Code) {
			return nil, fmt.Errorf("the regular expression %s is %w: %s", pyrepr.Text(text), ErrUnsupported, e.Code)
		}
	}
	return stored, nil
}

// CheckAction is CheckCondition for an action.
func CheckAction(action map[string]any) (map[string]any, error) {
	stored, err := find(actions, action["op"]).stored(action)
	if err == nil && action["op"] == apiCall {
		err = fmt.Errorf("the action %s is %w: a client of the API must not make the conductor send requests", apiCall, ErrUnsupported)
	}
	return stored, err
}

// stored returns an operation with the arguments that Ironic stores. It refuses missing and unknown arguments.
//
// Source: validate in ironic/common/inspection_rules/base.py, which changes the arguments that it validates.
func (o operation) stored(given map[string]any) (map[string]any, error) {
	stored := clone(given).(map[string]any)
	switch args := stored["args"].(type) {
	case []any:
		if o.pluginData {
			args = append(args, map[string]any{})
		}
		if len(args) < len(o.required) {
			//lint:ignore ST1005 the text is Ironic's
			return nil, fmt.Errorf("Not enough arguments provided. Missing: %s", strings.Join(o.required[len(args):], ", "))
		}
		stored["args"] = args
	case map[string]any:
		if o.pluginData {
			args["plugin_data"] = map[string]any{}
		}
		var missing, unexpected, parts []string
		for _, name := range o.required {
			if _, has := args[name]; !has {
				missing = append(missing, name)
			}
		}
		for name := range args {
			if !slices.Contains(o.required, name) && !slices.Contains(o.optional, name) {
				unexpected = append(unexpected, name)
			}
		}
		slices.Sort(unexpected)
		if missing != nil {
			parts = append(parts, "missing required argument(s): "+strings.Join(missing, ", "))
		}
		if unexpected != nil {
			parts = append(parts, "unexpected argument(s): "+strings.Join(unexpected, ", "))
		}
		if parts != nil {
			return nil, errors.New(strings.Join(parts, "; "))
		}
	}
	return stored, nil
}

// args returns the arguments of an operation by their names. A list has those that are required first.
func (o operation) args(given any) map[string]any {
	list, is := given.([]any)
	if !is {
		return given.(map[string]any)
	}
	args := map[string]any{}
	for i, name := range slices.Concat(o.required, o.optional) {
		if i < len(list) {
			args[name] = list[i]
		}
	}
	return args
}

// arguments returns the arguments of an operation with their replacement fields replaced. item is the item of a loop,
// nil for none.
func (a *application) arguments(o operation, given any, item *any) (map[string]any, error) {
	if err := a.ended(); err != nil {
		return nil, err
	}
	args := map[string]any{}
	f := formatter{a, item, o.name == "is-empty" && a.series >= states.Gazpacho}
	for name, value := range o.args(given) {
		formatted := slices.Contains(o.formatted, name) && (name != "values" || a.series >= states.Hibiscus)
		if !formatted && item == nil {
			args[name] = value
			continue
		}
		var err error
		if args[name], err = f.value(value); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// items returns the items of an operation's loop: the items of a list, or an object as a whole. Without a loop there is
// one, nil.
func items(given map[string]any) (items []*any) {
	switch loop := given["loop"].(type) {
	case []any:
		for i := range loop {
			items = append(items, &loop[i])
		}
	case map[string]any:
		if len(loop) > 0 {
			var item any = loop
			items = append(items, &item)
		}
	}
	if items == nil {
		items = []*any{nil}
	}
	return items
}
