// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/index"
	"github.com/ironstate/ironstate/internal/exactjson"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// KindNode is the kind of the records that hold a [Node].
const KindNode Kind = "nodes"

// Node is Ironic's record of a node, with Ironic's names in JSON. A [Conductor] shares the
// nodes that it returns: do not modify them, modify a [Node.Clone].
//
// Source: ironic/objects/node.py.
type Node struct {
	UUID      string     `json:"uuid"`
	Name      string     `json:"name,omitzero"`
	CreatedAt time.Time  `json:"created_at,omitzero"`
	UpdatedAt *time.Time `json:"updated_at,omitzero"`

	// Driver is the name of the node's hardware type, see [Config.Hardware].
	Driver       string `json:"driver"`
	ChassisUUID  string `json:"chassis_uuid,omitzero"`
	InstanceUUID string `json:"instance_uuid,omitzero"`
	// AllocationUUID is the allocation that has the node.
	AllocationUUID string `json:"allocation_uuid,omitzero"`
	ConductorGroup string `json:"conductor_group,omitzero"`

	ProvisionState       states.State `json:"provision_state"`
	TargetProvisionState states.State `json:"target_provision_state"`
	LastError            string       `json:"last_error,omitzero"`
	ProvisionUpdatedAt   *time.Time   `json:"provision_updated_at,omitzero"`
	InspectionStartedAt  *time.Time   `json:"inspection_started_at,omitzero"`
	InspectionFinishedAt *time.Time   `json:"inspection_finished_at,omitzero"`

	// Transitions are the node's last transitions, oldest first, at most [Config.MaxTransitions].
	// Each is stored by the write that moves the node. They are not in Ironic's record.
	Transitions []TransitionRecord `json:"transitions,omitzero"`

	Power       states.Power `json:"power_state,omitzero"`
	TargetPower states.Power `json:"target_power_state,omitzero"`
	// PowerChangedAt is the time of the last change of Power. Ironic has it in driver_internal_info.
	PowerChangedAt *time.Time `json:"power_changed_at,omitzero"`

	Maintenance       bool   `json:"maintenance,omitzero"`
	MaintenanceReason string `json:"maintenance_reason,omitzero"`
	Fault             string `json:"fault,omitzero"`

	// Reservation is the name of the conductor that works on the node; empty if none does.
	Reservation string `json:"reservation,omitzero"`
	// Claim identifies the process that holds the reservation: the ID of a [Member]. It is not
	// in Ironic's record.
	Claim string `json:"claim,omitzero"`
	// Origin identifies the request that started the node's work, see [Tracer]. It is not
	// in Ironic's record.
	Origin string `json:"origin,omitzero"`
	// Conductor is the name of the conductor that worked on the node last.
	Conductor string `json:"conductor,omitzero"`

	DriverInfo         map[string]any `json:"driver_info,omitzero"`
	DriverInternalInfo map[string]any `json:"driver_internal_info,omitzero"`
	// Agent and Deployment are the data of the agent on the machine, and of its deployment. Ironic has them in
	// driver_internal_info, see InternalInfo.
	Agent            AgentInfo      `json:"agent,omitzero"`
	Deployment       DeploymentInfo `json:"deployment,omitzero"`
	Properties       map[string]any `json:"properties,omitzero"`
	InstanceInfo     map[string]any `json:"instance_info,omitzero"`
	Extra            map[string]any `json:"extra,omitzero"`
	NetworkData      map[string]any `json:"network_data,omitzero"`
	RAIDConfig       map[string]any `json:"raid_config,omitzero"`
	TargetRAIDConfig map[string]any `json:"target_raid_config,omitzero"`
	Traits           []string       `json:"traits,omitzero"`
	// BIOSSettings are the settings that a hardware type has read, sorted by name.
	BIOSSettings []BIOSSetting `json:"bios_settings,omitzero"`
	// Firmware are the components with firmware that a hardware type has read.
	Firmware []FirmwareComponent `json:"firmware,omitzero"`

	// CleanSteps, DeploySteps and ServiceSteps are nil if the node never had such work. Ironic has
	// them in driver_internal_info, and the current step in a field of its own; so does its API.
	CleanSteps   *Steps `json:"clean_steps,omitzero"`
	DeploySteps  *Steps `json:"deploy_steps,omitzero"`
	ServiceSteps *Steps `json:"service_steps,omitzero"`
	// OtherSteps are the steps of any other work, such as an inspection or a rescue. They are not in
	// Ironic's record.
	OtherSteps *Steps `json:"other_steps,omitzero"`

	// CleanUp is what is left to do on the machine after failed or aborted work; nil for nothing. It is not in Ironic's
	// record.
	CleanUp *CleanUp `json:"clean_up,omitzero"`

	// Interfaces maps kinds to the names of the chosen hardware interfaces: "power": "fake".
	// For any other kind the hardware type's default applies.
	Interfaces map[string]string `json:"interfaces,omitzero"`

	Owner           string `json:"owner,omitzero"`
	Lessee          string `json:"lessee,omitzero"`
	ResourceClass   string `json:"resource_class,omitzero"`
	Description     string `json:"description,omitzero"`
	Shard           string `json:"shard,omitzero"`
	ParentNode      string `json:"parent_node,omitzero"`
	BootMode        string `json:"boot_mode,omitzero"`
	SecureBoot      *bool  `json:"secure_boot,omitzero"`
	Health          string `json:"health,omitzero"`          // of the machine: "OK", "WARNING" or "CRITICAL"
	AutomatedClean  *bool  `json:"automated_clean,omitzero"` // nil: as configured
	ConsoleEnabled  bool   `json:"console_enabled,omitzero"`
	Protected       bool   `json:"protected,omitzero"`
	ProtectedReason string `json:"protected_reason,omitzero"`
	Retired         bool   `json:"retired,omitzero"`
	RetiredReason   string `json:"retired_reason,omitzero"`
	DisablePowerOff bool   `json:"disable_power_off,omitzero"`
	InstanceName    string `json:"instance_name,omitzero"`

	// Empty names the text fields, such as "owner", that are "" and not null, a difference that
	// Ironic's API shows. A name counts only while the field's value is "".
	Empty []string `json:"empty,omitzero"`

	// Revision is the revision in the store; 0 for a node that was not stored.
	Revision int64 `json:"-"`
}

// label returns the name and the UUID of a node, for texts that its users read and that are not
// Ironic's.
func (n *Node) label() string {
	if n.Name == "" {
		return n.UUID
	}
	return n.Name + " (" + n.UUID + ")"
}

// SetEmpty records whether the text field with Ironic's name is "" or null.
func (n *Node) SetEmpty(name string, empty bool) { n.Empty = setEmpty(n.Empty, name, empty) }

// Clone returns a copy whose maps and slices may be modified. The values in the maps are
// shared with the original: replace them instead of modifying them.
func (n *Node) Clone() *Node {
	c := *n
	for _, m := range []*map[string]any{
		&c.DriverInfo, &c.DriverInternalInfo, &c.Properties, &c.InstanceInfo, &c.Extra, &c.NetworkData,
		&c.RAIDConfig, &c.TargetRAIDConfig,
	} {
		*m = maps.Clone(*m)
	}
	for _, s := range []**Steps{&c.CleanSteps, &c.DeploySteps, &c.ServiceSteps, &c.OtherSteps} {
		*s = (*s).clone()
	}
	c.Agent = n.Agent.clone()
	c.Interfaces = maps.Clone(n.Interfaces)
	c.Traits = slices.Clone(n.Traits)
	c.Empty = slices.Clone(n.Empty)
	c.BIOSSettings = slices.Clone(n.BIOSSettings)
	c.Firmware = slices.Clone(n.Firmware)
	c.Transitions = slices.Clone(n.Transitions)
	if n.CleanUp != nil {
		left := *n.CleanUp
		c.CleanUp = &left
	}
	return &c
}

// machine returns the node's fields that the state machine uses.
func (n *Node) machine() machine.Node {
	return machine.Node{State: n.ProvisionState, Target: n.TargetProvisionState, LastError: n.LastError}
}

// powered records that the hardware was set to a power state.
func (n *Node) powered(power states.Power) {
	n.Power = power
	at := now()
	n.PowerChangedAt = &at
}

// internalTime is the layout of times in driver_internal_info.
const internalTime = "2006-01-02T15:04:05.000000"

// recordVersion is the version of the stored form of nodes and objects. Version 1 was never released.
const recordVersion = 2

func (n *Node) meta() index.Meta {
	return index.Meta{ID: n.UUID, Name: n.Name, Created: n.CreatedAt, Node: n.ParentNode, State: n.ProvisionState, Revision: n.Revision}
}

func nameKey(name string) string { return "name=" + name }

// largeNode is the size in bytes above which a record has room: spaces at its end.
const largeNode = 512 << 10

// room returns the length of the padding of a large record. The padding shrinks as work ends, so that the text of the
// error fits: a store that has accepted the record during work also accepts it with the failure. There is no room for
// the reservation of a clean-up: giveUp drops a clean-up that cannot begin.
func (n *Node) room() int {
	switch {
	case kindOf(n.ProvisionState).work != states.NoWork: // in progress
		return 40 << 10
	case n.CleanUp != nil:
		return 20 << 10
	case n.Claim != "": // by a power request
		return 16 << 10
	default:
		return 0
	}
}

// errEncoding is the error of a record that has no JSON, such as one with a number that is none.
var errEncoding = errors.New("encode")

// encodeNode returns the record of a node.
func encodeNode(n *Node) (Record, error) {
	value, err := json.Marshal(struct {
		Version int `json:"version"`
		*Node
	}{recordVersion, n})
	if err != nil {
		return Record{}, fmt.Errorf("%w node %s: %w", errEncoding, n.UUID, err)
	}
	if len(value) > largeNode {
		value = append(value, bytes.Repeat([]byte(" "), n.room())...)
	}
	r := Record{Kind: KindNode, ID: n.UUID, Revision: n.Revision, Value: value}
	if n.Name != "" {
		r.Keys = append(r.Keys, nameKey(n.Name))
	}
	if n.InstanceUUID != "" {
		r.Keys = append(r.Keys, "instance_uuid="+n.InstanceUUID)
	}
	return r, nil
}

// decodeNode returns the node of a record.
func decodeNode(r Record) (*Node, error) {
	var stored struct {
		Version int `json:"version"`
		Node
	}
	if err := decodeRecord(r, &stored, &stored.Version); err != nil {
		return nil, err
	}
	n := stored.Node
	n.Revision = r.Revision
	return &n, nil
}

// decodeRecord decodes a record's value into v. version points to the version field of v.
func decodeRecord(r Record, v any, version *int) error {
	if err := exactjson.Unmarshal(r.Value, v); err != nil {
		return fmt.Errorf("decode %s %s: %w", r.Kind, r.ID, err)
	}
	if *version != recordVersion {
		return fmt.Errorf("decode %s %s: version %d of the record is unknown, this release reads version %d",
			r.Kind, r.ID, *version, recordVersion)
	}
	return nil
}

// InstanceCapabilities returns the capabilities that the node's instance asks for. In instance_info they are an object,
// or the text of one in JSON; any other value has none.
//
// Source: parse_instance_info_capabilities in ironic/common/utils.py.
func (n *Node) InstanceCapabilities() map[string]any {
	switch value := n.InstanceInfo["capabilities"].(type) {
	case map[string]any:
		return value
	case string:
		var capabilities map[string]any
		_ = json.Unmarshal([]byte(value), &capabilities)
		return capabilities
	}
	return nil
}

// WantsSecureBoot reports whether the node's instance is booted with UEFI secure boot.
//
// Source: is_secure_boot_requested in ironic/drivers/modules/boot_mode_utils.py.
func (n *Node) WantsSecureBoot() bool {
	return strings.EqualFold(fmt.Sprint(n.InstanceCapabilities()["secure_boot"]), "true")
}

// WantedBootMode returns the boot mode, "bios" or "uefi", that the capabilities of the instance or else of the node ask
// for, and "" if they ask for none or for another one. Secure boot needs UEFI.
//
// Source: get_boot_mode in ironic/drivers/modules/boot_mode_utils.py.
func (n *Node) WantedBootMode() string {
	if n.WantsSecureBoot() {
		return "uefi"
	}
	if mode := n.InstanceCapabilities()["boot_mode"]; mode != nil {
		return knownBootMode(mode)
	}
	capabilities, _ := n.Properties["capabilities"].(string)
	for _, capability := range strings.Split(capabilities, ",") {
		if name, mode, _ := strings.Cut(capability, ":"); strings.TrimSpace(name) == "boot_mode" {
			return knownBootMode(strings.TrimSpace(mode))
		}
	}
	return ""
}

// bootModes returns the boot modes that the node is to be deployed with: its property boot_mode, which alone Ironic
// compares with the modes that the operator does not allow, and the mode that its capabilities ask for.
func (n *Node) bootModes() (modes []string) {
	if len(n.Properties) == 0 && len(n.InstanceInfo) == 0 {
		return nil
	}
	property, _ := n.Properties["boot_mode"].(string)
	for _, mode := range []string{knownBootMode(strings.ToLower(strings.TrimSpace(property))), n.WantedBootMode()} {
		if mode != "" {
			modes = append(modes, mode)
		}
	}
	return modes
}

func knownBootMode(mode any) string {
	if mode == "bios" || mode == "uefi" {
		return mode.(string)
	}
	return ""
}
