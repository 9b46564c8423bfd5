// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"maps"
	"net/http"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

type node = conductor.Node

// maxDescription is the maximum length of a node's description in characters.
const maxDescription = 4096

// nodeFields are the fields of a node, in the order of Ironic's responses.
//
// Source: ironic/api/controllers/v1/node.py and VERSIONED_FIELDS in utils.py.
var nodeFields = []field{
	uuidField,
	{name: "automated_clean", since: since.AutomatedClean, types: schema.BooleanTypes, convert: toBoolean},
	interfaceField("bios", since.BIOS),
	interfaceField("boot", since.Interfaces),
	{name: "boot_mode", since: since.BootMode, types: schema.TextOrNull, flags: fixed},
	stepField("clean_step", since.CleanStep, states.WorkClean),
	{name: "conductor_group", since: since.ConductorGroup, types: schema.TextOrNull, zero: "", convert: toGroup},
	{name: "console_enabled", types: schema.BooleanTypes, flags: fixed, convert: toBoolean},
	interfaceField("console", since.Interfaces),
	interfaceField("deploy", since.Interfaces),
	stepField("deploy_step", since.DeployStep, states.WorkDeploy),
	{name: "description", since: since.Description, types: schema.TextOrNull, max: maxDescription},
	{name: "disable_power_off", since: since.DisablePowerOff, types: schema.BooleanTypes, convert: toBoolean},
	{name: "driver", types: schema.TextType, flags: required},
	{name: "driver_info", types: schema.ObjectOrNull, zero: noObject, mask: masked.Value},
	internalInfoField,
	extraField,
	{name: "fault", since: since.Fault, flags: readOnly},
	interfaceField("firmware", since.Firmware),
	{name: "health", since: since.Health, flags: readOnly},
	{name: "inspection_finished_at", since: since.Inspection, flags: readOnly},
	{name: "inspection_started_at", since: since.Inspection, flags: readOnly},
	interfaceField("inspect", since.Interfaces),
	{name: "instance_info", types: schema.ObjectOrNull, zero: noObject, mask: maskInstance},
	{name: "instance_name", since: since.InstanceName, schema: func(*rest.Request) *schema.Schema {
		return &schema.Schema{Types: schema.TextOrNull, MinLength: 1, MaxLength: 255}
	}},
	{name: "instance_uuid", types: schema.TextOrNull, convert: toUUID},
	{name: "last_error", flags: readOnly},
	{name: "lessee", since: since.Lessee, types: schema.TextOrNull},
	{name: "maintenance", types: schema.BooleanTypes, convert: toBoolean},
	{name: "maintenance_reason", flags: readOnly},
	interfaceField("management", since.Interfaces),
	{name: "name", since: since.Names, types: schema.TextOrNull},
	{name: "network_data", since: since.NetworkData, zero: noObject, schema: networkDataField},
	interfaceField("network", since.NetworkInterface),
	{name: "owner", since: since.Owner, types: schema.TextOrNull},
	{name: "parent_node", since: since.Children, types: schema.TextOrNull, max: 36},
	interfaceField("power", since.Interfaces),
	{name: "power_state", flags: readOnly},
	{name: "properties", types: schema.ObjectOrNull, zero: noObject},
	{name: "protected", since: since.Protected, types: schema.BooleanTypes, flags: patchOnly, convert: toBoolean},
	{name: "protected_reason", since: since.Protected, types: schema.TextOrNull, flags: patchOnly},
	{name: "provision_state", flags: readOnly, shown: shownState},
	{name: "provision_updated_at", flags: readOnly},
	{name: "raid_config", since: since.RAID, flags: readOnly, zero: noObject},
	interfaceField("raid", since.Interfaces),
	interfaceField("rescue", since.RescueInterface),
	{name: "reservation", flags: readOnly, shown: shownReservation},
	{name: "resource_class", since: since.ResourceClass, types: schema.TextOrNull, max: 80},
	{name: "retired", since: since.Retired, types: schema.BooleanTypes, convert: toBoolean},
	{name: "retired_reason", since: since.Retired, types: schema.TextOrNull},
	{name: "secure_boot", since: since.BootMode, types: schema.BooleanTypes, flags: fixed, convert: toTruth},
	stepField("service_step", since.ServiceStep, states.WorkService),
	{name: "shard", since: since.Shards, types: schema.TextOrNull},
	interfaceField("storage", since.StorageInterface),
	{name: "target_power_state", flags: readOnly},
	{name: "target_provision_state", flags: readOnly},
	{name: "target_raid_config", since: since.RAID, flags: readOnly, zero: noObject},
	{name: "traits", since: since.Traits, flags: readOnly, zero: []any{}},
	interfaceField("vendor", since.Interfaces),
	{name: "conductor", since: since.Conductors, flags: readOnly | noColumn, text: owner},
	{name: "allocation_uuid", since: since.Allocations, flags: readOnly | noColumn},
	{name: "chassis_uuid", types: schema.TextOrNull, flags: noColumn, convert: toUUID},
}

// interfaceField returns the field with the hardware interface of a kind. Responses show the default of the hardware
// type if the node names no interface.
func interfaceField(kind string, since states.APIVersion) field {
	return field{
		name: kind + "_interface", since: since, types: schema.TextOrNull,
		get: func(o record) any {
			if name := o.(*node).Interfaces[kind]; name != "" {
				return name
			}
			return nil
		},
		set: func(o record, v any) {
			n := o.(*node)
			name, named := v.(string)
			if !named {
				delete(n.Interfaces, kind)
				return
			}
			if n.Interfaces == nil {
				n.Interfaces = map[string]string{}
			}
			n.Interfaces[kind] = name
		},
		text: func(r *rest.Request, o record) string { return r.InterfaceOf(o.(*node), kind) },
	}
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// toGroup converts a conductor group to lower case, and no group to null.
func toGroup(_ *rest.Request, _ string, v any) (any, error) {
	return textOrNil(strings.ToLower(v.(string))), nil
}

// toTruth returns whether a value is true in Python, as each text but the empty one.
func toTruth(_ *rest.Request, _ string, v any) (any, error) { return pyrepr.Truthy(v), nil }

// shownState returns a provision state as the version of the request names it.
func shownState(r *rest.Request, o record, _ any) any {
	return r.Version.Show(o.(*node).ProvisionState)
}

// shownReservation returns the reservation of a node. Ironic responds to a PATCH while it holds the node's lock.
func shownReservation(r *rest.Request, _ record, v any) any {
	if r.Method == http.MethodPatch {
		return r.Conductor.Name()
	}
	return v
}

// owner returns the name of the conductor that owns a node, empty for none.
func owner(r *rest.Request, o record) string {
	owner, _ := r.Conductor.Owner(o.(*node))
	return owner.Hostname
}

// maskInstance masks the secrets, the config drive and the URL of the image: a config drive may
// contain secrets, and the URL may grant access to the image.
//
// Source: node_sanitize in ironic/api/controllers/v1/node.py.
func maskInstance(v any) any {
	info, _ := v.(map[string]any) // in the fault of a patch it may be anything
	shown := masked.Object(info)
	for _, key := range []string{"configdrive", "image_url"} {
		if v := shown[key]; v != nil && v != "" {
			shown = maps.Clone(shown)
			shown[key] = masked.Secret
		}
	}
	return shown
}
