package conductor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// ProvisionRequest is a client's request for a provision state, as in the body of PUT
// /v1/nodes/NODE/states/provision.
type ProvisionRequest struct {
	Target  string            // the word that was asked for, such as "manage"
	Version states.APIVersion // that it was asked at; zero stands for 1.1

	ConfigDrive    any           // of a deployment or rebuild: text, or an object of JSON
	DeploySteps    []StepRequest // of a deployment or rebuild, beside the automatic ones
	CleanSteps     []StepRequest // of a manual cleaning, which needs some
	ServiceSteps   []StepRequest // of a service, which needs some
	DisableRamdisk bool          // of a manual cleaning or service
	RescuePassword string        // of a rescue, which needs one

	// Complete, if not nil, is called when the node's state permits the request, to
	// check the fields above for that state and to fill them in; with the node that the
	// request is for, which it must not change. It may be called several times. Its
	// error refuses the request, and is returned as it is.
	Complete func(*Node, *ProvisionRequest) error
}

// StepRequest is a step that a client names.
type StepRequest struct {
	Interface string         `json:"interface"`
	Step      string         `json:"step"`
	Args      map[string]any `json:"args,omitzero"`
	Priority  *int           `json:"priority,omitzero"` // of a deploy step, which needs one
}

// Provision takes a client's request for a provision state. It returns once the node
// has moved and the work that follows is sure to be done; the answer is then 202. A
// request that is refused changes nothing: the error is a [*states.RequestError], or
// matches [NotFound], [Locked], [InMaintenance], [IsProtected], [IsRetired],
// [Unsuitable], [NoWorker] or [LimitReached], or is the store's.
//
// Where the step at work cannot be aborted, an abort is noted, and the work ends after
// that step.
//
// Source: provision in ironic/api/controllers/v1/node.py and the methods that it calls
// of ironic/conductor/manager.py.
func (c *Conductor) Provision(ctx context.Context, ident string, r ProvisionRequest) error {
	return c.patiently(ctx, func() error {
		_, _, err := c.startWork(ctx, ident, r.Target, func(n *Node) error {
			n.Origin = c.origin(ctx)
			return c.requested(ctx, n, r)
		})
		return err
	})
}

// requested changes a node by a client's request, or refuses it.
func (c *Conductor) requested(ctx context.Context, n *Node, r ProvisionRequest) error {
	event, err := c.config.Table.Request(n.ProvisionState, r.Target, r.Version)
	if err != nil {
		if n.Reservation != "" && HTTPStatus(err) != 406 {
			return unlocked(n)
		}
		return err
	}
	if err := unlocked(n); err != nil {
		return err
	}
	if r.Complete != nil {
		if err := r.Complete(n, &r); err != nil {
			return err
		}
	}
	if err := c.permitted(ctx, n, event, r.DeploySteps); err != nil {
		return err
	}
	if event == states.EventAbort && noteAbort(n) {
		return nil
	}
	moved, err := n.machine().Request(c.config.Table, r.Target, r.Version)
	if err != nil {
		return err
	}
	if event == states.EventAbort {
		moved = c.aborted(n, moved)
	}
	from := n.ProvisionState
	n.WorkStep, n.WorkInfo = nil, nil // of work that is given up, such as a rescue that waits
	n.move(moved, now())
	return n.remember(r, event, from)
}

// operations are the words for what is refused in maintenance, and the limits and
// interfaces that are looked at before work starts.
var operations = map[states.Event]struct {
	word       string // empty: allowed in maintenance
	interfaces []string
}{
	states.EventDeploy:   {"provisioning", []string{"power", "deploy"}},
	states.EventRebuild:  {"provisioning", []string{"power", "deploy"}},
	states.EventDelete:   {"", []string{"power"}},
	states.EventClean:    {"cleaning", []string{"power", "network"}},
	states.EventService:  {"servicing", []string{"power", "network"}},
	states.EventProvide:  {"providing", nil},
	states.EventInspect:  {"", []string{"power", "inspect"}},
	states.EventRescue:   {"rescuing", []string{"power", "rescue", "network"}},
	states.EventUnrescue: {"unrescuing", []string{"power"}},
}

// permitted applies the conductor's rules to a request that the table takes.
func (c *Conductor) permitted(ctx context.Context, n *Node, event states.Event, steps []StepRequest) error {
	operation := operations[event]
	switch {
	case operation.word != "" && n.Maintenance:
		return refuse(InMaintenance, "The %s operation can't be performed on node %s because it's in maintenance mode.", operation.word, n.UUID)
	case (event == states.EventRebuild || event == states.EventDelete) && n.Protected:
		return refuse(IsProtected, "Node %s is protected and cannot be undeployed, rebuilt or deleted", n.UUID)
	case event == states.EventProvide && n.Retired:
		return refuse(IsRetired, "The providing operation can't be performed on node %s because it is retired.", n.UUID)
	}
	if err := c.withinLimits(ctx, event); err != nil {
		return err
	}
	if len(operation.interfaces) == 0 {
		return nil
	}
	hardware, err := c.hardware(n)
	if err != nil {
		return err
	}
	problems := hardware.Validate(n)
	for _, kind := range operation.interfaces {
		if err := problems[kind]; err != nil {
			return refuse(Unsuitable, "Failed to validate the %s interface of node %s: %v", kind, n.UUID, err)
		}
	}
	if event == states.EventDeploy || event == states.EventRebuild {
		if _, err := c.deploymentSteps(ctx, n, steps, hardware.Steps(n, states.Deploying)); errors.Is(err, Invalid) {
			return refuse(Unsuitable, "Failed to validate deploy or power info for node %s: %v", n.UUID, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

var (
	deployingStates = states.SetOf(states.Deploying, states.DeployWait)
	cleaningStates  = states.SetOf(states.Deleting, states.Cleaning, states.CleanWait)
)

// withinLimits refuses a deployment or a cleaning too many.
func (c *Conductor) withinLimits(ctx context.Context, event states.Event) error {
	busy, limit, word := states.Set{}, 0, ""
	switch event {
	case states.EventDeploy, states.EventRebuild:
		busy, limit, word = deployingStates, c.config.MaxDeploying, "provisioning"
	case states.EventDelete:
		busy, limit, word = cleaningStates, c.config.MaxCleaning, "unprovisioning"
	case states.EventClean:
		busy, limit, word = cleaningStates, c.config.MaxCleaning, "cleaning"
	default:
		return nil
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	count := 0
	for _, n := range nodes {
		if busy.Has(n.ProvisionState) {
			count++
		}
	}
	if count >= limit {
		return refuse(LimitReached, "Unable to process request at this time, as the concurrent limit for %s has been reached. Please try again later.", word)
	}
	return nil
}

// hash hashes a rescue password; tests replace it, since it takes long.
var hash = func(password []byte) ([]byte, error) {
	return bcrypt.GenerateFromPassword(password, bcrypt.DefaultCost)
}

// remember stores what came with a request, for the work that it starts. A rescue
// password is also stored as the hash that an agent writes into its shadow file: by
// bcrypt, where Ironic takes SHA-512.
func (n *Node) remember(r ProvisionRequest, event states.Event, from states.State) error {
	switch event {
	case states.EventDeploy, states.EventRebuild:
		if r.ConfigDrive != nil {
			set(&n.InstanceInfo, "configdrive", r.ConfigDrive)
		}
		n.noteImageType()
		n.forgetSteps(deploySteps)
		if len(r.DeploySteps) > 0 {
			set(&n.DriverInternalInfo, deploySteps.extra, jsonValue(r.DeploySteps))
		}
	case states.EventClean:
		n.forgetSteps(cleanSteps)
		set(&n.DriverInternalInfo, cleanSteps.list, jsonValue(r.CleanSteps))
		set(&n.DriverInternalInfo, cleanSteps.extra, r.DisableRamdisk)
	case states.EventService:
		n.forgetSteps(serviceSteps)
		set(&n.DriverInternalInfo, serviceSteps.list, jsonValue(r.ServiceSteps))
		set(&n.DriverInternalInfo, serviceSteps.extra, r.DisableRamdisk)
	case states.EventRescue:
		hashed, err := hash([]byte(r.RescuePassword))
		if err != nil {
			return refuse(Invalid, "The rescue password cannot be used: it may have 72 bytes at most.")
		}
		set(&n.InstanceInfo, "rescue_password", r.RescuePassword)
		set(&n.InstanceInfo, "hashed_rescue_password", string(hashed))
	case states.EventDelete:
		if rescueStates.Has(from) {
			n.forgetRescue()
		}
	}
	if event == states.EventAbort && rescueStates.Has(from) {
		n.forgetRescue()
	}
	return nil
}

// noteImageType notes whether the image has a whole disk or a partition: an image with
// a kernel and a ramdisk of its own has a partition. For an image in Glance the type is
// left open, since Glance is not asked.
//
// Source: update_image_type in ironic/conductor/utils.py.
func (n *Node) noteImageType() {
	source, _ := n.InstanceInfo["image_source"].(string)
	if !strings.Contains(source, "://") || strings.HasPrefix(source, "glance://") || strings.HasSuffix(source, "/") {
		return
	}
	kind, _ := n.InstanceInfo["image_type"].(string)
	if kind == "" {
		kind = "whole-disk"
		if n.InstanceInfo["kernel"] != nil || n.InstanceInfo["ramdisk"] != nil {
			kind = "partition"
		}
	}
	set(&n.InstanceInfo, "image_type", kind)
	set(&n.DriverInternalInfo, "is_whole_disk_image", kind != "partition")
}

// rescueStates are those in which a node has a rescue password.
var rescueStates = states.SetOf(states.RescueWait, states.Rescue, states.RescueFail, states.UnrescueFail)

// forgetRescue removes the rescue password, which is of no use after a rescue.
func (n *Node) forgetRescue() {
	delete(n.InstanceInfo, "rescue_password")
	delete(n.InstanceInfo, "hashed_rescue_password")
}

// noteAbort notes an abort in the step at work, where that cannot be aborted, and
// reports whether it has.
func noteAbort(n *Node) bool {
	if n.ProvisionState != states.CleanWait && n.ProvisionState != states.ServiceWait {
		return false
	}
	field := stepsOf[n.ProvisionState].field(n)
	if len(*field) == 0 || (*field)["abortable"] == true {
		return false
	}
	set(field, "abort_after", true)
	return true
}

// afterStep is the end of the last error of work that was aborted at a step.
func afterStep(name string) string {
	return fmt.Sprintf(" during or after the completion of step %q", name)
}

// aborted returns the node's place after an abort, with a last error that names the
// step, and forgets the work that is over.
func (c *Conductor) aborted(n *Node, moved machine.Node) machine.Node {
	if steps, ok := stepsOf[n.ProvisionState]; ok {
		if name := stepName(*steps.field(n)); name != "" && moved.LastError != "" {
			moved.LastError += afterStep(name)
		}
		n.forgetSteps(steps)
	}
	n.forgetAgent()
	return moved
}
