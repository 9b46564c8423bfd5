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

// compareAllAdmission returns the comparisons of the rules that decide about a request besides the state machine, in
// every situation. They need an Ironic with the option lockAtOnce.
func compareAllAdmission() []compare { return compareAdmission(true) }

// compareSomeAdmission is compareAllAdmission in fewer situations: some fields determine others, one word stands for
// those that no table has, and ports are updated in few states.
func compareSomeAdmission() []compare { return compareAdmission(false) }

func compareAdmission(all bool) []compare {
	port := &object{
		template: &conductor.Port{
			ObjectMeta: conductor.ObjectMeta{UUID: "0d8f7a5b-4f5c-4a8e-8f0e-0c1c2b8a9f01"},
			Address:    "52:54:00:12:34:56", LocalLinkConnection: map[string]any{},
		},
		list: "ports",
		body: map[string]any{"address": "52:54:00:12:34:56", "pxe_enabled": true, "local_link_connection": map[string]any{}},
	}
	connector := &object{
		template: &conductor.VolumeConnector{
			ObjectMeta: conductor.ObjectMeta{UUID: "5f3a0d3e-8f4b-4b0e-9d56-5a1c0c5b7e10"},
			Type:       "iqn", ConnectorID: "iqn.2017-07.org.openstack:01",
		},
		list: "volume/connectors",
		body: map[string]any{"type": "iqn", "connector_id": "iqn.2017-07.org.openstack:01"},
	}
	const every = "with maintenance, fault, protected, retired, reserved, instance"
	var compares []compare
	for _, by := range []struct {
		name   string
		object *object // which each node has
		trials func(i Installation, all bool) []trial
	}{
		{"every request that the table accepts, " + every, nil, acceptedWords},
		{"every request that the table refuses, with maintenance and reserved", nil, refusedWords},
		{"interfaces that the node lacks, and traits of its instance", nil, validations},
		{"power requests in every state, with maintenance and reserved", nil, powerRequests},
		{"deleting the record in every state, " + every, nil, deletions},
		{"updating the record in every state, with maintenance, reserved, instance", nil, updates},
		{"updating a port in every state, with maintenance, reserved, instance", port, port.portUpdates},
		{"updating and deleting a volume connector, by power state and reserved", connector, connector.volumeRequests},
	} {
		compares = append(compares, func(ctx context.Context, i *Ironic) (Comparison, error) {
			return admit(ctx, i, by.name, by.object, by.trials(i.Installation, all))
		})
	}
	return compares
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
	set := columnsOf(s.at)
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
		info, _ := json.Marshal(map[string]any{"traits": s.traits, "image_source": image})
		set["instance_info"] = string(info)
	}
	return set
}

// node returns the situation as a node of ironstate. No conductor does its work.
func (s *situation) node() *conductor.Node {
	n := &conductor.Node{
		Driver: "fake-hardware", ConductorGroup: elsewhere, ResourceClass: "gold", Power: s.power,
		ProvisionState: s.at.State, TargetProvisionState: s.at.Target, LastError: s.at.LastError,
		Maintenance: s.maintenance, Fault: s.fault, InstanceInfo: withImage(), Protected: s.protected, Retired: s.retired,
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
		n.InstanceInfo["traits"] = s.traits
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

// A trial is a request for a node in a situation, and how package admission decides about it.
type trial struct {
	situation
	request
}

// A request is a request of the API, with NODE in the path for the UUID of the node.
type request struct {
	what, method, path string
	body               any
	decide             func(admission.Rules, admission.NodeFields) error
	accepted           int // the status if it is accepted
}

// An object is a port or a volume connector of the node.
type object struct {
	template conductor.Object // without a node
	list     string           // the path of its list
	body     map[string]any   // of the request that creates Ironic's
}

func (o *object) uuid() string { return o.template.Meta().UUID }

func (o *object) path() string { return o.list + "/" + o.uuid() }

// admit compares Ironic, ironstate's API and package admission by trials. Each node has the object, unless it is nil.
func admit(ctx context.Context, i *Ironic, name string, o *object, trials []trial) (Comparison, error) {
	a := admitting{Comparison: Comparison{Name: "admission: " + name}, ironic: i, object: o}
	var err error
	if a.service, err = startScripted(ctx, i.Series); err != nil {
		return a.Comparison, err
	}
	defer a.service.Close()
	for k, t := range trials {
		if i.sample.leavesOut() && k > 0 { // a sample has the first in any case
			continue
		}
		if err := a.try(ctx, t); err != nil {
			return a.Comparison, err
		}
	}
	if a.uuid != "" { // an instance has one node
		_, err = i.database.write(a.uuid, columns{"instance_uuid": nil})
	}
	return a.Comparison, err
}

// admitting is a comparison by trials.
type admitting struct {
	Comparison
	ironic  *Ironic
	service *scripted
	object  *object // nil for none
	uuid    string  // of Ironic's node; empty if it has none
}

// newNodeWith creates a node with an object, unless it is nil.
func (i *Ironic) newNodeWith(ctx context.Context, o *object) (string, error) {
	uuid, err := i.newNode(ctx)
	if err != nil || o == nil {
		return uuid, err
	}
	body := maps.Clone(o.body)
	body["uuid"], body["node_uuid"] = o.uuid(), uuid
	answer, err := i.Client.send(ctx, i.newest(), http.MethodPost, o.list, body)
	if err == nil && answer.Status != http.StatusCreated {
		err = fmt.Errorf("lockstep: create %s: %s", o.list, answer.Fault)
	}
	return uuid, err
}

// try makes a request in a situation, and compares the statuses of all three and the texts of the two APIs. The node of
// ironstate is created for the request and removed after it. Ironic's node remains for the next one, unless a request
// deletes it or its object.
func (a *admitting) try(ctx context.Context, t trial) (err error) {
	if a.uuid == "" {
		if a.uuid, err = a.ironic.newNodeWith(ctx, a.object); err != nil {
			return err
		}
	}
	if _, err := a.ironic.database.write(a.uuid, t.columns()); err != nil {
		return err
	}
	send := func(client *Client, uuid string) (string, int, error) {
		answer, err := client.send(ctx, a.ironic.newest(), t.method, strings.ReplaceAll(t.path, "NODE", uuid), t.body)
		return answered(answer, uuid), answer.Status, err
	}
	want, status, err := send(a.ironic.Client, a.uuid)
	if err != nil {
		return err
	}
	n, err := a.service.conductor.CreateNode(ctx, t.node())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.service.forget(ctx, conductor.KindNode, n.UUID)) }()
	if a.object != nil {
		created := conductor.Clone(a.object.template)
		created.Meta().NodeUUID = n.UUID
		if _, err := a.service.conductor.CreateObject(ctx, created); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.service.forget(ctx, created.Kind(), a.object.uuid())) }()
	}
	got, _, err := send(a.service.Client, n.UUID)
	if err != nil {
		return err
	}
	decided := t.accepted
	if err := t.decide(a.service.conductor.Rules(), n.Fields()); err != nil {
		decided = http.StatusInternalServerError
		var refusal interface{ HTTPStatus() int }
		if errors.As(err, &refusal) {
			decided = refusal.HTTPStatus()
		}
	}
	a.compare(status, decided, "%s %v, of package admission", t.what, &t.situation)
	a.compare(want, got, "%s %v, of ironstate's API", t.what, &t.situation)
	if status == http.StatusNoContent {
		a.uuid = ""
	}
	return nil
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
