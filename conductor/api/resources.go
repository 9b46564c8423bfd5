package api

import (
	"fmt"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// The fields that several resources share.
var (
	uuidField  = objectField{name: "uuid", types: textOrNull, fixed: true, convert: toUUID("uuid")}
	ownerNode  = objectField{name: "node_uuid", types: textType, required: true, convert: toUUID("node_uuid")}
	volumeNode = objectField{name: "node_uuid", types: textType, required: true, noColumn: true, convert: toUUID("node_uuid")}
	extraField = objectField{name: "extra", types: objectType, zero: noObject}
)

func internalInfo(since states.APIVersion) objectField {
	return objectField{name: "internal_info", since: since, types: objectType, zero: noObject, readOnly: true}
}

// Sources: the files of the same names in ironic/api/controllers/v1.
var (
	chassisResource = &resource{
		of: &conductor.Chassis{}, path: "chassis", list: "chassis", detailed: true, schema: "chassis", noun: "Chassis",
		fields: []objectField{
			uuidField,
			extraField,
			{name: "description", types: textOrNull, max: 255},
		},
		inOrder: true, touched: true, fieldsFirst: true, check: sameUUID,
		patched:    []string{"uuid", "extra", "description"},
		looseIdent: true,
		defaults:   []string{"uuid", "description"}, detailSince: since.Detail,
		links:     map[string]states.APIVersion{"nodes": since.First},
		deletable: chassisEmpty,
	}

	portResource = &resource{
		of: &conductor.Port{}, path: "ports", list: "ports", detailed: true, schema: "port", noun: "Port",
		fields: []objectField{
			uuidField,
			{name: "address", types: textType, required: true, convert: toMAC},
			extraField,
			internalInfo(since.PortInternalInfo),
			{name: "is_smartnic", since: since.SmartNIC, types: booleanTypes, zero: false, nullable: true, convert: toTruth("is_smartnic")},
			{name: "local_link_connection", since: since.PortConnectivity, types: []string{"null", "object"}, zero: noObject, convert: toLocalLink},
			{name: "physical_network", since: since.PortPhysicalNetwork, types: textOrNull, max: 64},
			{name: "pxe_enabled", since: since.PortConnectivity, types: booleanTypes, zero: true, convert: toTruth("pxe_enabled")},
			ownerNode,
			{name: "name", since: since.PortName, types: textOrNull},
			{name: "description", since: since.PortDescription, types: textOrNull, max: 255},
			{name: "vendor", since: since.PortVendor, types: textOrNull, max: 32},
			{name: "category", since: since.PortCategory, types: textOrNull, max: 80},
			{name: "available_for_dynamic_portgroup", since: since.DynamicPortGroups, types: []string{"boolean"}, zero: true},
			{name: "portgroup_uuid", since: since.PortGroupsBelow, types: textOrNull, noColumn: true, convert: toUUID("portgroup_uuid")},
		},
		defaults: []string{"uuid", "address"}, detailSince: since.Detail,
		filters: []objectFilter{
			byPortGroup, byNode("node_uuid"), byNode("node"), byAddress, byNodeShard(since.Shards),
			{name: "description_contains", since: since.PortDescription, decode: decodeText, apply: byDescription},
			{name: "conductor_groups", since: since.ConductorGroupFilter, decode: decodeList, apply: byConductorGroups},
		},
		early:     []string{"node", "node_uuid", "address"},
		exclusive: errNotPermitted, uuidFirst: true,
		duplicate: func(o conductor.Object) string {
			return fmt.Sprintf("A port with MAC address %s already exists.", o.(*conductor.Port).Address)
		},
		prepare: namePortNode,
		tooNew:  newForPort,
		check:   checkPort,
		allow:   allowPort,
		locks:   true,

		checkValues: checkNames("port"),
	}

	portGroupResource = &resource{
		of: &conductor.PortGroup{}, path: "portgroups", list: "portgroups", detailed: true, schema: "portgroup", noun: "Portgroup",
		since: since.PortGroups, named: true, loadFirst: true, tooNew: newForPortGroup,
		fields: []objectField{
			uuidField,
			{name: "address", types: textOrNull, convert: toMAC},
			extraField,
			internalInfo(since.First),
			{name: "mode", since: since.PortGroupMode, shown: true, types: textOrNull, zero: "active-backup"},
			{name: "name", types: textOrNull},
			{name: "properties", since: since.PortGroupMode, shown: true, types: objectType, zero: noObject},
			{name: "standalone_ports_supported", types: booleanTypes, zero: true, convert: toTruth("standalone_ports_supported")},
			ownerNode,
			{name: "physical_network", since: since.PortGroupPhysicalNetwork, types: textOrNull, max: 64},
			{name: "category", since: since.PortGroupCategory, types: textOrNull, max: 80},
			{name: "dynamic_portgroup", since: since.DynamicPortGroups, types: []string{"boolean"}, zero: false, readOnly: true},
		},
		defaults: []string{"uuid", "address", "name"}, detailSince: since.Detail,
		links: map[string]states.APIVersion{"ports": since.First},
		filters: []objectFilter{
			byNode("node"), byAddress, byNodeShard(since.PortGroupShard),
			{name: "conductor_groups", since: since.ConductorGroupFilter, decode: decodeList, apply: byConductorGroups},
		},
		duplicate: func(o conductor.Object) string {
			return fmt.Sprintf("A portgroup with MAC address %s already exists.", o.(*conductor.PortGroup).Address)
		},
		checkValues: checkNames("portgroup"),

		check:     checkPortGroup,
		allow:     allowPortGroup,
		deletable: portGroupEmpty,
	}

	connectorResource = &resource{
		of: &conductor.VolumeConnector{}, path: "volume/connectors", list: "connectors", schema: "connector", noun: "Volume connector",
		since: since.Volumes, loadFirst: true,
		fields: []objectField{
			uuidField,
			{name: "connector_id", types: textType, required: true},
			extraField,
			{name: "type", types: textType, required: true},
			volumeNode,
		},
		defaults: []string{"uuid", "node_uuid", "type", "connector_id"},
		filters:  []objectFilter{byNode("node"), ignoredProject},
		duplicate: func(o conductor.Object) string {
			v := o.(*conductor.VolumeConnector)
			return fmt.Sprintf("A volume connector with type %s and connector ID %s already exists.", v.Type, v.ConnectorID)
		},
		noNode: "Invalid input for field/attribute node_uuid. Value: '%s'. ",
		allow:  volumeUpdate("volume connector update"),

		checkValues: checkNodeUUIDs,

		deletable: checkVolume("volume connector deletion", admission.Rules.DeleteVolume),
	}

	targetResource = &resource{
		of: &conductor.VolumeTarget{}, path: "volume/targets", list: "targets", schema: "target", noun: "Volume target",
		since: since.Volumes, loadFirst: true,
		fields: []objectField{
			uuidField,
			{name: "boot_index", types: []string{"integer"}, required: true, convert: toInteger},
			extraField,
			{name: "properties", types: objectType, zero: noObject, secret: true, mask: maskTarget},
			{name: "volume_id", types: textType, required: true},
			{name: "volume_type", types: textType, required: true},
			volumeNode,
		},
		defaults: []string{"uuid", "node_uuid", "volume_type", "boot_index", "volume_id"},
		filters:  []objectFilter{byNode("node"), ignoredProject},
		duplicate: func(o conductor.Object) string {
			return fmt.Sprintf("A volume target with boot index '%v' for the same node already exists.", o.(*conductor.VolumeTarget).BootIndex)
		},
		noNode: "Invalid input for field/attribute node_uuid. Value: '%s'. ",
		allow:  volumeUpdate("volume target update"),

		checkValues: checkNodeUUIDs,

		deletable: checkVolume("volume target deletion", admission.Rules.DeleteVolume),
	}

	templateResource = &resource{
		of: &conductor.DeployTemplate{}, path: "deploy_templates", list: "deploy_templates", schema: "template", noun: "Deploy template",
		since: since.DeployTemplates, named: true, suffixed: true, sortFirst: true,
		fields: []objectField{
			uuidField,
			{name: "name", required: true, schema: func(*service) *schema { return traitSchema }},
			{name: "description", types: textOrNull, max: 255, asked: true},
			extraField,
			{name: "steps", required: true, unsorted: true, schema: stepsSchema("priority", true), convert: toSteps("priority"), mask: maskSteps},
		},
		patched:  []string{"extra", "name", "steps", "description"},
		defaults: []string{"uuid", "name"}, detailSince: since.Detail,
	}

	runbookResource = &resource{
		of: &conductor.Runbook{}, path: "runbooks", list: "runbooks", schema: "runbook", noun: "Runbook",
		since: since.Runbooks, named: true, suffixed: true,
		fields: []objectField{
			uuidField,
			{name: "name", types: textType, required: true},
			extraField,
			{name: "public", types: []string{"boolean", "null"}, zero: false},
			{name: "owner", types: textOrNull, max: 255},
			{name: "disable_ramdisk", types: []string{"boolean", "null"}, zero: false},
			{name: "description", since: since.RunbookTraits, types: textOrNull, max: 255},
			{name: "steps", required: true, unsorted: true, schema: stepsSchema("order", false), convert: toSteps("order"), mask: maskSteps},
			{name: "traits", since: since.RunbookTraits, zero: []any{}, readOnly: true},
		},
		defaults: []string{"uuid", "name"}, detailSince: since.Detail,
		check: checkRunbookName,
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
func checkRunbookName(r *request, _, o conductor.Object) error {
	if r.version < since.RunbookTraits {
		return traitSchema.validate("runbook", o.Meta().Name)
	}
	if !isName(o.Meta().Name) {
		return schemaError("runbook", `%s does not match '^[A-Za-z0-9\-._~]+$'`, repr(o.Meta().Name))
	}
	return nil
}

// resources are all resources.
var resources = []*resource{
	chassisResource, portResource, portGroupResource, connectorResource, targetResource, templateResource, runbookResource, allocationResource,
}
