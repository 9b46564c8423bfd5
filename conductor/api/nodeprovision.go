package api

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// provision answers PUT /v1/nodes/NODE/states/provision.
//
// Source: provision in ironic/api/controllers/v1/node.py, including the order of the checks.
func provision(r *request) (answer, error) {
	names := []string{"target", "configdrive", "clean_steps", "deploy_steps", "rescue_password", "disable_ramdisk"}
	if r.series >= states.Bobcat {
		names = append(names, "service_steps")
	}
	if r.highest >= runbookResource.since {
		names = append(names, "runbook")
	}
	a := r.bodyArgs(maxProvisionBody, names...)
	q, err := decodeProvision(a)
	if err != nil {
		return answer{}, err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	// Check again: the state may have changed while the request waited for the lock.
	complete := func(n *node, p *conductor.ProvisionRequest) error {
		q := q.clone()
		err := r.checkProvision(n, q)
		*p = q.request(r.version)
		return err
	}
	var request conductor.ProvisionRequest
	if err = complete(n, &request); err == nil {
		request.Complete = complete
		err = r.conductor.Provision(r.Context(), n.UUID, request)
	}
	if err != nil {
		return answer{}, provisionFault(err, show(q.target), n.UUID)
	}
	return r.accepted(), nil
}

// provisionQuery is a decoded request for a provision state.
type provisionQuery struct {
	target         string
	configDrive    any
	steps          map[string][]any // keys: "clean", "deploy" and "service"
	decoded        map[string][]conductor.StepRequest
	rescuePassword string
	hasPassword    bool
	disableRamdisk *bool
	runbook        string
}

// clone returns a copy; the checks modify steps, decoded and other fields.
func (q *provisionQuery) clone() *provisionQuery {
	c := *q
	c.steps, c.decoded = maps.Clone(q.steps), maps.Clone(q.decoded)
	return &c
}

func decodeProvision(a *args) (*provisionQuery, error) {
	q := &provisionQuery{
		target: a.need("target").text("target"), configDrive: a.values["configdrive"],
		steps: map[string][]any{}, decoded: map[string][]conductor.StepRequest{},
		hasPassword: a.has("rescue_password"), disableRamdisk: a.boolean("disable_ramdisk"),
		runbook: a.text("runbook"),
	}
	for _, kind := range []string{"clean", "deploy", "service"} {
		q.steps[kind] = a.items(kind + "_steps")
	}
	switch v := a.values["rescue_password"].(type) {
	case nil:
	case string:
		q.rescuePassword = v
	case json.Number: // may be a password without quotes
		a.fail("Expected string for rescue_password")
	default:
		a.fail("Expected string for rescue_password%s", unlessText(v))
	}
	switch v := q.configDrive.(type) {
	case nil, map[string]any, string:
	default:
		a.fail("Expected types <class 'NoneType'>, <class 'dict'>, <class 'str'> for configdrive%s", unlessText(v))
	}
	return q, a.err
}

// unlessText returns the end of a fault with a wrong value, or nothing for a value with a text, which
// may be a secret.
func unlessText(v any) string {
	if hasText(v) {
		return ""
	}
	return ": " + repr(v)
}

// checkProvision refuses a request with arguments that its target does not allow.
func (r *request) checkProvision(n *node, q *provisionQuery) error {
	verb := q.target
	if _, err := r.conductor.Rules().Request(n.Fields(), q.target, r.version); err != nil {
		return nil // the conductor refuses the request
	}
	if q.runbook != "" {
		if err := r.useRunbook(n, q); err != nil {
			return err
		}
	}
	if err := r.checkConfigDrive(q); err != nil {
		return err
	}
	if err := r.checkRamdisk(q); err != nil {
		return err
	}
	if len(q.steps["deploy"]) > 0 && r.version < since.DeploySteps {
		return tooOld(since.DeploySteps)
	}
	switch {
	case len(q.steps["clean"]) > 0 && verb != "clean":
		return invalid("\"clean_steps\" is only valid when setting target provision state to clean")
	case len(q.steps["deploy"]) > 0 && verb != "active" && verb != "rebuild":
		return invalid("\"deploy_steps\" is only valid when setting target provision state to active or rebuild")
	case q.hasPassword && verb != "rescue":
		return invalid("\"rescue_password\" is only valid when setting target provision state to rescue")
	case len(q.steps["service"]) > 0 && verb != "service":
		return invalid("\"service_steps\" is only valid when setting target provision state to service")
	case verb == "rescue" && strings.TrimSpace(q.rescuePassword) == "":
		return invalid("A non-empty \"rescue_password\" is required when setting target provision state to rescue")
	case (verb == "clean" || verb == "service") && len(q.steps[verb]) == 0:
		return invalid("\"%s_steps\" is required when setting target provision state to %s", verb, verb)
	}
	return r.checkSteps(q)
}

// checkConfigDrive refuses an invalid config drive.
//
// Source: check_allow_configdrive in ironic/api/controllers/v1/utils.py.
func (r *request) checkConfigDrive(q *provisionQuery) error {
	if object, ok := q.configDrive.(map[string]any); q.configDrive == nil || q.configDrive == "" || ok && len(object) == 0 {
		return nil
	}
	targets := []string{"active"}
	if r.version >= since.RebuildConfigDrive {
		targets = append(targets, "rebuild")
	}
	if !slices.Contains(targets, q.target) {
		return invalid("Adding a config drive is only supported when setting provision state to %s", strings.Join(targets, ", "))
	}
	if object, ok := q.configDrive.(map[string]any); ok {
		return r.checkConfigDriveObject(object)
	}
	text := q.configDrive.(string)
	if strings.Contains(text, "://") {
		return nil
	}
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("+/=\n\r\t ", c) >= 0:
		default:
			return invalid("Invalid configdrive format: it is neither a JSON, nor a URL, nor a base64 string")
		}
	}
	return nil
}

func (r *request) checkConfigDriveObject(object map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		has := jsonTypes(object[key])
		switch key {
		case "meta_data", "network_data", "vendor_data":
			if has[0] != "object" {
				return invalid("Invalid configdrive format: %s is not of type 'object'", key)
			}
		case "user_data":
			if !slices.Contains([]string{"object", "array", "string", "null"}, has[0]) {
				return invalid("Invalid configdrive format: user_data is not of type 'object', 'array', 'string', 'null'")
			}
		default:
			return invalid("Invalid configdrive format: Additional properties are not allowed ('%s' was unexpected)", show(key))
		}
	}
	if r.version < since.ConfigDriveObject {
		return invalid("Providing a JSON object for configdrive is only supported starting with API version %v", since.ConfigDriveObject)
	}
	if _, ok := object["vendor_data"]; ok && r.version < since.ConfigDriveVendor {
		return invalid("Providing vendor_data in configdrive is only supported starting with API version %v", since.ConfigDriveVendor)
	}
	return nil
}

// checkRamdisk refuses disable_ramdisk for targets other than cleaning and servicing.
func (r *request) checkRamdisk(q *provisionQuery) error {
	if q.disableRamdisk == nil {
		return nil
	}
	minimum := states.APIVersion(0)
	services := r.highest >= since.ServiceRamdisk
	switch {
	case q.target == "clean" || !services:
		minimum = since.CleanRamdisk
	case q.target == "service":
		minimum = since.ServiceRamdisk
	}
	switch {
	case r.version < minimum:
		return &fault{status: 406, text: "disable_ramdisk is not acceptable in this API version"}
	case q.target == "clean" || q.target == "service" && services:
		return nil
	case services:
		return invalid("disable_ramdisk is supported only with manual cleaning or servicing")
	default:
		return invalid("disable_ramdisk is supported only with manual cleaning")
	}
}

// requestedSteps is the schema of the steps of a cleaning or a service.
//
// Source: _CLEAN_STEPS_SCHEMA in ironic/api/controllers/v1/node.py.
func (s *service) requestedSteps() *schema {
	step := &schema{
		types: []string{"object"}, required: []string{"interface", "step"}, closed: true,
		properties: []property{
			{"interface", &schema{enum: s.stepInterfaces(), description: "driver interface"}},
			{"step", &schema{types: textType, minLength: 1, description: "name of clean step"}},
			{"args", &schema{types: []string{"object"}, properties: []property{}, secret: true, description: "additional args"}},
		},
	}
	if s.series >= states.Bobcat {
		for _, name := range []string{"order", "execute_on_child_nodes", "limit_child_node_execution"} {
			step.properties = append(step.properties, property{name, &schema{}})
		}
	}
	return &schema{types: []string{"array"}, items: step}
}

// checkSteps decodes and checks the steps of the request.
func (r *request) checkSteps(q *provisionQuery) error {
	for _, kind := range slices.Sorted(maps.Keys(q.steps)) {
		if len(q.steps[kind]) == 0 {
			continue
		}
		valid := r.requestedSteps()
		if kind == "deploy" {
			valid = stepsSchema("priority", true)(r.service)
		}
		if text := valid.explain(q.steps[kind]); text != "" {
			return invalid("Invalid %s_steps: %s", kind, text)
		}
		for _, item := range q.steps[kind] {
			object := item.(map[string]any)
			args, _ := object["args"].(map[string]any)
			step := conductor.StepRequest{Interface: object["interface"].(string), Step: object["step"].(string), Args: args}
			if priority, ok := object["priority"]; ok {
				number, ok := wholeNumber(priority)
				if !ok {
					return invalid("Invalid %s_steps: %s is out of range", kind, repr(priority))
				}
				step.Priority = &number
			}
			q.decoded[kind] = append(q.decoded[kind], step)
		}
	}
	return nil
}

func (q *provisionQuery) request(version states.APIVersion) conductor.ProvisionRequest {
	p := conductor.ProvisionRequest{
		Target: q.target, Version: version,
		CleanSteps: q.decoded["clean"], DeploySteps: q.decoded["deploy"], ServiceSteps: q.decoded["service"],
		DisableRamdisk: q.disableRamdisk != nil && *q.disableRamdisk, RescuePassword: q.rescuePassword,
	}
	if q.configDrive != "" {
		p.ConfigDrive = q.configDrive
	}
	return p
}

// provisionFault returns the fault of a request for a provision state.
func provisionFault(err error, target, nodeUUID string) error {
	var refused *states.RequestError
	switch {
	case !errors.As(err, &refused):
		return err
	case errors.Is(err, states.ErrNotAcceptable):
		return errNotAcceptable
	case errors.Is(err, states.ErrNotUnderstood):
		return invalid("The requested action %q could not be understood.", target)
	default:
		return stateFault(target, nodeUUID, refused.From.String())
	}
}
