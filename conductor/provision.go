// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/crypto/bcrypt"

	"github.com/ironstate/ironstate/states"
)

// ProvisionRequest is a client's request for a provision state, as in the body of PUT
// /v1/nodes/NODE/states/provision.
type ProvisionRequest struct {
	Target  string            // the requested word, such as "manage"
	Version states.APIVersion // the API version of the request; zero means 1.1

	ConfigDrive    any           // for a deployment or rebuild: a text or a JSON object
	DeploySteps    []StepRequest // for a deployment or rebuild, in addition to the automatic steps
	CleanSteps     []StepRequest // for a manual cleaning; required
	ServiceSteps   []StepRequest // for a service; required
	DisableRamdisk *bool         // for a manual cleaning or service; nil stands for false
	RescuePassword string        // for a rescue; required

	// Complete, if not nil, is called with the node when the node's state permits the
	// request. It checks the fields above for that state and may set them; it must not
	// change the node. It may be called several times. An error of Complete refuses the
	// request and is returned unchanged.
	Complete func(*Node, *ProvisionRequest) error `json:"-"`

	hashed []byte // the hash of RescuePassword
}

// StepRequest is a step in a client's request.
type StepRequest struct {
	Interface string         `json:"interface"`
	Step      string         `json:"step"`
	Args      map[string]any `json:"args,omitzero"`
	Priority  *int           `json:"priority,omitzero"` // required for a deploy step
	// Order is what a client or a runbook gives to a step of a cleaning or a service, nil for nothing. Records and texts
	// show it; steps run in the order of their list.
	Order *int `json:"order,omitzero"`
	// OnChildren has a step of a cleaning or a service run on the child nodes of the node, and not on the node itself.
	// Children are the UUIDs of these nodes; none stands for all children.
	OnChildren bool     `json:"execute_on_child_nodes,omitzero"`
	Children   []string `json:"limit_child_node_execution,omitzero"`
}

// Provision accepts or refuses a client's request for a provision state. It returns nil after the
// transition is stored. A conductor then does the work of the new state; if that conductor dies,
// another one reports the work as failed. A refused request changes nothing but UpdatedAt: the error is a
// [*states.RequestError], or matches [NotFound], [Locked], [InMaintenance], [IsProtected],
// [IsRetired], [Unsuitable], [NoWorker] or [LimitReached], or is the store's.
//
// If the waiting step cannot be aborted, Provision records the abort, and the work ends after that
// step.
//
// Source: provision in ironic/api/controllers/v1/node.py and the methods of
// ironic/conductor/manager.py that it calls.
func (c *Conductor) Provision(ctx context.Context, ident string, r ProvisionRequest) error {
	n, owner, err := c.calls.elsewhere(ctx, ident)
	switch {
	case err != nil && !errors.Is(err, errNoConductor):
		return err
	case err == nil && owner.ID == "":
		_, err = r.here(ctx, c, ident)
		return err
	}
	r, refused := c.engine.completed(ctx, n.UUID, r)
	err = cmp.Or(refused, err)
	if err == nil {
		_, err = forward(ctx, c, owner, n, r)
	}
	return err
}

func (ProvisionRequest) method() string { return "provision" }

// here is Provision for the nodes of this conductor.
func (r ProvisionRequest) here(ctx context.Context, c *Conductor, ident string) (none, error) {
	before, n, err := c.engine.startWork(ctx, ident, func(ctx context.Context, n *Node) (func(*Node) error, error) {
		return c.engine.accept(ctx, n, r)
	})
	if err == nil {
		c.engine.history.abort(ctx, before, n)
	}
	return none{}, err
}

// completed checks a request that the owner of the node carries out, and completes it by Complete. What
// the node's state and Complete refuse is refused here, since the owner does not have Complete.
func (e *engine) completed(ctx context.Context, id string, r ProvisionRequest) (complete ProvisionRequest, err error) {
	err = e.fleet.retryLocked(ctx, func() error {
		n, err := e.fleet.node(ctx, id)
		if err != nil {
			return err
		}
		if _, err := e.rules.admission().Request(n.Fields(), r.Target, r.Version); err != nil {
			return e.rules.refused(n, err)
		}
		complete = r
		if r.Complete != nil {
			return r.Complete(n, &complete)
		}
		return nil
	})
	return complete, err
}

// accept returns the change of a node by a client's request, or refuses the request.
func (e *engine) accept(ctx context.Context, n *Node, r ProvisionRequest) (change func(*Node) error, err error) {
	rules := e.rules.admission()
	event, err := rules.Request(n.Fields(), r.Target, r.Version)
	if err != nil {
		return nil, e.rules.refused(n, err)
	}
	if r.Complete != nil {
		if err := r.Complete(n, &r); err != nil {
			return nil, err
		}
	}
	if err := r.CheckSteps(rules); err != nil {
		return nil, err
	}
	kind := begunBy(e.config.Table, event)
	if err := e.withinLimits(ctx, n, kind); err != nil {
		return nil, err
	}
	if err := rules.Start(n.Fields(), event); err != nil {
		return nil, Held(e.rules.refused(n, err))
	}
	if kind.request.deploys {
		e.rules.noteDeployment(n, event, &r) // the checks below read it
	}
	if err := e.permitted(ctx, n, event, r.DeploySteps); err != nil {
		return nil, e.rules.keepingInstance(Held(err), event)
	}
	if event == states.EventAbort {
		if err := e.types.abortable(ctx, n); err != nil {
			return nil, Held(err)
		}
	}
	if event == states.EventProvide {
		if _, err := e.cleaningRunbook(ctx, n); err != nil { // also if no cleaning follows, as in Ironic
			return nil, Held(err)
		}
	}
	var ramdisk ramdiskUse
	if event == states.EventManage || event == states.EventAbort && !e.rules.abortsLater(n) {
		ramdisk = e.bootsRamdisk(ctx, n)
	}
	if kind.request.prepare != nil {
		if err := kind.request.prepare(&r); err != nil {
			return nil, err
		}
	}
	origin := e.config.origin(ctx)
	return func(n *Node) error {
		n.Origin = origin
		return e.rules.request(n, event, &r, ramdisk, now())
	}, nil
}

// permitted refuses a request if the node's hardware interfaces, traits or steps do not permit
// its work.
func (e *engine) permitted(ctx context.Context, n *Node, event states.Event, steps []StepRequest) error {
	if !e.rules.admission().Validates(event) {
		return nil
	}
	hardware, err := e.types.of(n)
	if err != nil {
		return err
	}
	fields := n.Fields()
	if fields.Problems, err = e.validateWithPorts(ctx, hardware, n); err != nil {
		return err
	}
	if err := e.rules.admission().Validate(fields, event); err != nil {
		return e.rules.refused(n, err)
	}
	if kind := begunBy(e.config.Table, event); kind.request.deploys {
		available := func() ([]Step, error) { return e.types.stepsFor(ctx, hardware, n, kind.work) }
		if _, err := e.deploymentSteps(ctx, n, steps, available, true); errors.Is(err, Invalid) {
			return refuse(Unsuitable, "Failed to validate deploy or power info for node %s: %w", n.UUID, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// begunBy returns the kind of the work that a client's request begins. It is the kind of [states.NoWork] for a request
// that begins none, and for "provide", which begins an automated cleaning that is not requested as such.
func begunBy(table *states.Table, event states.Event) *workKind {
	for row := range table.Transitions() {
		if row.Event == event && event != states.EventProvide && runsIn(row.To) && table.IsRequest(row) {
			return &works[row.To.Work()]
		}
	}
	return &works[states.NoWork]
}

// withinLimits refuses work that a client requests if the limit for concurrent work of this kind is reached.
func (e *engine) withinLimits(ctx context.Context, n *Node, kind *workKind) error {
	if kind.request.limit == nil {
		return nil
	}
	nodes, err := e.fleet.readNodes(ctx)
	count := 0
	switch {
	case err != nil:
	case e.config.LimitsByGroup && e.config.Table.Series() >= states.Gazpacho:
		count = countInGroup(nodes.All(), n.ConductorGroup, kind.request.limit.busy)
	default:
		count, err = nodes.Count(ctx, kind.request.limit.busy)
	}
	if err != nil {
		return err
	}
	if count >= kind.request.limit.of(e.config) {
		return refuse(LimitReached, "Unable to process request at this time, as the concurrent limit for %s has been reached. "+
			"Please try again later.", kind.texts.operation)
	}
	return nil
}

// countInGroup returns how many nodes of a conductor group are in one of the states.
//
// Source: _concurrent_action_limit in ironic/conductor/manager.py.
func countInGroup(nodes []*Node, group string, busy states.Set) (count int) {
	for _, n := range nodes {
		if busy.Has(n.ProvisionState) && n.ConductorGroup == group {
			count++
		}
	}
	return count
}

// hashPassword hashes a rescue password. Tests replace it, since bcrypt is slow.
var hashPassword = func(password []byte) ([]byte, error) {
	return bcrypt.GenerateFromPassword(password, bcrypt.DefaultCost)
}

// remembers stores the parameters of a request in the record of the node whose work begins.
func (k *workKind) remembers(n *Node, r *ProvisionRequest) error {
	if k.request.remember != nil {
		return k.request.remember(n, r)
	}
	if k.steps.requested == nil {
		return nil
	}
	steps, requested := &Steps{DisableRamdisk: r.DisableRamdisk}, k.steps.requested(r)
	*k.steps.in(n) = steps
	if requested == nil {
		return nil
	}
	copied, err := fromJSON[[]StepRequest](requested)
	if err != nil {
		return refuse(Invalid, "The requested steps cannot be stored: %w", err)
	}
	steps.Requested = copied
	return nil
}

// hashRescuePassword hashes the rescue password of a request, by bcrypt; Ironic uses SHA-512.
func hashRescuePassword(r *ProvisionRequest) (err error) {
	if r.hashed, err = hashPassword([]byte(r.RescuePassword)); err != nil {
		return refuse(Invalid, "The rescue password cannot be used: it may have 72 bytes at most.")
	}
	return nil
}

// rememberPassword stores the rescue password of a request with its hash, which an agent writes into its shadow file.
func rememberPassword(n *Node, r *ProvisionRequest) error {
	setKey(&n.InstanceInfo, "rescue_password", r.RescuePassword)
	setKey(&n.InstanceInfo, "hashed_rescue_password", string(r.hashed))
	return nil
}

// forgetRescue removes the rescue password and its hash.
func (n *Node) forgetRescue() {
	delete(n.InstanceInfo, "rescue_password")
	delete(n.InstanceInfo, "hashed_rescue_password")
}

// abortable refuses the abort of an inspection if the node's hardware type has no step of it that can be aborted.
//
// Source: abort_inspection in ironic/conductor/inspection.py.
func (ts *hardwareTypes) abortable(ctx context.Context, n *Node) error {
	kind := kindOf(n.ProvisionState)
	if !kind.abort.byStep {
		return nil
	}
	hardware, err := ts.of(n)
	if err != nil {
		return err
	}
	available, err := ts.stepsFor(ctx, hardware, n, kind.work)
	if err != nil || slices.ContainsFunc(available, func(s Step) bool { return s.Abortable }) {
		return err
	}
	return unsupported(n, "abort")
}

// afterStep returns the end of the last error of work that was aborted at a step.
func afterStep(name string) string {
	return fmt.Sprintf(" during or after the completion of step %q", name)
}
