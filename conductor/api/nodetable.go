package api

import (
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

type node = conductor.Node

// nodeFields are the fields of a node, in the order of Ironic's answers. Those with
// links to other resources follow in [writeNodeLinks].
//
// Source: ironic/api/controllers/v1/node.py and VERSIONED_FIELDS in utils.py.
var nodeFields = []nodeField{
	uuidText("uuid", 1, func(n *node) *string { return &n.UUID }).creatable(),
	moment("created_at", 1, func(n *node) *time.Time { return &n.CreatedAt }).notChosen(),
	moment("updated_at", 1, func(n *node) *time.Time { return n.UpdatedAt }).notChosen(),
	choice("automated_clean", 47, func(n *node) **bool { return &n.AutomatedClean }).editable(),
	hardwareInterface("bios", 40),
	hardwareInterface("boot", 31),
	text("boot_mode", 75, func(n *node) *string { return &n.BootMode }).creatable(),
	object("clean_step", 7, func(n *node) *map[string]any { return &n.CleanStep }).masked(maskSecrets),
	conductorGroup,
	flag("console_enabled", 1, func(n *node) *bool { return &n.ConsoleEnabled }).creatable(),
	hardwareInterface("console", 31),
	hardwareInterface("deploy", 31),
	object("deploy_step", 44, func(n *node) *map[string]any { return &n.DeployStep }).masked(maskSecrets),
	text("description", 51, func(n *node) *string { return &n.Description }).editable().atMost(4096),
	flag("disable_power_off", 95, func(n *node) *bool { return &n.DisablePowerOff }).editable(),
	driverField,
	object("driver_info", 1, func(n *node) *map[string]any { return &n.DriverInfo }).editable().masked(maskSecrets),
	object("driver_internal_info", 3, func(n *node) *map[string]any { return &n.DriverInternalInfo }).masked(maskSecrets),
	object("extra", 1, func(n *node) *map[string]any { return &n.Extra }).editable(),
	shown("fault", 42, func(_ *request, n *node) string { return n.Fault }),
	hardwareInterface("firmware", 86),
	shown("health", 109, func(*request, *node) string { return "" }),
	moment("inspection_finished_at", 6, func(n *node) *time.Time { return n.InspectionFinishedAt }),
	moment("inspection_started_at", 6, func(n *node) *time.Time { return n.InspectionStartedAt }),
	hardwareInterface("inspect", 31),
	object("instance_info", 1, func(n *node) *map[string]any { return &n.InstanceInfo }).editable().masked(maskInstance),
	text("instance_name", 104, func(n *node) *string { return &n.InstanceName }).editable().atMost(255),
	uuidText("instance_uuid", 1, func(n *node) *string { return &n.InstanceUUID }).editable(),
	shown("last_error", 1, func(_ *request, n *node) string { return n.LastError }),
	text("lessee", 65, func(n *node) *string { return &n.Lessee }).editable(),
	flag("maintenance", 1, func(n *node) *bool { return &n.Maintenance }).editable(),
	shown("maintenance_reason", 1, func(_ *request, n *node) string { return n.MaintenanceReason }),
	hardwareInterface("management", 31),
	text("name", minNames, func(n *node) *string { return &n.Name }).editable(),
	object("network_data", 66, func(n *node) *map[string]any { return &n.NetworkData }).editable(),
	hardwareInterface("network", 20),
	text("owner", 50, func(n *node) *string { return &n.Owner }).editable(),
	text("parent_node", minChildren, func(n *node) *string { return &n.ParentNode }).editable().atMost(36),
	hardwareInterface("power", 31),
	powerState("power_state", func(n *node) states.Power { return n.Power }),
	object("properties", 1, func(n *node) *map[string]any { return &n.Properties }).editable(),
	flag("protected", 48, func(n *node) *bool { return &n.Protected }).patchable(),
	text("protected_reason", 48, func(n *node) *string { return &n.ProtectedReason }).patchable(),
	provisionStateField,
	moment("provision_updated_at", 1, func(n *node) *time.Time { return n.ProvisionUpdatedAt }),
	object("raid_config", 12, func(n *node) *map[string]any { return &n.RAIDConfig }),
	hardwareInterface("raid", 31),
	hardwareInterface("rescue", 38),
	shown("reservation", 1, func(_ *request, n *node) string { return n.Reservation }),
	text("resource_class", 21, func(n *node) *string { return &n.ResourceClass }).editable().atMost(80),
	flag("retired", 61, func(n *node) *bool { return &n.Retired }).editable(),
	text("retired_reason", 61, func(n *node) *string { return &n.RetiredReason }).editable(),
	choice("secure_boot", 75, func(n *node) **bool { return &n.SecureBoot }).creatable(),
	object("service_step", 87, func(n *node) *map[string]any { return &n.ServiceStep }).masked(maskSecrets),
	text("shard", minShards, func(n *node) *string { return &n.Shard }).editable(),
	hardwareInterface("storage", 33),
	powerState("target_power_state", func(n *node) states.Power { return n.TargetPower }),
	provisionState("target_provision_state", func(n *node) states.State { return n.TargetProvisionState }),
	object("target_raid_config", 12, func(n *node) *map[string]any { return &n.TargetRAIDConfig }),
	{name: "traits", since: 37, write: func(w *writer, _ *request, n *node) { w.texts(n.Traits) }},
	hardwareInterface("vendor", 31),
	shown("conductor", 49, func(r *request, n *node) string { return r.h.conductorOf(n) }),
	shown("allocation_uuid", 52, func(_ *request, n *node) string { return n.AllocationUUID }),
	chassisField,
}

// conductorGroup is in small letters, and empty where there is none.
var conductorGroup = func() nodeField {
	f := text("conductor_group", 46, func(n *node) *string { return &n.ConductorGroup }).editable()
	f.write = func(w *writer, _ *request, n *node) { w.text(n.ConductorGroup) }
	f.get = func(n *node) any { return n.ConductorGroup }
	f.set = func(n *node, v any) error {
		s, _ := v.(string)
		n.ConductorGroup = strings.ToLower(s)
		return nil
	}
	return f
}()

// driverField must not be null.
var driverField = func() nodeField {
	f := text("driver", 1, func(n *node) *string { return &n.Driver }).editable()
	f.types = []string{"string"}
	return f
}()

// provisionStateField shows old clients the states that they know.
var provisionStateField = func() nodeField {
	f := provisionState("provision_state", func(n *node) states.State { return n.ProvisionState })
	f.write = func(w *writer, r *request, n *node) { w.state(r.version.Show(n.ProvisionState)) }
	return f
}()

// chassisField is no sort key, and neither are the other two that are not columns of
// Ironic's table of nodes.
var chassisField = func() nodeField {
	f := uuidText("chassis_uuid", 1, func(n *node) *string { return &n.ChassisUUID }).editable()
	f.compare = nil
	return f
}()

var nodeFieldsByName = func() map[string]*nodeField {
	byName := make(map[string]*nodeField, len(nodeFields))
	for i := range nodeFields {
		if name := nodeFields[i].name; name == "conductor" || name == "allocation_uuid" {
			nodeFields[i].compare = nil
		}
		byName[nodeFields[i].name] = &nodeFields[i]
	}
	return byName
}()

// patchedNodeFields returns the names of the fields that a PATCH may change at the
// series, sorted.
func (h *handler) patchedNodeFields() []string {
	var names []string
	for _, f := range nodeFields {
		if f.patched && f.since <= h.highest {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	return names
}

// defaultNodeFields are what a list shows.
var defaultNodeFields = []string{"instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name"}

// interfaceOf returns the hardware interface of a kind that a node has, empty where it
// has none.
func (h *handler) interfaceOf(n *node, kind string) string {
	if name := n.Interfaces[kind]; name != "" {
		return name
	}
	if names := h.hardware[n.Driver].Interfaces[kind]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// conductorOf returns the name of the conductor that works on a node.
func (h *handler) conductorOf(n *node) string {
	if n.Conductor != "" {
		return n.Conductor
	}
	return h.conductor.Name()
}
