// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/traits"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/machine/admission"
)

// The resources of Ironic's API that are objects. Sources: the files of the same names in
// ironic/api/controllers/v1.
var resources = []*resource{
	chassisResource, portResource, portGroupResource, connectorResource, targetResource, templateResource, runbookResource, allocationResource,
}

// The fields that several resources have.
var (
	uuidField  = field{name: "uuid", types: schema.TextOrNull, flags: fixed, convert: toUUID("uuid")}
	nodeField  = field{name: "node_uuid", types: schema.TextType, flags: required, convert: toUUID("node_uuid")}
	volumeNode = field{name: "node_uuid", types: schema.TextType, flags: required | noColumn, convert: toUUID("node_uuid")}
	extraField = field{name: "extra", types: schema.ObjectOrNull, zero: noObject}
)

var (
	chassisResource = &resource{
		of: &conductor.Chassis{}, path: "chassis", word: "chassis", noun: "Chassis",
		fieldsFirst: true,
		fields: []field{
			uuidField,
			extraField,
			{name: "description", types: schema.TextOrNull, max: 255},
		},
		links: map[string]link{"nodes": {since: since.First, nested: true}},
		list:  listRules{defaults: []string{"uuid", "description"}, detailSince: since.Detail, detailPath: true},
		write: writeRules{
			inOrder: true, anyIdent: true,
			patched:   []string{"uuid", "extra", "description"},
			check:     checkChassis,
			deletable: chassisEmpty,
		},
	}

	portResource = &resource{
		of: &conductor.Port{}, path: "ports", word: "port", noun: "Port",
		fields: []field{
			uuidField,
			{name: "address", types: schema.TextType, flags: required, convert: toMAC},
			extraField,
			{name: "internal_info", since: since.PortInternalInfo, types: schema.ObjectOrNull, flags: readOnly, zero: noObject},
			{name: "is_smartnic", since: since.SmartNIC, types: schema.BooleanTypes, flags: nullable, zero: false, convert: toTruth("is_smartnic")},
			{name: "local_link_connection", since: since.PortConnectivity, types: []string{"null", "object"}, zero: noObject, convert: toLocalLink},
			{name: "physical_network", since: since.PortPhysicalNetwork, types: schema.TextOrNull, max: 64},
			{name: "pxe_enabled", since: since.PortConnectivity, types: schema.BooleanTypes, zero: true, convert: toTruth("pxe_enabled")},
			nodeField,
			{name: "name", since: since.PortName, types: schema.TextOrNull},
			{name: "description", since: since.PortDescription, types: schema.TextOrNull, max: 255},
			{name: "vendor", since: since.PortVendor, types: schema.TextOrNull, max: 32},
			{name: "category", since: since.PortCategory, types: schema.TextOrNull, max: 80},
			{name: "available_for_dynamic_portgroup", since: since.DynamicPortGroups, types: []string{"boolean"}, zero: true},
			{name: "portgroup_uuid", since: since.PortGroupsBelow, types: schema.TextOrNull, flags: noColumn, convert: toUUID("portgroup_uuid")},
		},
		list: listRules{
			defaults: []string{"uuid", "address"}, detailSince: since.Detail, detailPath: true, oneFilter: true,
			filters: []filter{
				byPortGroup, byNode("node_uuid"), byNode("node"), byAddress, byNodeShard(since.Shards),
				{name: "description_contains", since: since.PortDescription, decode: decodeText, apply: byDescription},
				{name: "conductor_groups", since: since.ConductorGroupFilter, decode: decodeList, apply: byConductorGroups},
			},
			early: []string{"node", "node_uuid", "address"},
		},
		write: writeRules{
			forbidFirst: true, uuidFirst: true,
			prepare:     namePortNode,
			tooNew:      newForPort,
			checkValues: checkNames("port"),
			check:       checkPort,
			allowNew:    samePhysicalNetwork,
			allow:       allowPort,
			duplicate: func(o conductor.Object) string {
				return fmt.Sprintf("A port with MAC address %s already exists.", o.(*conductor.Port).Address)
			},
		},
	}

	portGroupResource = &resource{
		of: &conductor.PortGroup{}, path: "portgroups", word: "portgroup", noun: "Portgroup", since: since.PortGroups,
		fields: []field{
			uuidField,
			{name: "address", types: schema.TextOrNull, convert: toMAC},
			extraField,
			{name: "internal_info", types: schema.ObjectOrNull, flags: readOnly, zero: noObject},
			{name: "mode", since: since.PortGroupMode, types: schema.TextOrNull, flags: shownEarlier, zero: "active-backup"},
			{name: "name", types: schema.TextOrNull},
			{name: "properties", since: since.PortGroupMode, types: schema.ObjectOrNull, flags: shownEarlier, zero: noObject},
			{name: "standalone_ports_supported", types: schema.BooleanTypes, zero: true, convert: toTruth("standalone_ports_supported")},
			nodeField,
			{name: "physical_network", since: since.PortGroupPhysicalNetwork, types: schema.TextOrNull, max: 64},
			{name: "category", since: since.PortGroupCategory, types: schema.TextOrNull, max: 80},
			{name: "dynamic_portgroup", since: since.DynamicPortGroups, types: []string{"boolean"}, flags: readOnly, zero: false},
		},
		links: map[string]link{"ports": {since: since.First}},
		list: listRules{
			defaults: []string{"uuid", "address", "name"}, detailSince: since.Detail, detailPath: true,
			filters: []filter{
				byNode("node"), byAddress, byNodeShard(since.PortGroupShard),
				{name: "conductor_groups", since: since.ConductorGroupFilter, decode: decodeList, apply: byConductorGroups},
			},
		},
		write: writeRules{
			loadFirst: true,
			prepare: func(_ *rest.Request, body any) error {
				if object, _ := body.(map[string]any); object["mode"] == "" {
					delete(object, "mode") // its default is stored
				}
				return nil
			},
			tooNew:      newForPortGroup,
			checkValues: checkNames("portgroup"),
			checkPatched: func(_ *rest.Request, patched map[string]any) error {
				if _, has := patched["mode"]; !has {
					return fault.Invalid("'mode' is a mandatory attribute and can not be removed")
				}
				return nil
			},
			check: checkPortGroup,
			allow: allowPortGroup,
			duplicate: func(o conductor.Object) string {
				return fmt.Sprintf("A portgroup with MAC address %s already exists.", o.(*conductor.PortGroup).Address)
			},
			deletable: portGroupEmpty,
		},
	}

	connectorResource = &resource{
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
		write: writeRules{
			quoteNode: true, loadFirst: true,
			checkValues: checkNodeUUIDs,
			allow:       volumeUpdate("volume connector update"),
			duplicate: func(o conductor.Object) string {
				v := o.(*conductor.VolumeConnector)
				return fmt.Sprintf("A volume connector with type %s and connector ID %s already exists.", v.Type, v.ConnectorID)
			},
			deletable: checkVolume("volume connector deletion", admission.Rules.DeleteVolume),
		},
	}

	targetResource = &resource{
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
		write: writeRules{
			quoteNode: true, loadFirst: true,
			checkValues: checkNodeUUIDs,
			allow:       volumeUpdate("volume target update"),
			duplicate: func(o conductor.Object) string {
				return fmt.Sprintf("A volume target with boot index '%v' for the same node already exists.", o.(*conductor.VolumeTarget).BootIndex)
			},
			deletable: checkVolume("volume target deletion", admission.Rules.DeleteVolume),
		},
	}

	templateResource = &resource{
		of: &conductor.DeployTemplate{}, path: "deploy_templates", word: "template", noun: "Deploy template", since: since.DeployTemplates,
		suffixed: true,
		fields: []field{
			uuidField,
			{name: "name", flags: required, schema: func(*rest.Service) *schema.Schema { return traits.Schema }},
			{name: "description", types: schema.TextOrNull, flags: hidden, max: 255},
			extraField,
			{name: "steps", flags: required, zero: []any{}, schema: StepsSchema("priority", true), convert: toSteps("priority"), mask: maskSteps},
		},
		list:  listRules{defaults: []string{"uuid", "name"}, detailSince: since.Detail, marker: (*rest.Args).Name, sortKeyFirst: true},
		write: writeRules{patched: []string{"extra", "name", "steps", "description"}, checkPatched: checkTemplateSteps},
	}

	runbookResource = &resource{
		of: &conductor.Runbook{}, path: "runbooks", word: "runbook", noun: "Runbook", since: since.Runbooks,
		suffixed: true,
		fields: []field{
			uuidField,
			{name: "name", types: schema.TextType, flags: required},
			extraField,
			{name: "public", types: []string{"boolean", "null"}, zero: false},
			{name: "owner", types: schema.TextOrNull, max: 255},
			{name: "disable_ramdisk", types: []string{"boolean", "null"}, zero: false},
			{name: "description", since: since.RunbookTraits, types: schema.TextOrNull, max: 255},
			{name: "steps", flags: required, zero: []any{}, schema: StepsSchema("order", false), convert: toSteps("order"), mask: maskSteps},
			{name: "traits", since: since.RunbookTraits, flags: readOnly, zero: []any{}},
		},
		list:  listRules{defaults: []string{"uuid", "name"}, detailSince: since.Detail, marker: (*rest.Args).Name},
		write: writeRules{check: checkRunbookName},
	}

	// The conductor chooses the nodes of allocations.
	allocationResource = &resource{
		of: &conductor.Allocation{}, path: "allocations", word: "allocation", noun: "Allocation", since: since.Allocations,
		suffixed: true,
		fields: []field{
			uuidField,
			{name: "candidate_nodes", flags: fixed, zero: []any{}, schema: listOf(&schema.Schema{Types: schema.TextType})},
			extraField,
			{name: "last_error", flags: readOnly},
			{name: "name", types: schema.TextOrNull},
			{name: "owner", since: since.AllocationOwner, types: schema.TextOrNull, flags: fixed},
			{name: "resource_class", types: schema.TextOrNull, flags: fixed, max: 80},
			{name: "state", flags: readOnly},
			{name: "traits", flags: fixed, zero: []any{}, schema: listOf(traits.Schema)},
			{name: "node_uuid", flags: readOnly | noColumn},
			// Clients set node in a POST; responses show node_uuid.
			{name: "node", types: schema.TextOrNull, flags: fixed | hidden, storedAs: "node_uuid"},
		},
		list: listRules{
			filters:      []filter{ofAllocatedNode, byText("resource_class"), byText("state"), ownedBy},
			early:        []string{"node", "resource_class", "state"},
			sortKeyFirst: true, newSortKeys: true,
		},
		write: writeRules{
			anyIdent: true, loadFirst: true, uuidFirst: true,
			patchSince:  since.AllocationPatch,
			patched:     []string{"name", "extra"},
			checkValues: checkNames("allocation"),
			check: func(r *rest.Request, before, o conductor.Object) error {
				return checkNewName(r, before, o, "allocation")
			},
		},
	}
)

// maskTarget hides the properties of a volume target, which may contain credentials.
func maskTarget(v any) any {
	properties, _ := v.(map[string]any)
	if len(properties) == 0 {
		return noObject
	}
	return masked.Object(properties)
}

// checkRunbookName refuses a name that is no trait, and from since.RunbookTraits one that is no logical
// name.
func checkRunbookName(r *rest.Request, _, o conductor.Object) error {
	if r.Version < since.RunbookTraits {
		return traits.Schema.Validate("runbook", o.Meta().Name)
	}
	if !rest.IsName(o.Meta().Name) {
		return fault.Schema("runbook", `%s does not match '^[A-Za-z0-9\-._~]+$'`, fault.Repr(o.Meta().Name))
	}
	return nil
}
