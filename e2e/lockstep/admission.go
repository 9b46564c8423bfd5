// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// lockAtOnce makes Ironic answer that a node is locked without a retry.
var lockAtOnce = Options{Config: "[conductor]\nnode_locked_retry_attempts = 1\n"}

// compareAdmission returns the comparisons of what decides about a request besides the state
// machine. They need an Ironic with the option lockAtOnce. With all, they ask in every
// situation; otherwise some fields determine others, one word stands for those that no table has,
// and ports are updated in few states.
func compareAdmission(all bool) []compare {
	of := func(ask func(context.Context, *Ironic, bool) (Comparison, error)) compare {
		return func(ctx context.Context, i *Ironic) (Comparison, error) { return ask(ctx, i, all) }
	}
	return []compare{
		of(admitProvision), of(admitWords), admitValidation, admitPower, of(admitDeletion), of(admitUpdate), of(admitPorts), admitVolumes,
	}
}

// A situation is the part of a node's record that decides about a request.
type situation struct {
	at          machine.Node
	power       states.Power
	maintenance bool
	fault       string
	protected   bool
	retired     bool
	reserved    bool
	instance    bool
	interfaces  map[string]string
	traits      []any // of the instance
}

const instanceUUID = "2f3a9e0c-7d3b-4a49-8f5e-3c1b6f0d7a11"

// columns returns the situation as columns of Ironic's database.
func (s *situation) columns() columns {
	set := rest(s.at)
	maps.Copy(set, columns{
		"maintenance": s.maintenance, "fault": nil, "protected": s.protected, "retired": s.retired,
		"reservation": nil, "instance_uuid": nil, "power_state": nil, "resource_class": "gold",
		"protected_reason": nil, "retired_reason": nil,
		"inspect_interface": driverName, "rescue_interface": driverName, "bios_interface": "no-bios",
	})
	if s.power != states.NoPower {
		set["power_state"] = s.power
	}
	if s.fault != "" {
		set["fault"] = s.fault
	}
	if s.reserved {
		set["reservation"] = somebody
	}
	if s.instance {
		set["instance_uuid"] = instanceUUID
	}
	for kind, name := range s.interfaces {
		set[kind+"_interface"] = name
	}
	if s.traits != nil {
		info, _ := json.Marshal(map[string]any{"traits": s.traits})
		set["instance_info"] = string(info)
	}
	return set
}

// node returns the situation as a node of our conductor. No conductor does its work.
func (s *situation) node() *conductor.Node {
	n := &conductor.Node{
		Driver: "fake-hardware", ConductorGroup: elsewhere, ResourceClass: "gold", Power: s.power,
		ProvisionState: s.at.State, TargetProvisionState: s.at.Target, LastError: s.at.LastError,
		Maintenance: s.maintenance, Fault: s.fault, Protected: s.protected, Retired: s.retired,
		Interfaces: map[string]string{
			"power": driverName, "deploy": driverName, "inspect": driverName, "rescue": driverName, "vendor": driverName, "bios": "no-bios",
		},
	}
	maps.Copy(n.Interfaces, s.interfaces)
	if s.reserved {
		n.Reservation, n.Claim = somebody, somebody
	}
	if s.instance {
		n.InstanceUUID = instanceUUID
	}
	if s.traits != nil {
		n.InstanceInfo = map[string]any{"traits": s.traits}
	}
	return n
}

func (s *situation) String() string {
	text := fmt.Sprintf("in %v, target %v", s.at.State, s.at.Target)
	for _, fact := range []struct {
		is   bool
		name string
	}{
		{s.maintenance, "maintenance"}, {s.fault != "", "fault " + s.fault}, {s.protected, "protected"}, {s.retired, "retired"},
		{s.reserved, "reserved"}, {s.instance, "with an instance"}, {s.power != states.NoPower, s.power.String()},
		{s.interfaces != nil, fmt.Sprint(s.interfaces)}, {s.traits != nil, fmt.Sprint("instance with traits ", s.traits)},
	} {
		if fact.is {
			text += ", " + fact.name
		}
	}
	return text
}

// An asked is a request for a node, and how package admission decides about it.
type asked struct {
	what     string
	send     func(context.Context, *Client, string) (Answer, error)
	decide   func(admission.Rules, admission.NodeFields) error
	accepted int // the status if it is accepted
}

// judges are the three that decide about a request: Ironic, our API and package admission.
type judges struct {
	ironic  *Ironic
	service *service
	uuid    string  // of Ironic's node
	object  *object // of the node, or nil
}

// An object is a port or a volume connector of the node.
type object struct {
	ours conductor.Object // without a node
	path string           // of its list
	body map[string]any   // of Ironic's
}

func (o *object) uuid() string { return o.ours.Meta().UUID }

func newJudges(ctx context.Context, i *Ironic, o *object) (*judges, error) {
	s, err := startService(ctx)
	if err != nil {
		return nil, err
	}
	j := &judges{ironic: i, service: s, object: o}
	if err := j.renew(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return j, nil
}

// close ends our service and takes the instance from Ironic's node: an instance has one node.
func (j *judges) close() error {
	j.service.Close()
	_, err := j.ironic.database.write(j.uuid, columns{"instance_uuid": nil})
	return err
}

// renew creates Ironic's node and its object.
func (j *judges) renew(ctx context.Context) (err error) {
	if j.uuid, err = j.ironic.newNode(ctx, Done); err != nil || j.object == nil {
		return err
	}
	body := maps.Clone(j.object.body)
	body["uuid"], body["node_uuid"] = j.object.uuid(), j.uuid
	answer, err := j.ironic.Client.send(ctx, Series.MaxAPIVersion(), http.MethodPost, j.object.path, body)
	if err == nil && answer.Status != http.StatusCreated {
		err = fmt.Errorf("lockstep: create %s: %s", j.object.path, answer.Fault)
	}
	return err
}

// create creates our node in a situation, with its object.
func (j *judges) create(ctx context.Context, s situation) (*conductor.Node, error) {
	n, err := j.service.conductor.CreateNode(ctx, s.node())
	if err != nil || j.object == nil {
		return n, err
	}
	ours := conductor.Clone(j.object.ours)
	ours.Meta().NodeUUID = n.UUID
	_, err = j.service.conductor.CreateObject(ctx, ours)
	return n, err
}

// ask asks all three about a request in a situation, and compares the statuses and, of the two
// APIs, the texts.
func (j *judges) ask(ctx context.Context, c *Comparison, s situation, q asked) error {
	if _, err := j.ironic.database.write(j.uuid, s.columns()); err != nil {
		return err
	}
	theirs, err := q.send(ctx, j.ironic.Client, j.uuid)
	if err != nil {
		return err
	}
	n, err := j.create(ctx, s)
	if err != nil {
		return err
	}
	ours, err := q.send(ctx, j.service.Client, n.UUID)
	if err != nil {
		return err
	}
	decided := statusOf(q.decide(j.service.conductor.Rules(), n.Fields()), q.accepted)
	c.compare(theirs.Status, decided, "%s %v, of package admission", q.what, &s)
	c.compare(answered(theirs, j.uuid), answered(ours, n.UUID), "%s %v, of our API", q.what, &s)
	if err := j.service.forget(ctx, conductor.KindNode, n.UUID); err != nil {
		return err
	}
	if j.object != nil {
		if err := j.service.forget(ctx, j.object.ours.Kind(), j.object.uuid()); err != nil {
			return err
		}
	}
	if theirs.Status == http.StatusNoContent {
		return j.renew(ctx)
	}
	return nil
}

// statusOf returns the status of a decision.
func statusOf(err error, accepted int) int {
	var with interface{ HTTPStatus() int }
	switch {
	case err == nil:
		return accepted
	case errors.As(err, &with):
		return with.HTTPStatus()
	default:
		return http.StatusInternalServerError
	}
}

// answered returns the status and the text of an answer, with NODE for the UUID of the node and
// lists sorted: Ironic prints some in an order that changes with each of its processes.
func answered(a Answer, uuid string) string {
	text := listed.ReplaceAllStringFunc(a.Fault, func(list string) string {
		words := strings.Split(list[1:len(list)-1], ", ")
		slices.Sort(words)
		return list[:1] + strings.Join(words, ", ") + list[len(list)-1:]
	})
	return fmt.Sprintf("%d %s", a.Status, strings.ReplaceAll(text, uuid, "NODE"))
}

var listed = regexp.MustCompile(`\[[^][]*\]|\([^()]*\)`)

// situations calls yield with combinations of the fields in a state, until it fails: with all of
// them, or with all of maintenance, protected and reserved, where these determine the others.
func situations(at machine.Node, all bool, yield func(situation) error) error {
	for bits := range 1 << 6 {
		has := func(bit int) bool { return bits&(1<<bit) != 0 }
		s := situation{
			at: at, maintenance: has(0), protected: has(1), reserved: has(2), retired: has(3), instance: has(4),
		}
		odd := s.maintenance != s.protected
		if has(5) {
			s.fault = "power failure"
		}
		switch {
		case has(5) && !s.maintenance: // only a node in maintenance has a fault
		case !all && (s.retired != odd || s.instance == odd || s.maintenance && has(5) == odd):
		default:
			if err := yield(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func provision(word string) asked {
	return asked{
		what: fmt.Sprintf("%q", word), accepted: http.StatusAccepted,
		send: func(ctx context.Context, client *Client, uuid string) (Answer, error) {
			return client.Provision(ctx, Series.MaxAPIVersion(), uuid, bodyFor(word))
		},
		decide: func(r admission.Rules, f admission.NodeFields) error {
			_, err := r.Provision(f, word, Series.MaxAPIVersion())
			return err
		},
	}
}

// admitProvision requests each provision state that the table allows.
func admitProvision(ctx context.Context, i *Ironic, all bool) (_ Comparison, err error) {
	c := Comparison{Name: "admission: every request that the table accepts, with maintenance, fault, protected, retired, reserved, instance"}
	j, err := newJudges(ctx, i, nil)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	for state := range Series.Table().States().All() {
		for word := range Series.Table().Requests(state, Series.MaxAPIVersion()) {
			err := situations(inState(state), all, func(s situation) error { return j.ask(ctx, &c, s, provision(word)) })
			if err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// admitWords requests each word that the table refuses.
func admitWords(ctx context.Context, i *Ironic, all bool) (_ Comparison, err error) {
	c := Comparison{Name: "admission: every request that the table refuses, with maintenance and reserved"}
	j, err := newJudges(ctx, i, nil)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	words := words()
	if !all {
		words = append(slices.Sorted(maps.Keys(states.Verbs())), "nonsense", "done")
	}
	for state := range Series.Table().States().All() {
		for _, word := range words {
			if _, err := Series.Table().Request(state, word, Series.MaxAPIVersion()); err == nil {
				continue
			}
			for bits := range 4 {
				s := situation{at: inState(state), maintenance: bits&1 != 0, reserved: bits&2 != 0}
				if err := j.ask(ctx, &c, s, provision(word)); err != nil {
					return c, err
				}
			}
		}
	}
	return c, nil
}

// admitValidation requests provision states of nodes that lack an interface or a trait.
func admitValidation(ctx context.Context, i *Ironic) (_ Comparison, err error) {
	c := Comparison{Name: "admission: interfaces that the node lacks, and traits of its instance"}
	j, err := newJudges(ctx, i, nil)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	missing := map[string]string{"inspect": "no-inspect", "rescue": "no-rescue"}
	for state := range Series.Table().States().All() {
		for word := range Series.Table().Requests(state, Series.MaxAPIVersion()) {
			for _, reserved := range []bool{false, true} {
				s := situation{at: inState(state), interfaces: missing, reserved: reserved}
				if word == "unrescue" || word == "abort" {
					continue // the no-* interfaces fail the work, too
				}
				if err := j.ask(ctx, &c, s, provision(word)); err != nil {
					return c, err
				}
			}
			if word != "active" && word != "rebuild" && word != "deploy" && word != "clean" {
				continue
			}
			for _, traits := range [][]any{{"CUSTOM_GOLD"}, {}, {1}} {
				s := situation{at: inState(state), traits: traits}
				if err := j.ask(ctx, &c, s, provision(word)); err != nil {
					return c, err
				}
			}
		}
	}
	return c, nil
}
