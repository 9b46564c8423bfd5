// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// admitPower requests power states.
func admitPower(ctx context.Context, i *Ironic) (_ Comparison, err error) {
	c := Comparison{Name: "admission: power requests in every state, with maintenance and reserved"}
	j, err := newJudges(ctx, i, nil)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	for state := range Series.Table().States().All() {
		for bits := range 4 {
			s := situation{at: inState(state), power: states.PowerOn, maintenance: bits&1 != 0, reserved: bits&2 != 0}
			err := j.ask(ctx, &c, s, asked{
				what: "power on", accepted: http.StatusAccepted,
				send: func(ctx context.Context, client *Client, uuid string) (Answer, error) {
					return client.Power(ctx, Series.MaxAPIVersion(), uuid, states.PowerOn)
				},
				decide: func(r admission.Rules, f admission.NodeFields) error { return r.Power(f, states.PowerOn) },
			})
			if err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// admitDeletion deletes nodes.
func admitDeletion(ctx context.Context, i *Ironic, all bool) (_ Comparison, err error) {
	c := Comparison{Name: "admission: deleting the record in every state, with maintenance, fault, protected, retired, reserved, instance"}
	j, err := newJudges(ctx, i, nil)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	deletion := asked{
		what: "deletion", accepted: http.StatusNoContent,
		send: func(ctx context.Context, client *Client, uuid string) (Answer, error) {
			return client.Delete(ctx, Series.MaxAPIVersion(), uuid)
		},
		decide: admission.Rules.Delete,
	}
	for state := range Series.Table().States().All() {
		if err := situations(inState(state), all, func(s situation) error { return j.ask(ctx, &c, s, deletion) }); err != nil {
			return c, err
		}
	}
	return c, nil
}

// operation is an operation of a JSON patch.
type operation map[string]any

func add(path string, value any) operation {
	return operation{"op": "add", "path": path, "value": value}
}

// updates are patches of a node, with what they do.
var updates = []struct {
	patch  []operation
	update admission.Update
}{
	{[]operation{add("/extra/note", "text")}, admission.Update{}},
	{[]operation{add("/protected", true)}, admission.Update{Protects: true}},
	{[]operation{add("/protected_reason", "why")}, admission.Update{ProtectedReason: true}},
	{[]operation{add("/retired", true)}, admission.Update{Retires: true}},
	{[]operation{add("/retired_reason", "why")}, admission.Update{RetiredReason: true}},
	{[]operation{add("/rescue_interface", "no-rescue")}, admission.Update{Interface: "rescue"}},
	{[]operation{add("/rescue_interface", "magic")}, admission.Update{Interface: "rescue", Unfit: errors.New("no such interface")}},
	{[]operation{add("/maintenance", true), add("/rescue_interface", "no-rescue")}, admission.Update{Interface: "rescue", Maintenance: true}},
	{[]operation{add("/resource_class", "silver")}, admission.Update{ResourceClass: true}},
	{[]operation{add("/instance_uuid", "7b0f9c5e-3e0a-4d6f-9a53-0f4f0d3b1c22")}, admission.Update{ReplacesInstance: true}},
	{[]operation{{"op": "remove", "path": "/instance_uuid"}}, admission.Update{RemovesInstance: true}},
}

// admitUpdate patches nodes.
func admitUpdate(ctx context.Context, i *Ironic, all bool) (_ Comparison, err error) {
	c := Comparison{Name: "admission: updating the record in every state, with maintenance, reserved, instance"}
	j, err := newJudges(ctx, i, nil)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	for state := range Series.Table().States().All() {
		for n, u := range updates {
			for _, maintenance := range []bool{false, true} {
				if !all && maintenance == ((n+int(state))%4 < 2) {
					continue
				}
				s := situation{at: inState(state), maintenance: maintenance, reserved: n%2 == int(state)%2, instance: n >= len(updates)-2}
				if err := j.ask(ctx, &c, s, patching(u.patch, u.update)); err != nil {
					return c, err
				}
			}
		}
	}
	return c, nil
}

func patching(patch []operation, u admission.Update) asked {
	newest := Series.MaxAPIVersion()
	return asked{
		what: fmt.Sprint(patch), accepted: http.StatusOK,
		send: func(ctx context.Context, client *Client, uuid string) (Answer, error) {
			return client.do(ctx, newest, http.MethodPatch, "/"+uuid, patch)
		},
		decide: func(r admission.Rules, f admission.NodeFields) error {
			if err := r.Patch(f, u.RemovesInstance, newest); err != nil {
				return err
			}
			u.Maintenance = u.Maintenance || f.Maintenance
			return r.Update(f, u)
		},
	}
}

// admitPorts patches a port of nodes.
func admitPorts(ctx context.Context, i *Ironic, all bool) (_ Comparison, err error) {
	c := Comparison{Name: "admission: updating a port in every state, with maintenance, reserved, instance"}
	ours := &conductor.Port{
		ObjectMeta: conductor.ObjectMeta{UUID: "0d8f7a5b-4f5c-4a8e-8f0e-0c1c2b8a9f01"},
		Address:    "52:54:00:12:34:56", LocalLinkConnection: map[string]any{},
	}
	port := &object{ours, "ports", map[string]any{
		"address": "52:54:00:12:34:56", "pxe_enabled": true, "local_link_connection": map[string]any{},
	}}
	j, err := newJudges(ctx, i, port)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	of := Series.Table().States()
	if !all {
		of = states.SetOf(states.Inspecting, states.InspectWait, states.Manageable, states.Available, states.Active, states.DeployWait)
	}
	for state := range of.All() {
		for bits, s := range []situation{{}, {instance: true}, {maintenance: true, instance: true}, {reserved: true}} {
			s.at = inState(state)
			for _, u := range []struct {
				patch  []operation
				update admission.PortUpdate
			}{
				{[]operation{add("/extra/note", "text")}, admission.PortUpdate{}},
				{[]operation{add("/address", fmt.Sprintf("52:54:00:12:%02x:%02x", int(state), bits))}, admission.PortUpdate{Address: true}},
				{[]operation{add("/physical_network", fmt.Sprintf("net-%d-%d", state, bits))}, admission.PortUpdate{Connectivity: true}},
			} {
				if err := j.ask(ctx, &c, s, patchingPort(port, u.patch, u.update)); err != nil {
					return c, err
				}
			}
		}
	}
	return c, nil
}

func patchingPort(port *object, patch []operation, u admission.PortUpdate) asked {
	newest := Series.MaxAPIVersion()
	return asked{
		what: fmt.Sprint("port ", patch), accepted: http.StatusOK,
		send: func(ctx context.Context, client *Client, _ string) (Answer, error) {
			return client.send(ctx, newest, http.MethodPatch, port.path+"/"+port.uuid(), patch)
		},
		decide: func(r admission.Rules, f admission.NodeFields) error { return r.UpdatePort(f, u, newest) },
	}
}

// admitVolumes patches and deletes a volume connector of nodes.
func admitVolumes(ctx context.Context, i *Ironic) (_ Comparison, err error) {
	c := Comparison{Name: "admission: updating and deleting a volume connector, by power state and reserved"}
	ours := &conductor.VolumeConnector{
		ObjectMeta: conductor.ObjectMeta{UUID: "5f3a0d3e-8f4b-4b0e-9d56-5a1c0c5b7e10"},
		Type:       "iqn", ConnectorID: "iqn.2017-07.org.openstack:01",
	}
	volume := &object{ours, "volume/connectors", map[string]any{
		"type": "iqn", "connector_id": "iqn.2017-07.org.openstack:01",
	}}
	j, err := newJudges(ctx, i, volume)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	newest := Series.MaxAPIVersion()
	path := volume.path + "/" + volume.uuid()
	for _, state := range []states.State{states.Enroll, states.Manageable, states.Available, states.Active} {
		for _, power := range []states.Power{states.NoPower, states.PowerOn, states.PowerOff} {
			for _, reserved := range []bool{false, true} {
				s := situation{at: inState(state), power: power, reserved: reserved}
				for _, q := range []asked{
					{
						what: "volume update", accepted: http.StatusOK, decide: admission.Rules.UpdateVolume,
						send: func(ctx context.Context, client *Client, _ string) (Answer, error) {
							return client.send(ctx, newest, http.MethodPatch, path, []operation{add("/extra/note", "text")})
						},
					},
					{
						what: "volume deletion", accepted: http.StatusNoContent, decide: admission.Rules.DeleteVolume,
						send: func(ctx context.Context, client *Client, _ string) (Answer, error) {
							return client.send(ctx, newest, http.MethodDelete, path, nil)
						},
					},
				} {
					if err := j.ask(ctx, &c, s, q); err != nil {
						return c, err
					}
				}
			}
		}
	}
	return c, nil
}
