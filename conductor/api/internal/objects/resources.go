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
	"github.com/ironstate/ironstate/states"
)

// The fields that several resources share.
var (
	uuidField  = field{name: "uuid", types: schema.TextOrNull, fixed: true, convert: toUUID("uuid")}
	ownerNode  = field{name: "node_uuid", types: schema.TextType, required: true, convert: toUUID("node_uuid")}
	volumeNode = field{name: "node_uuid", types: schema.TextType, required: true, noColumn: true, convert: toUUID("node_uuid")}
	extraField = field{name: "extra", types: schema.ObjectOrNull, zero: noObject}
)

func internalInfo(since states.APIVersion) field {
	return field{name: "internal_info", since: since, types: schema.ObjectOrNull, zero: noObject, readOnly: true}
}

// Sources: the files of the same names in ironic/api/controllers/v1.
var (
	chassisResource = &resource{
		of: &conductor.Chassis{}, path: "chassis", list: "chassis", detailed: true, schema: "chassis", noun: "Chassis",
		fields: []field{
			uuidField,
			extraField,
			{name: "description", types: schema.TextOrNull, max: 255},
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
		fields: []field{
			uuidField,
			{name: "address", types: schema.TextType, required: true, convert: toMAC},
			extraField,
			internalInfo(since.PortInternalInfo),
			{name: "is_smartnic", since: since.SmartNIC, types: schema.BooleanTypes, zero: false, nullable: true, convert: toTruth("is_smartnic")},
			{name: "local_link_connection", since: since.PortConnectivity, types: []string{"null", "object"}, zero: noObject, convert: toLocalLink},
			{name: "physical_network", since: since.PortPhysicalNetwork, types: schema.TextOrNull, max: 64},
			{name: "pxe_enabled", since: since.PortConnectivity, types: schema.BooleanTypes, zero: true, convert: toTruth("pxe_enabled")},
			ownerNode,
			{name: "name", since: since.PortName, types: schema.TextOrNull},
			{name: "description", since: since.PortDescription, types: schema.TextOrNull, max: 255},
			{name: "vendor", since: since.PortVendor, types: schema.TextOrNull, max: 32},
			{name: "category", since: since.PortCategory, types: schema.TextOrNull, max: 80},
			{name: "available_for_dynamic_portgroup", since: since.DynamicPortGroups, types: []string{"boolean"}, zero: true},
			{name: "portgroup_uuid", since: since.PortGroupsBelow, types: schema.TextOrNull, noColumn: true, convert: toUUID("portgroup_uuid")},
		},
		defaults: []string{"uuid", "address"}, detailSince: since.Detail,
		filters: []filter{
			byPortGroup, byNode("node_uuid"), byNode("node"), byAddress, byNodeShard(since.Shards),
			{name: "description_contains", since: since.PortDescription, decode: decodeText, apply: byDescription},
			{name: "conductor_groups", since: since.ConductorGroupFilter, decode: decodeList, apply: byConductorGroups},
		},
		early:     []string{"node", "node_uuid", "address"},
		exclusive: fault.NotPermitted, uuidFirst: true,
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
		fields: []field{
			uuidField,
			{name: "address", types: schema.TextOrNull, convert: toMAC},
			extraField,
			internalInfo(since.First),
			{name: "mode", since: since.PortGroupMode, shown: true, types: schema.TextOrNull, zero: "active-backup"},
			{name: "name", types: schema.TextOrNull},
			{name: "properties", since: since.PortGroupMode, shown: true, types: schema.ObjectOrNull, zero: noObject},
			{name: "standalone_ports_supported", types: schema.BooleanTypes, zero: true, convert: toTruth("standalone_ports_supported")},
			ownerNode,
			{name: "physical_network", since: since.PortGroupPhysicalNetwork, types: schema.TextOrNull, max: 64},
			{name: "category", since: since.PortGroupCategory, types: schema.TextOrNull, max: 80},
			{name: "dynamic_portgroup", since: since.DynamicPortGroups, types: []string{"boolean"}, zero: false, readOnly: true},
		},
		defaults: []string{"uuid", "address", "name"}, detailSince: since.Detail,
		links: map[string]states.APIVersion{"ports": since.First},
		filters: []filter{
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
		fields: []field{
			uuidField,
			{name: "connector_id", types: schema.TextType, required: true},
			extraField,
			{name: "type", types: schema.TextType, required: true},
			volumeNode,
		},
		defaults: []string{"uuid", "node_uuid", "type", "connector_id"},
		filters:  []filter{byNode("node"), ignoredProject},
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
		fields: []field{
			uuidField,
			{name: "boot_index", types: []string{"integer"}, required: true, convert: toInteger},
			extraField,
			{name: "properties", types: schema.ObjectOrNull, zero: noObject, secret: true, mask: maskTarget},
			{name: "volume_id", types: schema.TextType, required: true},
			{name: "volume_type", types: schema.TextType, required: true},
			volumeNode,
		},
		defaults: []string{"uuid", "node_uuid", "volume_type", "boot_index", "volume_id"},
		filters:  []filter{byNode("node"), ignoredProject},
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
		fields: []field{
			uuidField,
			{name: "name", required: true, schema: func(*rest.Service) *schema.Schema { return traits.Schema }},
			{name: "description", types: schema.TextOrNull, max: 255, asked: true},
			extraField,
			{name: "steps", required: true, unsorted: true, schema: StepsSchema("priority", true), convert: toSteps("priority"), mask: maskSteps},
		},
		patched:  []string{"extra", "name", "steps", "description"},
		defaults: []string{"uuid", "name"}, detailSince: since.Detail,
	}

	runbookResource = &resource{
		of: &conductor.Runbook{}, path: "runbooks", list: "runbooks", schema: "runbook", noun: "Runbook",
		since: since.Runbooks, named: true, suffixed: true,
		fields: []field{
			uuidField,
			{name: "name", types: schema.TextType, required: true},
			extraField,
			{name: "public", types: []string{"boolean", "null"}, zero: false},
			{name: "owner", types: schema.TextOrNull, max: 255},
			{name: "disable_ramdisk", types: []string{"boolean", "null"}, zero: false},
			{name: "description", since: since.RunbookTraits, types: schema.TextOrNull, max: 255},
			{name: "steps", required: true, unsorted: true, schema: StepsSchema("order", false), convert: toSteps("order"), mask: maskSteps},
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
func checkRunbookName(r *rest.Request, _, o conductor.Object) error {
	if r.Version < since.RunbookTraits {
		return traits.Schema.Validate("runbook", o.Meta().Name)
	}
	if !rest.IsName(o.Meta().Name) {
		return fault.Schema("runbook", `%s does not match '^[A-Za-z0-9\-._~]+$'`, fault.Repr(o.Meta().Name))
	}
	return nil
}

// resources are all resources.
var resources = []*resource{
	chassisResource, portResource, portGroupResource, connectorResource, targetResource, templateResource, runbookResource, allocationResource,
}
