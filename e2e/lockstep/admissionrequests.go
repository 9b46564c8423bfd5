// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// situations returns combinations of the fields in a state: all of them, or all of maintenance,
// protected and reserved, where these determine the others.
func situations(at machine.Node, all bool) (found []situation) {
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
			found = append(found, s)
		}
	}
	return found
}

func (i Installation) provision(word string) request {
	return request{
		what: fmt.Sprintf("%q", word), method: http.MethodPut, path: "nodes/NODE/states/provision", body: i.bodyFor(word),
		accepted: http.StatusAccepted,
		decide: func(r admission.Rules, f admission.NodeFields) error {
			_, err := r.Provision(f, word, i.newest())
			return err
		},
	}
}

// acceptedWords requests each provision state that the table allows.
func acceptedWords(i Installation, all bool) (trials []trial) {
	for state := range i.table().States().All() {
		for word := range i.table().Requests(state, i.newest()) {
			for _, s := range situations(i.inState(state), all) {
				trials = append(trials, trial{s, i.provision(word)})
			}
		}
	}
	return trials
}

// refusedWords requests each word that the table refuses.
func refusedWords(i Installation, all bool) (trials []trial) {
	words := words()
	if !all {
		words = append(slices.Sorted(maps.Keys(states.Verbs())), "nonsense", "done")
	}
	for state := range i.table().States().All() {
		for _, word := range words {
			if _, err := i.table().Request(state, word, i.newest()); err == nil {
				continue
			}
			for bits := range 4 {
				s := situation{at: i.inState(state), maintenance: bits&1 != 0, reserved: bits&2 != 0}
				trials = append(trials, trial{s, i.provision(word)})
			}
		}
	}
	return trials
}

// validations requests provision states of nodes that lack an interface or a trait.
func validations(i Installation, _ bool) (trials []trial) {
	missing := map[string]string{"inspect": "no-inspect", "rescue": "no-rescue"}
	for state := range i.table().States().All() {
		for word := range i.table().Requests(state, i.newest()) {
			if word != "unrescue" && word != "abort" { // the no-* interfaces fail their work, too
				for _, reserved := range []bool{false, true} {
					s := situation{at: i.inState(state), interfaces: missing, reserved: reserved}
					trials = append(trials, trial{s, i.provision(word)})
				}
			}
			if word == "active" || word == "rebuild" || word == "deploy" || word == "clean" {
				for _, traits := range [][]any{{"CUSTOM_GOLD"}, {}, {1}} {
					trials = append(trials, trial{situation{at: i.inState(state), traits: traits}, i.provision(word)})
				}
			}
		}
	}
	return trials
}

// powerRequests switches nodes on.
func powerRequests(i Installation, _ bool) (trials []trial) {
	on := request{
		what: "power on", method: http.MethodPut, path: "nodes/NODE/states/power", body: map[string]any{"target": states.PowerOn},
		accepted: http.StatusAccepted,
		decide:   func(r admission.Rules, f admission.NodeFields) error { return r.Power(f, states.PowerOn) },
	}
	for state := range i.table().States().All() {
		for bits := range 4 {
			s := situation{at: i.inState(state), power: states.PowerOn, maintenance: bits&1 != 0, reserved: bits&2 != 0}
			trials = append(trials, trial{s, on})
		}
	}
	return trials
}

// deletions deletes nodes.
func deletions(i Installation, all bool) (trials []trial) {
	deletion := request{
		what: "deletion", method: http.MethodDelete, path: "nodes/NODE", accepted: http.StatusNoContent, decide: admission.Rules.Delete,
	}
	for state := range i.table().States().All() {
		for _, s := range situations(i.inState(state), all) {
			trials = append(trials, trial{s, deletion})
		}
	}
	return trials
}

// operation is an operation of a JSON patch.
type operation map[string]any

func add(path string, value any) operation {
	return operation{"op": "add", "path": path, "value": value}
}

// updates patches nodes.
func updates(i Installation, all bool) (trials []trial) {
	patches := []struct {
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
	for state := range i.table().States().All() {
		for n, p := range patches {
			patch := request{
				what: fmt.Sprint(p.patch), method: http.MethodPatch, path: "nodes/NODE", body: p.patch, accepted: http.StatusOK,
				decide: func(r admission.Rules, f admission.NodeFields) error {
					if err := r.Patch(f, p.update.RemovesInstance, i.newest()); err != nil {
						return err
					}
					u := p.update
					u.Maintenance = u.Maintenance || f.Maintenance
					return r.Update(f, u)
				},
			}
			for _, maintenance := range []bool{false, true} {
				if all || maintenance == ((n+int(state))%4 >= 2) {
					trials = append(trials, trial{situation{
						at: i.inState(state), maintenance: maintenance, reserved: n%2 == int(state)%2, instance: n >= len(patches)-2,
					}, patch})
				}
			}
		}
	}
	return trials
}

// portUpdates patches a port of nodes.
func (port *object) portUpdates(i Installation, all bool) (trials []trial) {
	in := i.table().States()
	if !all {
		in = states.SetOf(states.Inspecting, states.InspectWait, states.Manageable, states.Available, states.Active, states.DeployWait)
	}
	for state := range in.All() {
		for bits, s := range []situation{{}, {instance: true}, {maintenance: true, instance: true}, {reserved: true}} {
			s.at = i.inState(state)
			for _, u := range []struct {
				patch  []operation
				update admission.PortUpdate
			}{
				{[]operation{add("/extra/note", "text")}, admission.PortUpdate{}},
				{[]operation{add("/address", fmt.Sprintf("52:54:00:12:%02x:%02x", int(state), bits))}, admission.PortUpdate{Address: true}},
				{[]operation{add("/physical_network", fmt.Sprintf("net-%d-%d", state, bits))}, admission.PortUpdate{Connectivity: true}},
			} {
				trials = append(trials, trial{s, request{
					what: fmt.Sprint("port ", u.patch), method: http.MethodPatch, path: port.path(), body: u.patch, accepted: http.StatusOK,
					decide: func(r admission.Rules, f admission.NodeFields) error { return r.UpdatePort(f, u.update, i.newest()) },
				}})
			}
		}
	}
	return trials
}

// volumeRequests patches and deletes a volume connector of nodes.
func (connector *object) volumeRequests(i Installation, _ bool) (trials []trial) {
	for _, state := range []states.State{states.Enroll, states.Manageable, states.Available, states.Active} {
		for _, power := range []states.Power{states.NoPower, states.PowerOn, states.PowerOff} {
			for _, reserved := range []bool{false, true} {
				s := situation{at: i.inState(state), power: power, reserved: reserved}
				trials = append(trials,
					trial{s, request{
						what: "volume update", method: http.MethodPatch, path: connector.path(), body: []operation{add("/extra/note", "text")},
						accepted: http.StatusOK, decide: admission.Rules.UpdateVolume,
					}},
					trial{s, request{
						what: "volume deletion", method: http.MethodDelete, path: connector.path(),
						accepted: http.StatusNoContent, decide: admission.Rules.DeleteVolume,
					}})
			}
		}
	}
	return trials
}
