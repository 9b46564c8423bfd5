// SPDX-License-Identifier: Apache-2.0

package inspectionrules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/pyrepr"
)

// execute executes an action for each item of its loop.
//
// Source: ironic/common/inspection_rules/actions.py.
func (a *application) execute(given map[string]any) error {
	o := find(actions, given["op"])
	if o.do == nil {
		return actionFailed("the action %s is %v", o.name, ErrUnsupported)
	}
	for _, item := range items(given) {
		args, err := a.arguments(o.operation, given["args"], item)
		if err != nil {
			return err
		}
		if slices.Contains(o.required, "port_id") && a.portOf(args) < 0 {
			return fail("Port %s could not be found.", str(args["port_id"]))
		}
		switch err = o.do(a, args); {
		case err != nil && o.failure == "":
			return err
		case err != nil:
			return actionFailed("%s: %v", fill(o.failure, args), err)
		}
	}
	return nil
}

// fill puts the arguments into a text.
func fill(text string, args map[string]any) string {
	var pairs []string
	for name, value := range args {
		pairs = append(pairs, "{"+name+"}", str(value))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// actionFailed returns the failure of an action.
func actionFailed(format string, args ...any) error {
	return fail("Inspection rule action execution failed. Reason: "+format, args...)
}

func (*application) fail(args map[string]any) error {
	return fail("Failed to inspect hardware. Reason: %s", str(args["msg"]))
}

// The actions on the attributes of a record.

func (r record) setTo(args map[string]any) error { return r.set(args["path"], args["value"]) }

func (r record) without(args map[string]any) error { return r.remove(args["path"]) }

// extendBy appends the value to a list. An attribute that is no list is a failure of its own.
func (r record) extendBy(args map[string]any) error {
	listErr, err := r.extend(args["path"], args["value"], pyrepr.Truthy(args["unique"]))
	if listErr != nil {
		return actionFailed("%v", listErr)
	}
	return err
}

func (a *application) removeTrait(args map[string]any) error {
	name := str(args["name"])
	if !slices.Contains(a.changes.Traits, name) {
		a.log("warning", "Failed to remove trait %s: the node does not have it", name)
	}
	a.changes.Traits = slices.DeleteFunc(a.changes.Traits, func(trait string) bool { return trait == name })
	return nil
}

// unsetPluginData does nothing: Ironic looks for the path in a view of the data that hides secrets, and finds nothing
// in it.
func (a *application) unsetPluginData(args map[string]any) error {
	a.log("warning", "Path %s not found", str(args["path"]))
	return nil
}

// logLevels are the levels of the action log.
var logLevels = []string{"debug", "info", "warning", "error", "critical"}

// write adds the message of the action log.
func (a *application) write(args map[string]any) error {
	given, has := args["level"]
	if !has {
		given = "info"
	}
	level, is := given.(string)
	if !is {
		return fmt.Errorf("the log level is no text but %s", className(given))
	}
	level = strings.ToLower(level)
	if !slices.Contains(logLevels, level) {
		return fail("Invalid log level: %s. Choose from %s", level, strings.Join(logLevels, ", "))
	}
	a.log(level, "%s", str(args["msg"]))
	return nil
}

// onNode returns the function of an action on the node.
func onNode(do func(r record, args map[string]any) error) func(*application, map[string]any) error {
	return func(a *application, args map[string]any) error { return do(a.nodeRecord(), args) }
}

// nodeRecord returns the node as a record.
func (a *application) nodeRecord() record {
	return record{
		values: a.node, kinds: attributesOfNodes, changed: func(name string) { a.changes.Node[name] = a.node[name] },
		ignored: func(format string, args ...any) { a.log("warning", "Ignored: "+format+" of the node", args...) },
	}
}

// onPort returns the function of an action on the port that the argument port_id names, which must exist.
func onPort(do func(r record, args map[string]any) error) func(*application, map[string]any) error {
	return func(a *application, args map[string]any) error {
		port, uuid := a.ports[a.portOf(args)], str(args["port_id"])
		return do(record{
			values: port, kinds: attributesOfPorts,
			changed: func(name string) {
				if a.changes.Ports[uuid] == nil {
					a.changes.Ports[uuid] = map[string]any{}
				}
				a.changes.Ports[uuid][name] = port[name]
			},
			ignored: func(format string, args ...any) { a.log("warning", "Ignored: "+format+" of a port", args...) },
		}, args)
	}
}

// portOf returns the index of the port that the argument port_id names, -1 for none.
func (a *application) portOf(args map[string]any) int {
	return slices.IndexFunc(a.ports, func(port map[string]any) bool { return equal(port["uuid"], args["port_id"]) })
}

// setCapability adds a capability behind those that the node has, also if it has one of the name.
func (a *application) setCapability(args map[string]any) error {
	name, value := args["name"], args["value"]
	key, is := name.(string)
	text, both := value.(string)
	if !is || !both {
		return fmt.Errorf("its name and its value must be texts, not %s and %s", className(name), className(value))
	}
	capability := key + ":" + text
	properties := a.properties()
	if old := properties["capabilities"]; pyrepr.Truthy(old) {
		before, is := old.(string)
		if !is {
			return errors.New("the capabilities of the node are no text")
		}
		capability = before + "," + capability
	}
	properties["capabilities"] = capability
	a.nodeRecord().changed("properties")
	return nil
}

// unsetCapability removes the capabilities of a name.
func (a *application) unsetCapability(args map[string]any) error {
	properties := a.properties()
	old, has := properties["capabilities"]
	capabilities, is := old.(string)
	if has && !is {
		return errors.New("the capabilities of the node are no text")
	}
	left := slices.DeleteFunc(strings.Split(capabilities, ","), func(c string) bool { return strings.HasPrefix(c, str(args["name"])+":") })
	properties["capabilities"] = strings.Join(left, ",")
	a.nodeRecord().changed("properties")
	return nil
}

// properties returns the properties of the node.
func (a *application) properties() map[string]any { return a.node["properties"].(map[string]any) }

// maxTraits is the maximum number of a node's traits.
const maxTraits = 50

// addTrait adds a trait.
func (a *application) addTrait(args map[string]any) error {
	trait, err := coerce(text, "trait", args["name"])
	switch {
	case err != nil:
		return err
	case trait == nil:
		//lint:ignore ST1005 the text is Ironic's
		return errors.New("Field `trait' cannot be None")
	case slices.Contains(a.changes.Traits, trait.(string)):
	case len(a.changes.Traits) == maxTraits:
		return fmt.Errorf("a node has at most %d traits", maxTraits)
	default:
		a.changes.Traits = append(a.changes.Traits, trait.(string))
	}
	return nil
}

// pluginPath returns the keys of a path in the plugin data, which a list names, or a text with dots, and the object
// that has the last one. It creates the objects above it.
func (a *application) pluginPath(path any) (above map[string]any, last string, err error) {
	var keys []string
	switch path := path.(type) {
	case string:
		keys = strings.Split(path, ".")
	case []any:
		for _, key := range path {
			keys = append(keys, str(key))
		}
	}
	switch {
	case len(keys) == 0:
		return nil, "", errors.New("the path is neither a text nor a list")
	case len(keys) > maxParts:
		return nil, "", errLongPath
	}
	above = a.changes.PluginData
	for i, key := range keys[:len(keys)-1] {
		if _, has := above[key]; !has {
			above[key] = map[string]any{}
		}
		below, is := above[key].(map[string]any)
		if !is {
			return nil, "", noObject(keys[:i+1])
		}
		above = below
	}
	return above, keys[len(keys)-1], nil
}

// setPluginData sets the plugin data at a path.
func (a *application) setPluginData(args map[string]any) error {
	above, last, err := a.pluginPath(args["path"])
	if err == nil {
		above[last] = args["value"]
	}
	return err
}

// extendPluginData appends a value to the list at a path in the plugin data. Something else that is empty becomes a
// list.
func (a *application) extendPluginData(args map[string]any) error {
	value := args["value"]
	above, last, err := a.pluginPath(args["path"])
	if err != nil {
		return err
	}
	list, is := above[last].([]any)
	if !is && pyrepr.Truthy(above[last]) {
		return fmt.Errorf("it is no list but %s", className(above[last]))
	}
	if !pyrepr.Truthy(args["unique"]) || !slices.ContainsFunc(list, func(v any) bool { return equal(v, value) }) {
		list = append(list, value)
	}
	above[last] = list
	return nil
}
