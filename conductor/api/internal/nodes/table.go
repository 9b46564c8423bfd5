// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"maps"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

type node = conductor.Node

// allFields are the fields of a node, in the order of Ironic's responses. links has
// the fields with links after them. The fields that are not sortable are no columns of Ironic's node table.
//
// Source: ironic/api/controllers/v1/node.py and VERSIONED_FIELDS in utils.py.
var allFields = []field{
	uuidTextField("uuid", since.First, func(n *node) *string { return &n.UUID }).creatable(),
	timeField("created_at", since.First, func(n *node) *time.Time { return &n.CreatedAt }).notSelectable(),
	timeField("updated_at", since.First, func(n *node) *time.Time { return n.UpdatedAt }).notSelectable(),
	choiceField("automated_clean", since.AutomatedClean, func(n *node) **bool { return &n.AutomatedClean }).editable(),
	interfaceField("bios", since.BIOS),
	interfaceField("boot", since.Interfaces),
	textField("boot_mode", since.BootMode, func(n *node) *string { return &n.BootMode }).creatable(),
	stepField("clean_step", since.CleanStep, cleanSteps),
	conductorGroup,
	flagField("console_enabled", since.First, func(n *node) *bool { return &n.ConsoleEnabled }).creatable(),
	interfaceField("console", since.Interfaces),
	interfaceField("deploy", since.Interfaces),
	stepField("deploy_step", since.DeployStep, deploySteps),
	textField("description", since.Description, func(n *node) *string { return &n.Description }).editable().atMost(4096),
	flagField("disable_power_off", since.DisablePowerOff, func(n *node) *bool { return &n.DisablePowerOff }).editable(),
	driverField,
	mapField("driver_info", since.First, func(n *node) *map[string]any { return &n.DriverInfo }).editable().masked(masked.Object),
	internalInfoField,
	mapField("extra", since.First, func(n *node) *map[string]any { return &n.Extra }).editable(),
	shownField("fault", since.Fault, func(_ *rest.Request, n *node) string { return n.Fault }),
	interfaceField("firmware", since.Firmware),
	shownField("health", since.Health, func(_ *rest.Request, n *node) string { return n.Health }),
	timeField("inspection_finished_at", since.Inspection, func(n *node) *time.Time { return n.InspectionFinishedAt }),
	timeField("inspection_started_at", since.Inspection, func(n *node) *time.Time { return n.InspectionStartedAt }),
	interfaceField("inspect", since.Interfaces),
	mapField("instance_info", since.First, func(n *node) *map[string]any { return &n.InstanceInfo }).editable().masked(maskInstance),
	textField("instance_name", since.InstanceName, func(n *node) *string { return &n.InstanceName }).editable().atMost(255),
	uuidTextField("instance_uuid", since.First, func(n *node) *string { return &n.InstanceUUID }).editable(),
	shownField("last_error", since.First, func(_ *rest.Request, n *node) string { return n.LastError }),
	textField("lessee", since.Lessee, func(n *node) *string { return &n.Lessee }).editable(),
	flagField("maintenance", since.First, func(n *node) *bool { return &n.Maintenance }).editable(),
	textField("maintenance_reason", since.First, func(n *node) *string { return &n.MaintenanceReason }),
	interfaceField("management", since.Interfaces),
	textField("name", since.Names, func(n *node) *string { return &n.Name }).editable(),
	mapField("network_data", since.NetworkData, func(n *node) *map[string]any { return &n.NetworkData }).editable().describedBy(networkDataSchema),
	interfaceField("network", since.NetworkInterface),
	textField("owner", since.Owner, func(n *node) *string { return &n.Owner }).editable(),
	textField("parent_node", since.Children, func(n *node) *string { return &n.ParentNode }).editable().atMost(36),
	interfaceField("power", since.Interfaces),
	powerField("power_state", func(n *node) states.Power { return n.Power }),
	mapField("properties", since.First, func(n *node) *map[string]any { return &n.Properties }).editable(),
	flagField("protected", since.Protected, func(n *node) *bool { return &n.Protected }).patchable(),
	textField("protected_reason", since.Protected, func(n *node) *string { return &n.ProtectedReason }).patchable(),
	provisionStateField,
	timeField("provision_updated_at", since.First, func(n *node) *time.Time { return n.ProvisionUpdatedAt }),
	mapField("raid_config", since.RAID, func(n *node) *map[string]any { return &n.RAIDConfig }),
	interfaceField("raid", since.Interfaces),
	interfaceField("rescue", since.RescueInterface),
	shownField("reservation", since.First, func(_ *rest.Request, n *node) string { return n.Reservation }),
	textField("resource_class", since.ResourceClass, func(n *node) *string { return &n.ResourceClass }).editable().atMost(80),
	flagField("retired", since.Retired, func(n *node) *bool { return &n.Retired }).editable(),
	textField("retired_reason", since.Retired, func(n *node) *string { return &n.RetiredReason }).editable(),
	choiceField("secure_boot", since.BootMode, func(n *node) **bool { return &n.SecureBoot }).creatable(),
	stepField("service_step", since.ServiceStep, serviceSteps),
	textField("shard", since.Shards, func(n *node) *string { return &n.Shard }).editable(),
	interfaceField("storage", since.StorageInterface),
	powerField("target_power_state", func(n *node) states.Power { return n.TargetPower }),
	stateField("target_provision_state", func(n *node) states.State { return n.TargetProvisionState }),
	mapField("target_raid_config", since.RAID, func(n *node) *map[string]any { return &n.TargetRAIDConfig }),
	{name: "traits", since: since.Traits, write: func(w *wire.Writer, _ *rest.Request, n *node) { w.Texts(n.Traits) }},
	interfaceField("vendor", since.Interfaces),
	shownField("conductor", since.Conductors, func(r *rest.Request, n *node) string { return owner(r.Service, n) }).notSortable(),
	shownField("allocation_uuid", since.Allocations, func(_ *rest.Request, n *node) string { return n.AllocationUUID }).notSortable(),
	uuidTextField("chassis_uuid", since.First, func(n *node) *string { return &n.ChassisUUID }).editable().notSortable(),
}

// conductorGroup is stored in lower case. Its JSON form for no group is the empty text, not null.
var conductorGroup = func() field {
	f := textField("conductor_group", since.ConductorGroup, func(n *node) *string { return &n.ConductorGroup }).editable()
	f.write = func(w *wire.Writer, _ *rest.Request, n *node) { w.Text(n.ConductorGroup) }
	f.get = func(n *node) any { return n.ConductorGroup }
	f.set = func(n *node, v any) error {
		s, _ := v.(string)
		n.ConductorGroup = strings.ToLower(s)
		return nil
	}
	return f
}()

// driverField does not accept null.
var driverField = func() field {
	f := textField("driver", since.First, func(n *node) *string { return &n.Driver }).editable()
	f.types = []string{"string"}
	return f
}()

// provisionStateField shows a state as the API version of the request names it.
var provisionStateField = func() field {
	f := stateField("provision_state", func(n *node) states.State { return n.ProvisionState })
	f.write = func(w *wire.Writer, r *rest.Request, n *node) { w.State(r.Version.Show(n.ProvisionState)) }
	return f
}()

// fieldsByName indexes allFields. Its initialization also sets their keys.
var fieldsByName = func() map[string]*field {
	byName := make(map[string]*field, len(allFields))
	for i := range allFields {
		allFields[i].key = `"` + allFields[i].name + `":`
		byName[allFields[i].name] = &allFields[i]
	}
	return byName
}()

// defaultFields are the fields of a list without detail.
var defaultFields = []string{"instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name"}

// owner returns the name of the conductor that owns a node, empty for none.
func owner(s *rest.Service, n *node) string {
	owner, _ := s.Conductor.Owner(n)
	return owner.Hostname
}

// maskInstance masks the secrets, the config drive and the URL of the image: a config drive may
// contain secrets, and the URL may grant access to the image.
//
// Source: node_sanitize in ironic/api/controllers/v1/node.py.
func maskInstance(m map[string]any) map[string]any {
	shown := masked.Object(m)
	for _, key := range []string{"configdrive", "image_url"} {
		if v := m[key]; v != nil && v != "" {
			shown = maps.Clone(shown)
			shown[key] = masked.Secret
		}
	}
	return shown
}
