// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// provision answers PUT /v1/nodes/NODE/states/provision.
//
// Source: provision in ironic/api/controllers/v1/node.py, including the order of the checks.
func provision(r *rest.Request) (rest.Answer, error) {
	names := []string{"target", "configdrive", "clean_steps", "deploy_steps", "rescue_password", "disable_ramdisk"}
	if r.Series >= states.Bobcat {
		names = append(names, "service_steps")
	}
	if r.Highest >= since.Runbooks {
		names = append(names, "runbook")
	}
	a := r.BodyArgs(rest.MaxProvisionBody, names...)
	q, err := decodeProvision(a)
	if err != nil {
		return rest.Answer{}, err
	}
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	// The conductor calls this again under the node's lock, since the node may have changed before.
	complete := func(n *node, p *conductor.ProvisionRequest) (err error) {
		*p, err = q.complete(r, n)
		return err
	}
	var request conductor.ProvisionRequest
	if err = complete(n, &request); err == nil {
		request.Complete = complete
		err = r.Conductor.Provision(r.Context(), n.UUID, request)
	}
	var refused *states.RequestError
	switch {
	case err == nil:
		return accepted(r), nil
	case !errors.As(err, &refused):
		return rest.Answer{}, err
	case errors.Is(err, states.ErrNotAcceptable):
		return rest.Answer{}, fault.NotAcceptable
	case errors.Is(err, states.ErrNotUnderstood):
		return rest.Answer{}, fault.Invalid("The requested action %q could not be understood.", fault.Show(q.target))
	default:
		return rest.Answer{}, fault.State(fault.Show(q.target), n.UUID, refused.From.String())
	}
}

// provisionQuery is a decoded request for a provision state.
type provisionQuery struct {
	target         string
	configDrive    any
	steps          map[string][]any // as decoded JSON, by kind: "clean", "deploy" and "service"
	rescuePassword string
	hasPassword    bool
	disableRamdisk *bool
	runbook        string
}

// decodeProvision returns the query in the arguments of a request. It checks the arguments one by one.
func decodeProvision(a *rest.Args) (provisionQuery, error) {
	q := provisionQuery{
		target: a.Need("target").Text("target"), configDrive: a.Values["configdrive"],
		steps: map[string][]any{}, hasPassword: a.Has("rescue_password"),
	}
	// The checks have the order of the parameters of Ironic's NodeStatesController.provision.
	switch v := q.configDrive.(type) {
	case nil, map[string]any, string:
	default:
		a.Fail("Expected types <class 'NoneType'>, <class 'dict'>, <class 'str'> for configdrive%s", unlessText(v))
	}
	q.steps["clean"], q.steps["deploy"] = a.Items("clean_steps"), a.Items("deploy_steps")
	switch v := a.Values["rescue_password"].(type) {
	case nil:
	case string:
		q.rescuePassword = v
	case json.Number: // may be a password without quotes
		a.Fail("Expected string for rescue_password")
	default:
		a.Fail("Expected string for rescue_password%s", unlessText(v))
	}
	q.disableRamdisk = a.Boolean("disable_ramdisk")
	q.steps["service"] = a.Items("service_steps")
	switch v := a.Values["runbook"].(type) {
	case nil:
	case string:
		q.runbook = v
	default:
		a.Fail("Expected types <class 'NoneType'>, <class 'str'> for runbook: %s", fault.Repr(v))
	}
	return q, a.Err
}

// unlessText returns the end of a fault with a wrong value, or nothing for a value with a text, which
// may be a secret.
func unlessText(v any) string {
	if schema.HasText(v) {
		return ""
	}
	return ": " + fault.Repr(v)
}

// complete returns the conductor's form of a query for a node. It adds the steps of a runbook, and refuses arguments
// that the target does not allow. It leaves the refusal of the target itself to the conductor.
//
// Source: provision in ironic/api/controllers/v1/node.py, also for the order of the checks.
func (q provisionQuery) complete(r *rest.Request, n *node) (p conductor.ProvisionRequest, err error) {
	verb := q.target
	p = conductor.ProvisionRequest{Target: verb, Version: r.Version, RescuePassword: q.rescuePassword}
	_, refused := r.Conductor.Rules().Request(n.Fields(), verb, r.Version)
	late := verb == "service" || verb == "unhold" // whose versions are checked after the arguments
	if refused != nil && !(late && errors.Is(refused, states.ErrNotAcceptable)) {
		return p, nil
	}
	if q.runbook != "" {
		if err := q.useRunbook(r, n); err != nil {
			return p, err
		}
	}
	if err := cmp.Or(checkConfigDrive(r, q), checkRamdisk(r, q), q.misplaced(r.Version)); err != nil || refused != nil {
		return p, err
	}
	if err := q.missing(); err != nil {
		return p, err
	}
	if pyrepr.Truthy(q.configDrive) {
		p.ConfigDrive = q.configDrive
	}
	p.DisableRamdisk = q.disableRamdisk
	var clean, deploy, service error // at most one, since no target has steps of two kinds
	p.CleanSteps, clean = decodeSteps(r, "clean", q.steps["clean"])
	p.DeploySteps, deploy = decodeSteps(r, "deploy", q.steps["deploy"])
	p.ServiceSteps, service = decodeSteps(r, "service", q.steps["service"])
	return p, cmp.Or(clean, deploy, service, p.CheckSteps(r.Conductor.Rules()))
}

// misplaced returns an error for a value that the target does not have.
func (q provisionQuery) misplaced(version states.APIVersion) error {
	verb := q.target
	switch {
	case len(q.steps["clean"]) > 0 && verb != "clean":
		return fault.Invalid("\"clean_steps\" is only valid when setting target provision state to clean")
	case len(q.steps["deploy"]) > 0 && version < since.DeploySteps:
		return fault.TooOld(since.DeploySteps)
	case len(q.steps["deploy"]) > 0 && verb != "active" && verb != "rebuild":
		return fault.Invalid("\"deploy_steps\" is only valid when setting target provision state to active or rebuild")
	case q.hasPassword && verb != "rescue":
		return fault.Invalid("\"rescue_password\" is only valid when setting target provision state to rescue")
	case len(q.steps["service"]) > 0 && verb != "service":
		return fault.Invalid("\"service_steps\" is only valid when setting target provision state to service")
	default:
		return nil
	}
}

// missing returns an error if the query lacks a value that the target requires.
func (q provisionQuery) missing() error {
	switch verb := q.target; {
	case verb == "rescue" && strings.TrimSpace(q.rescuePassword) == "":
		return fault.Invalid("A non-empty \"rescue_password\" is required when setting target provision state to rescue")
	case (verb == "clean" || verb == "service") && len(q.steps[verb]) == 0:
		return fault.Invalid("\"%s_steps\" is required when setting target provision state to %s", verb, verb)
	default:
		return nil
	}
}

// useRunbook adds the steps of a runbook to a request for cleaning or servicing.
//
// Source: _handle_runbook in ironic/api/controllers/v1/node.py.
func (q *provisionQuery) useRunbook(r *rest.Request, n *node) error {
	if r.Version < since.Runbooks {
		return fault.NotAcceptable
	}
	book, steps, err := objects.ApprovedRunbook(r, n, q.runbook)
	if err != nil {
		return err
	}
	switch {
	case q.target != "clean" && q.target != "service":
		return fault.Invalid("\"runbooks\" is only valid when setting target provision state to any of ['clean', 'service']")
	case len(q.steps[q.target]) > 0:
		return fault.Invalid("Please provide either \"%s_steps\" or a runbook, but not both.", q.target)
	}
	q.steps = maps.Clone(q.steps) // the query is completed again
	q.steps[q.target] = steps
	q.disableRamdisk = &book.DisableRamdisk // in place of the request's, and checked as such
	return nil
}

// checkRamdisk refuses disable_ramdisk for targets other than cleaning and servicing.
func checkRamdisk(r *rest.Request, q provisionQuery) error {
	if q.disableRamdisk == nil {
		return nil
	}
	minimum := states.APIVersion(0)
	services := r.Highest >= since.ServiceRamdisk
	switch {
	case q.target == "clean" || !services:
		minimum = since.CleanRamdisk
	case q.target == "service":
		minimum = since.ServiceRamdisk
	}
	switch {
	case r.Version < minimum:
		return &fault.Fault{Status: 406, Text: "disable_ramdisk is not acceptable in this API version"}
	case q.target == "clean" || q.target == "service" && services:
		return nil
	case services:
		return fault.Invalid("disable_ramdisk is supported only with manual cleaning or servicing")
	default:
		return fault.Invalid("disable_ramdisk is supported only with manual cleaning")
	}
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

// decodeSteps returns the steps of a kind, nil for none. It refuses steps that violate their schema.
func decodeSteps(r *rest.Request, kind string, items []any) (steps []conductor.StepRequest, err error) {
	if len(items) == 0 {
		return nil, nil
	}
	valid := requestedSteps(r.Service)
	if kind == "deploy" {
		valid = objects.StepsSchema("priority", true)(r)
	}
	if text := valid.Explain(items); text != "" {
		return nil, fault.Invalid("Invalid %s_steps: %s", kind, text)
	}
	for _, item := range items {
		object := item.(map[string]any)
		args, _ := object["args"].(map[string]any)
		step := conductor.StepRequest{Interface: object["interface"].(string), Step: object["step"].(string), Args: args}
		if priority, ok := object["priority"]; ok {
			number, ok := objects.WholeNumber(priority)
			if !ok {
				return nil, fault.Invalid("Invalid %s_steps: %s is out of range", kind, fault.Repr(priority))
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
