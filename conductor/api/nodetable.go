package api

import (
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

type node = conductor.Node

// nodeFields are the fields of a node, in the order of Ironic's responses. writeNodeLinks writes
// the fields with links after them.
//
// Source: ironic/api/controllers/v1/node.py and VERSIONED_FIELDS in utils.py.
var nodeFields = []nodeField{
	uuidTextField("uuid", 1, func(n *node) *string { return &n.UUID }).creatable(),
	timeField("created_at", 1, func(n *node) *time.Time { return &n.CreatedAt }).notChosen(),
	timeField("updated_at", 1, func(n *node) *time.Time { return n.UpdatedAt }).notChosen(),
	choiceField("automated_clean", 47, func(n *node) **bool { return &n.AutomatedClean }).editable(),
	interfaceField("bios", 40),
	interfaceField("boot", 31),
	textField("boot_mode", 75, func(n *node) *string { return &n.BootMode }).creatable(),
	stepField("clean_step", 7),
	conductorGroup,
	flagField("console_enabled", 1, func(n *node) *bool { return &n.ConsoleEnabled }).creatable(),
	interfaceField("console", 31),
	interfaceField("deploy", 31),
	stepField("deploy_step", 44),
	textField("description", 51, func(n *node) *string { return &n.Description }).editable().atMost(4096),
	flagField("disable_power_off", 95, func(n *node) *bool { return &n.DisablePowerOff }).editable(),
	driverField,
	mapField("driver_info", 1, func(n *node) *map[string]any { return &n.DriverInfo }).editable().masked(masked.Object),
	internalInfoField,
	mapField("extra", 1, func(n *node) *map[string]any { return &n.Extra }).editable(),
	shownField("fault", 42, func(_ *request, n *node) string { return n.Fault }),
	interfaceField("firmware", 86),
	shownField("health", 109, func(*request, *node) string { return "" }),
	timeField("inspection_finished_at", 6, func(n *node) *time.Time { return n.InspectionFinishedAt }),
	timeField("inspection_started_at", 6, func(n *node) *time.Time { return n.InspectionStartedAt }),
	interfaceField("inspect", 31),
	mapField("instance_info", 1, func(n *node) *map[string]any { return &n.InstanceInfo }).editable().masked(maskInstance),
	textField("instance_name", 104, func(n *node) *string { return &n.InstanceName }).editable().atMost(255),
	uuidTextField("instance_uuid", 1, func(n *node) *string { return &n.InstanceUUID }).editable(),
	shownField("last_error", 1, func(_ *request, n *node) string { return n.LastError }),
	textField("lessee", 65, func(n *node) *string { return &n.Lessee }).editable(),
	flagField("maintenance", 1, func(n *node) *bool { return &n.Maintenance }).editable(),
	textField("maintenance_reason", 1, func(n *node) *string { return &n.MaintenanceReason }),
	interfaceField("management", 31),
	textField("name", minNames, func(n *node) *string { return &n.Name }).editable(),
	mapField("network_data", 66, func(n *node) *map[string]any { return &n.NetworkData }).editable(),
	interfaceField("network", 20),
	textField("owner", 50, func(n *node) *string { return &n.Owner }).editable(),
	textField("parent_node", minChildren, func(n *node) *string { return &n.ParentNode }).editable().atMost(36),
	interfaceField("power", 31),
	powerField("power_state", func(n *node) states.Power { return n.Power }),
	mapField("properties", 1, func(n *node) *map[string]any { return &n.Properties }).editable(),
	flagField("protected", 48, func(n *node) *bool { return &n.Protected }).patchable(),
	textField("protected_reason", 48, func(n *node) *string { return &n.ProtectedReason }).patchable(),
	provisionStateField,
	timeField("provision_updated_at", 1, func(n *node) *time.Time { return n.ProvisionUpdatedAt }),
	mapField("raid_config", 12, func(n *node) *map[string]any { return &n.RAIDConfig }),
	interfaceField("raid", 31),
	interfaceField("rescue", 38),
	shownField("reservation", 1, func(_ *request, n *node) string { return n.Reservation }),
	textField("resource_class", 21, func(n *node) *string { return &n.ResourceClass }).editable().atMost(80),
	flagField("retired", 61, func(n *node) *bool { return &n.Retired }).editable(),
	textField("retired_reason", 61, func(n *node) *string { return &n.RetiredReason }).editable(),
	choiceField("secure_boot", 75, func(n *node) **bool { return &n.SecureBoot }).creatable(),
	stepField("service_step", 87),
	textField("shard", minShards, func(n *node) *string { return &n.Shard }).editable(),
	interfaceField("storage", 33),
	powerField("target_power_state", func(n *node) states.Power { return n.TargetPower }),
	stateField("target_provision_state", func(n *node) states.State { return n.TargetProvisionState }),
	mapField("target_raid_config", 12, func(n *node) *map[string]any { return &n.TargetRAIDConfig }),
	{name: "traits", since: 37, write: func(w *writer, _ *request, n *node) { w.texts(n.Traits) }},
	interfaceField("vendor", 31),
	shownField("conductor", 49, func(r *request, n *node) string { return r.owner(n) }),
	shownField("allocation_uuid", 52, func(_ *request, n *node) string { return n.AllocationUUID }),
	chassisField,
}

// conductorGroup is stored in lower case. Its JSON form for no group is the empty text, not null.
var conductorGroup = func() nodeField {
	f := textField("conductor_group", 46, func(n *node) *string { return &n.ConductorGroup }).editable()
	f.write = func(w *writer, _ *request, n *node) { w.text(n.ConductorGroup) }
	f.get = func(n *node) any { return n.ConductorGroup }
	f.set = func(n *node, v any) error {
		s, _ := v.(string)
		n.ConductorGroup = strings.ToLower(s)
		return nil
	}
	return f
}()

// driverField does not accept null.
var driverField = func() nodeField {
	f := textField("driver", 1, func(n *node) *string { return &n.Driver }).editable()
	f.types = []string{"string"}
	return f
}()

// provisionStateField shows a state as the API version of the request names it.
var provisionStateField = func() nodeField {
	f := stateField("provision_state", func(n *node) states.State { return n.ProvisionState })
	f.write = func(w *writer, r *request, n *node) { w.state(r.version.Show(n.ProvisionState)) }
	return f
}()

// chassisField is not a sort key, as in Ironic, whose node table has no column of this name. For
// the same reason nodeFieldsByName removes conductor and allocation_uuid from the sort keys.
var chassisField = func() nodeField {
	f := uuidTextField("chassis_uuid", 1, func(n *node) *string { return &n.ChassisUUID }).editable()
	f.compare = nil
	return f
}()

var nodeFieldsByName = func() map[string]*nodeField {
	byName := make(map[string]*nodeField, len(nodeFields))
	for i := range nodeFields {
		if name := nodeFields[i].name; name == "conductor" || name == "allocation_uuid" {
			nodeFields[i].compare = nil
		}
		nodeFields[i].key = `"` + nodeFields[i].name + `":`
		byName[nodeFields[i].name] = &nodeFields[i]
	}
	return byName
}()

// patchedNodeFields returns the sorted names of the fields that a PATCH may change in the series.
func (s *service) patchedNodeFields() []string {
	var names []string
	for _, f := range nodeFields {
		if f.patched && f.since <= s.highest {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	return names
}

// defaultNodeFields are the fields of a list without detail.
var defaultNodeFields = []string{"instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name"}

// owner returns the name of the conductor that owns a node, empty for none.
func (s *service) owner(n *node) string {
	owner, _ := s.conductor.Owner(n)
	return owner.Hostname
}
