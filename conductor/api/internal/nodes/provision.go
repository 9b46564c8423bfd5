// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// provision answers PUT /v1/nodes/NODE/states/provision.
//
// Source: provision in ironic/api/controllers/v1/node.py, including the order of the checks.
var provision = checks{provisionDecodes, nodeExists, provisionCompletes}.Then(newRequest, func(q *request) (rest.Answer, error) {
	// The conductor calls this again under the node's lock, since the node may have changed before.
	q.completed.Complete = func(n *node, p *conductor.ProvisionRequest) (err error) {
		*p, err = q.provision.complete(q.Request, n)
		return err
	}
	err := q.Conductor.Provision(q.Context(), q.node.UUID, q.completed)
	var refused *states.RequestError
	switch {
	case err == nil:
		return accepted(q.Request), nil
	case !errors.As(err, &refused):
		return rest.Answer{}, err
	case errors.Is(err, states.ErrNotAcceptable):
		return rest.Answer{}, fault.NotAcceptable
	case errors.Is(err, states.ErrNotUnderstood):
		return rest.Answer{}, fault.Invalid("The requested action %q could not be understood.", fault.Show(q.provision.target))
	default:
		return rest.Answer{}, fault.State(fault.Show(q.provision.target), q.node.UUID, refused.From.String())
	}
})

// provisionArgs returns the names of the arguments of a provision request in the series, in Ironic's order.
func provisionArgs(s *rest.Service) []string {
	names := []string{"target", "configdrive", "clean_steps", "deploy_steps", "rescue_password", "disable_ramdisk"}
	if s.Series >= states.Bobcat {
		names = append(names, "service_steps")
	}
	if s.Highest >= since.Runbooks {
		names = append(names, "runbook")
	}
	return names
}

// targetArgs says which arguments a request for a target may have. The argument that it must have is named by
// [states.Event.Requires].
type targetArgs struct {
	steps       string            // the argument with steps; empty for none
	configDrive states.APIVersion // the first version with configdrive; zero for none
	ramdisk     states.APIVersion // the first version with disable_ramdisk; zero for none
}

// targets are the targets that have arguments.
//
// Source: provision in ironic/api/controllers/v1/node.py.
var targets = map[string]targetArgs{
	"active":  {steps: "deploy_steps", configDrive: since.First},
	"rebuild": {steps: "deploy_steps", configDrive: since.RebuildConfigDrive},
	"clean":   {ramdisk: since.CleanRamdisk},
	"service": {ramdisk: since.ServiceRamdisk},
	"rescue":  {}, // its password alone
}

// targetsWith returns the targets of which takes is true, in the order in which faults list them.
func targetsWith(takes func(target string) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(targets)), func(target string) bool { return !takes(target) })
}

// required returns the argument that a client must give with a target; empty for none.
func required(target string) string {
	event, _ := states.ParseVerb(target) // the zero event requires nothing
	return event.Requires()
}

// argument returns the argument of a target that has its steps, or the password of a rescue; empty for none.
func argument(target string) string { return cmp.Or(required(target), targets[target].steps) }

// takesRunbook reports whether a runbook may have the steps of a target.
func takesRunbook(target string) bool { return strings.HasSuffix(required(target), "_steps") }

// provisionQuery is a decoded request for a provision state.
type provisionQuery struct {
	target         string
	configDrive    any
	steps          map[string][]any // as decoded JSON, by argument: "clean_steps", "deploy_steps" and "service_steps"
	rescuePassword string
	hasPassword    bool
	disableRamdisk *bool
	runbook        string
}

// provisionDecodes reads the arguments.
func provisionDecodes(q *request) error {
	a := q.BodyArgs(rest.MaxProvisionBody, provisionArgs(q.Service)...)
	p := &q.provision
	*p = provisionQuery{
		target: a.Need("target").Word("target"), configDrive: a.Values["configdrive"],
		steps: map[string][]any{}, hasPassword: a.Has("rescue_password"),
	}
	// The checks have the order of the parameters of Ironic's NodeStatesController.provision.
	switch v := p.configDrive.(type) {
	case nil, map[string]any, string:
	default:
		a.Fail("Expected types <class 'NoneType'>, <class 'dict'>, <class 'str'> for configdrive%s", unlessText(v))
	}
	p.steps["clean_steps"], p.steps["deploy_steps"] = a.Items("clean_steps"), a.Items("deploy_steps")
	switch v := a.Values["rescue_password"].(type) {
	case nil:
	case string:
		p.rescuePassword = v
	case json.Number: // may be a password without quotes
		a.Fail("Expected string for rescue_password")
	default:
		a.Fail("Expected string for rescue_password%s", unlessText(v))
	}
	p.disableRamdisk = a.Boolean("disable_ramdisk")
	p.steps["service_steps"] = a.Items("service_steps")
	switch v := a.Values["runbook"].(type) {
	case nil:
	case string:
		p.runbook = v
	default:
		a.Fail("Expected types <class 'NoneType'>, <class 'str'> for runbook: %s", fault.Repr(v))
	}
	return a.Err
}

// unlessText returns the end of a fault with a wrong value, or nothing for a value with a text, which
// may be a secret.
func unlessText(v any) string {
	if schema.HasText(v) {
		return ""
	}
	return ": " + fault.Repr(v)
}

// provisionCompletes completes the request for the node. It refuses arguments that the target does not allow.
func provisionCompletes(q *request) (err error) {
	q.completed, err = q.provision.complete(q.Request, q.node)
	return err
}

// completion is a provision request for a node, with the results of its checks.
type completion struct {
	*rest.Request
	provisionQuery
	node    *node
	refused error                      // the target's refusal in the node's state and the version, nil for none
	result  conductor.ProvisionRequest // set by argumentsDecode, before without arguments
}

type completionChecks = rest.Checks[*completion]

// completions are the checks of a target with its arguments.
//
// Source: provision in ironic/api/controllers/v1/node.py.
var completions = completionChecks{
	targetMayBeAllowed, configDriveValid, runbookUsed, ramdiskMayBeDisabled, argumentsOfTarget, targetAllowed, argumentsGiven,
	argumentsDecode,
}

// errTargetRefused ends the checks of a request whose target the conductor refuses.
var errTargetRefused = errors.New("the conductor refuses the target")

// complete returns the conductor's form of a query for a node. It adds the steps of a runbook, and refuses arguments
// that the target does not allow. It leaves the refusal of the target itself to the conductor.
func (p provisionQuery) complete(r *rest.Request, n *node) (conductor.ProvisionRequest, error) {
	q := &completion{Request: r, provisionQuery: p, node: n,
		result: conductor.ProvisionRequest{Target: p.target, Version: r.Version, RescuePassword: p.rescuePassword}}
	_, q.refused = r.Conductor.Rules().Request(n.Fields(), p.target, r.Version)
	err := completions.Fault(q)
	if errors.Is(err, errTargetRefused) {
		err = nil
	}
	return q.result, err
}

// targetMayBeAllowed refuses a target unless only the version is too old for it, and in this state alone: then wrong
// arguments are refused before.
func targetMayBeAllowed(q *completion) error {
	_, anywhere := q.Conductor.Rules().Request(admission.NodeFields{}, q.target, q.Version)
	if q.refused != nil && (!errors.Is(q.refused, states.ErrNotAcceptable) || errors.Is(anywhere, states.ErrNotAcceptable)) {
		return errTargetRefused
	}
	return nil
}

// targetAllowed refuses a target that the conductor refuses.
func targetAllowed(q *completion) error {
	if q.refused != nil {
		return errTargetRefused
	}
	return nil
}

// runbookUsed adds the steps of a runbook to a request for cleaning or servicing.
//
// Source: _handle_runbook in ironic/api/controllers/v1/node.py.
func runbookUsed(q *completion) error {
	switch {
	case q.runbook == "":
		return nil
	case q.Version < since.Runbooks:
		return fault.NotAcceptable
	}
	book, steps, err := objects.ApprovedRunbook(q.Request, q.node, q.runbook)
	if err != nil {
		return err
	}
	q.disableRamdisk = &book.DisableRamdisk // in place of the request's; ramdiskMayBeDisabled refuses it for other targets
	name := required(q.target)
	switch {
	case !takesRunbook(q.target):
		return nil
	case len(q.steps[name]) > 0:
		return fault.Invalid("Please provide either \"%s\" or a runbook, but not both.", name)
	}
	q.steps = maps.Clone(q.steps) // the query is completed again
	q.steps[name] = steps
	return nil
}

// ramdiskMayBeDisabled refuses disable_ramdisk for targets other than cleaning and servicing.
func ramdiskMayBeDisabled(q *completion) error {
	if q.disableRamdisk == nil {
		return nil
	}
	first := targets[q.target].ramdisk
	services := q.Highest >= since.ServiceRamdisk
	minimum := first
	if !services { // the version is checked for every target
		minimum = since.CleanRamdisk
	}
	switch {
	case q.Version < minimum:
		return &fault.Fault{Status: 406, Text: "disable_ramdisk is not acceptable in this API version"}
	case first != 0 && first <= q.Highest:
		return nil
	case services:
		return fault.Invalid("disable_ramdisk is supported only with manual cleaning or servicing")
	default:
		return fault.Invalid("disable_ramdisk is supported only with manual cleaning")
	}
}

// argumentsOfTarget refuses a value that the target does not take. A version that is too old for the target in the
// node's state is refused before misplaced service steps, and after all other values.
func argumentsOfTarget(q *completion) error {
	for _, arg := range []struct {
		name    string
		given   bool
		since   states.APIVersion
		runbook bool // a runbook may have it
	}{
		{"clean_steps", len(q.steps["clean_steps"]) > 0, since.First, true},
		{"deploy_steps", len(q.steps["deploy_steps"]) > 0, since.DeploySteps, false},
		{"rescue_password", q.hasPassword, since.First, false},
		{"service_steps", len(q.steps["service_steps"]) > 0 && q.refused == nil, since.First, true},
	} {
		switch {
		case !arg.given:
		case q.Version < arg.since:
			return fault.TooOld(arg.since)
		case argument(q.target) == arg.name:
		case q.runbook != "" && arg.runbook:
			return fault.Invalid("\"runbooks\" is only valid when setting target provision state to any of %s",
				pyrepr.List(targetsWith(takesRunbook)))
		default:
			return fault.Invalid("\"%s\" is only valid when setting target provision state to %s", arg.name,
				strings.Join(targetsWith(func(target string) bool { return argument(target) == arg.name }), " or "))
		}
	}
	return nil
}

// argumentsGiven refuses a query that lacks a value that the target requires.
func argumentsGiven(q *completion) error {
	switch name := required(q.target); {
	case name == "rescue_password" && strings.TrimSpace(q.rescuePassword) == "":
		return fault.Invalid("A non-empty \"rescue_password\" is required when setting target provision state to rescue")
	case takesRunbook(q.target) && len(q.steps[name]) == 0:
		return fault.Invalid("\"%s\" is required when setting target provision state to %s", name, q.target)
	default:
		return nil
	}
}

// argumentsDecode decodes the arguments of the target. It refuses wrong steps.
func argumentsDecode(q *completion) error {
	if pyrepr.Truthy(q.configDrive) {
		q.result.ConfigDrive = q.configDrive
	}
	q.result.DisableRamdisk = q.disableRamdisk
	name := argument(q.target)
	steps, err := decodeSteps(q.Request, name, q.steps[name])
	switch name {
	case "clean_steps":
		q.result.CleanSteps = steps
	case "deploy_steps":
		q.result.DeploySteps = steps
	case "service_steps":
		q.result.ServiceSteps = steps
	}
	return cmp.Or(err, q.result.CheckSteps(q.Conductor.Rules()))
}

// requestedSteps is the schema of the steps of a cleaning or a service.
//
// Source: _CLEAN_STEPS_SCHEMA in ironic/api/controllers/v1/node.py.
func requestedSteps(s *rest.Service) *schema.Schema {
	step := &schema.Schema{
		Types: []string{"object"}, Required: []string{"interface", "step"}, Closed: true,
		Properties: []schema.Property{
			{Name: "interface", Schema: &schema.Schema{Enum: objects.StepInterfaces(s), Description: "driver interface"}},
			{Name: "step", Schema: &schema.Schema{Types: schema.TextType, MinLength: 1, Description: "name of clean step"}},
			{Name: "args", Schema: &schema.Schema{Types: []string{"object"}, Properties: []schema.Property{}, Secret: true,
				Description: "additional args"}},
		},
	}
	if s.Series >= states.Bobcat {
		step.Properties = append(step.Properties,
			schema.Property{Name: "order", Schema: objects.StepNumber()},
			schema.Property{Name: "execute_on_child_nodes", Schema: &schema.Schema{
				Types: []string{"boolean"}, Description: "Boolean if the step should be executed on child nodes.",
			}},
			schema.Property{Name: "limit_child_node_execution", Schema: &schema.Schema{
				Types: []string{"array"}, Description: "List of nodes upon which to execute child node steps on.",
			}})
	}
	return &schema.Schema{Types: []string{"array"}, Items: step, Recent: s.Series >= states.Gazpacho}
}

// decodeSteps returns the steps of an argument, nil for none. It refuses steps that violate their schema.
func decodeSteps(r *rest.Request, name string, items []any) (steps []conductor.StepRequest, err error) {
	if len(items) == 0 {
		return nil, nil
	}
	valid := requestedSteps(r.Service)
	if name == "deploy_steps" {
		valid = objects.StepsSchema("priority", true)(r)
	}
	if text := valid.Explain(items); text != "" {
		return nil, fault.Invalid("Invalid %s: %s", name, text)
	}
	for _, item := range items {
		object := item.(map[string]any)
		args, _ := object["args"].(map[string]any)
		step := conductor.StepRequest{Interface: object["interface"].(string), Step: object["step"].(string), Args: args}
		if priority, ok := object["priority"]; ok {
			number, ok := objects.WholeNumber(priority)
			if !ok {
				return nil, fault.Invalid("Invalid %s: %s is out of range", name, fault.Repr(priority))
			}
			step.Priority = &number
		}
		if order, ok := objects.WholeNumber(object["order"]); ok {
			step.Order = &order
		}
		if step.OnChildren, _ = object["execute_on_child_nodes"].(bool); step.OnChildren {
			if step.Children, err = childNodes(r, object); err != nil {
				return nil, err
			}
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// childNodes returns the child nodes to which a step is limited.
//
// Source: _check_steps in ironic/api/controllers/v1/node.py, which fails with a Python exception for an identifier that
// is no UUID.
func childNodes(r *rest.Request, step map[string]any) (uuids []string, err error) {
	limit, _ := step["limit_child_node_execution"].([]any)
	for _, entry := range limit {
		id, _ := entry.(string)
		if !rest.IsUUID(id) {
			return nil, fault.Invalid("Invalid entry detected for execute_on_child_node parameter in step %s.", fault.Show(step["step"]))
		}
		n, err := r.Conductor.Node(r.Context(), id)
		if err != nil {
			return nil, err
		}
		uuids = append(uuids, n.UUID)
	}
	return uuids, nil
}
