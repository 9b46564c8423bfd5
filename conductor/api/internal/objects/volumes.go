// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/machine/admission"
)

// Volumes returns the controller of /v1/volume.
func Volumes() *rest.Controller {
	return volumes(connectorResource.controller(), targetResource.controller())
}

// volumes returns the controller of /v1/volume or /v1/nodes/NODE/volume.
func volumes(connectors, targets *rest.Controller) *rest.Controller {
	return &rest.Controller{
		Actions: rest.Actions{rest.Both: {Serve: showVolumes, Since: since.Volumes}},
		Lookup: func(r *rest.Request, segments []string) (*rest.Controller, []string, error) {
			if r.Version < since.Volumes {
				return nil, nil, fault.UnknownPath
			}
			return map[string]*rest.Controller{"connectors": connectors, "targets": targets}[segments[0]], segments[1:], nil
		},
	}
}

// showVolumes answers GET /v1/volume and /v1/nodes/NODE/volume.
func showVolumes(r *rest.Request) (rest.Answer, error) {
	if err := r.CheckArgs(r.QueryArgs()); err != nil {
		return rest.Answer{}, err
	}
	path := "volume"
	if len(r.Params) > 0 { // Ironic does not look for the node
		path = "nodes/" + r.Param(0) + "/volume"
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key("links").Links(r.Base(), path+"/")
		w.Key("connectors").Links(r.Base(), path+"/connectors")
		w.Key("targets").Links(r.Base(), path+"/targets")
	}), nil
}

var connectorResource = &resource{
	of: &conductor.VolumeConnector{}, path: "volume/connectors", word: "connector", noun: "Volume connector", since: since.Volumes,
	fields: []field{
		uuidField,
		{name: "connector_id", types: schema.TextType, flags: required},
		extraField,
		{name: "type", types: schema.TextType, flags: required},
		volumeNode,
	},
	list: listRules{
		defaults: []string{"uuid", "node_uuid", "type", "connector_id"},
		filters:  []filter{byNode("node"), ignoredProject},
	},
	orders: orders{patch: []check{validIdent, patchDecodes, recordExists, patchPermitted}},
	write: writeRules{
		checkValues: checkNodeUUIDs,
		allow:       volumeUpdate("volume connector update"),
		duplicate: func(o conductor.Object) string {
			v := o.(*conductor.VolumeConnector)
			return fmt.Sprintf("A volume connector with type %s and connector ID %s already exists.", v.Type, v.ConnectorID)
		},
		deletable: checkVolume("volume connector deletion", admission.Rules.DeleteVolume),
	},
}

var targetResource = &resource{
	of: &conductor.VolumeTarget{}, path: "volume/targets", word: "target", noun: "Volume target", since: since.Volumes,
	fields: []field{
		uuidField,
		{name: "boot_index", types: []string{"integer"}, flags: required, convert: toInteger},
		extraField,
		{name: "properties", types: schema.ObjectOrNull, zero: noObject, mask: maskTarget},
		{name: "volume_id", types: schema.TextType, flags: required},
		{name: "volume_type", types: schema.TextType, flags: required},
		volumeNode,
	},
	list: listRules{
		defaults: []string{"uuid", "node_uuid", "volume_type", "boot_index", "volume_id"},
		filters:  []filter{byNode("node"), ignoredProject},
	},
	orders: orders{patch: []check{validIdent, patchDecodes, recordExists, patchPermitted}},
	write: writeRules{
		checkValues: checkNodeUUIDs,
		allow:       volumeUpdate("volume target update"),
		duplicate: func(o conductor.Object) string {
			return fmt.Sprintf("A volume target with boot index '%v' for the same node already exists.", o.(*conductor.VolumeTarget).BootIndex)
		},
		deletable: checkVolume("volume target deletion", admission.Rules.DeleteVolume),
	},
}

// maskTarget hides the properties of a volume target, which may contain credentials.
func maskTarget(v any) any {
	properties, _ := v.(map[string]any)
	if len(properties) == 0 {
		return noObject
	}
	return masked.Object(properties)
}

// checkNodeUUIDs refuses a patch of a volume that names its node by anything but a UUID.
func checkNodeUUIDs(_ *rest.Request, p patch.Patch) error {
	for _, v := range p.Values("node_uuid") {
		if uuid, isText := v.(string); !isText || !rest.IsUUID(uuid) {
			return fault.Invalid("Expected a UUID for node_uuid, but received %s.", fault.Show(v))
		}
	}
	return nil
}

// volumeUpdate refuses a change to a volume of a node that is not powered off.
func volumeUpdate(action string) func(r *rest.Request, before, o conductor.Object) error {
	return func(r *rest.Request, _, o conductor.Object) error {
		return checkVolume(action, admission.Rules.UpdateVolume)(r, o)
	}
}

// checkVolume refuses a request for a volume that a rule refuses for its node.
func checkVolume(action string, rule func(admission.Rules, admission.NodeFields) error) func(r *rest.Request, o conductor.Object) error {
	return func(r *rest.Request, o conductor.Object) error {
		n, err := r.Conductor.Node(r.Context(), o.Meta().NodeUUID)
		if err != nil {
			return fault.As400(err)
		}
		if rule(r.Conductor.Rules(), unreserved(n)) != nil {
			return fault.State(action, n.UUID, fault.Power(n.Power))
		}
		return nil
	}
}
