// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// Volumes returns the controller of /v1/volume.
func Volumes(s *rest.Service) *rest.Controller {
	return volumes(connectorResource.controller(s), targetResource.controller(s))
}

// volumes returns the controller of /v1/volume or /v1/nodes/NODE/volume.
func volumes(connectors, targets *rest.Controller) *rest.Controller {
	return &rest.Controller{
		Actions: rest.Actions{rest.Both: {Serve: showVolumes, Since: since.Volumes, VersionFirst: states.Hibiscus}},
		Lookup: func(r *rest.Request, segments []string) (*rest.Controller, []string, error) {
			if r.Version < since.Volumes {
				return nil, nil, fault.UnknownPath
			}
			return map[string]*rest.Controller{"connectors": connectors, "targets": targets}[segments[0]], segments[1:], nil
		},
	}
}

// showVolumes answers GET /v1/volume and /v1/nodes/NODE/volume.
var showVolumes = checks{noArguments}.Then(connectorResource.request, func(q *request) (rest.Answer, error) {
	path := "volume"
	if len(q.r.Params) > 0 { // Ironic does not look for the node
		path = "nodes/" + q.r.Param(0) + "/volume"
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key("links").Links(q.r.Base(), path+"/")
		w.Key("connectors").Links(q.r.Base(), path+"/connectors")
		w.Key("targets").Links(q.r.Base(), path+"/targets")
	}), nil
})

var connectorResource = complete(resource{
	of: &conductor.VolumeConnector{}, path: "volume/connectors", word: "connector", noun: "Volume connector", since: since.Volumes,
	schemas: schemaRules{since: states.Hibiscus},
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
	orders:    volumeOrders("connector"),
	bodyOrder: fieldOrder{"node_uuid", others, "uuid"},
	duplicate: func(o record) string {
		v := o.(*conductor.VolumeConnector)
		return fmt.Sprintf("A volume connector with type %s and connector ID %s already exists.", v.Type, v.ConnectorID)
	},
})

var targetResource = complete(resource{
	of: &conductor.VolumeTarget{}, path: "volume/targets", word: "target", noun: "Volume target", since: since.Volumes,
	schemas: schemaRules{since: states.Hibiscus},
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
	orders:    volumeOrders("target"),
	bodyOrder: fieldOrder{"node_uuid", others, "uuid"},
	duplicate: func(o record) string {
		return fmt.Sprintf("A volume target with boot index '%v' for the same node already exists.", o.(*conductor.VolumeTarget).BootIndex)
	},
})

// maskTarget hides the properties of a volume target, which may contain credentials.
func maskTarget(v any) any {
	properties, _ := v.(map[string]any)
	if len(properties) == 0 {
		return noObject
	}
	return masked.Object(properties)
}

// volumeOrders returns the orders of the checks of volume connectors or targets.
func volumeOrders(kind string) orders {
	return orders{
		post:  checks{bodyDecodes, bodyValid, fieldsSet, postInVersion, volumeNodeExists, notNested, fieldsInVersion},
		patch: checks{queryDecodes, identValid, patchDecodes, recordExists, fieldsPatchable, fieldsInVersion, newNodeIsUUID},
		update: checks{patchApplies, nodeMayChange, documentValid, fieldsSet, nodeUnlocked,
			volumeAllows(kind+" update", admission.Rules.UpdateVolume)},
		delete: checks{noArguments, identValid, recordExists, nodeUnlockedOrGone, volumeAllows(kind+" deletion", admission.Rules.DeleteVolume)},
	}
}

// volumeNodeExists is nodeExists with another text.
func volumeNodeExists(q *request) error {
	node := q.store.meta(q.record).NodeUUID
	_, err := q.r.Conductor.Node(q.r.Context(), node)
	if errors.Is(err, conductor.NotFound) {
		return fault.Invalid("Invalid input for field/attribute node_uuid. Value: '%s'. ", node)
	}
	return err
}

// newNodeIsUUID refuses a patch of a volume that names its node by anything but a UUID.
func newNodeIsUUID(q *request) error {
	for _, v := range q.patch.Values("node_uuid") {
		if uuid, isText := v.(string); !isText || !rest.IsUUID(uuid) {
			return fault.Invalid("Expected a UUID for node_uuid, but received %s.", fault.Show(v))
		}
	}
	return nil
}

// volumeAllows refuses an action on a volume that a rule refuses for its node. The action is the one in Ironic's text.
func volumeAllows(action string, rule func(admission.Rules, admission.NodeFields) error) func(*request) error {
	return func(q *request) error {
		n, err := q.r.Conductor.Node(q.r.Context(), q.store.meta(q.record).NodeUUID)
		if err != nil {
			return fault.As400(err)
		}
		if rule(q.r.Conductor.Rules(), unreserved(n)) != nil {
			return fault.State("volume "+action, n.UUID, fault.Power(n.Power))
		}
		return nil
	}
}
