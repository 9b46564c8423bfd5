// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"strings"
)

// Port is a network port of a node.
//
// Source: ironic/objects/port.py.
type Port struct {
	ObjectMeta
	Address             string         `json:"address,omitzero"` // the MAC address
	PortGroupUUID       string         `json:"portgroup_uuid,omitzero"`
	PhysicalNetwork     string         `json:"physical_network,omitzero"`
	LocalLinkConnection map[string]any `json:"local_link_connection,omitzero"`
	PXEEnabled          *bool          `json:"pxe_enabled,omitzero"` // nil: true
	IsSmartNIC          *bool          `json:"is_smartnic,omitzero"`
	Description         string         `json:"description,omitzero"`
	Vendor              string         `json:"vendor,omitzero"`
	Category            string         `json:"category,omitzero"`
	// ForDynamicPortGroup permits that a port group which is made for a request gets the port; nil
	// stands for true.
	ForDynamicPortGroup *bool          `json:"available_for_dynamic_portgroup,omitzero"`
	InternalInfo        map[string]any `json:"internal_info,omitzero"`
	Extra               map[string]any `json:"extra,omitzero"`
}

// Kind implements [Object].
func (*Port) Kind() Kind { return KindPort }

// Keys implements [Object].
func (p *Port) Keys() []string { return addressKeys(p.Address) }

// PortGroup is a group of ports of a node, such as a bond.
//
// Source: ironic/objects/portgroup.py.
type PortGroup struct {
	ObjectMeta
	Address                  string         `json:"address,omitzero"` // the MAC address
	Mode                     string         `json:"mode,omitzero"`    // null: "active-backup"
	Properties               map[string]any `json:"properties,omitzero"`
	StandalonePortsSupported *bool          `json:"standalone_ports_supported,omitzero"` // nil: true
	PhysicalNetwork          string         `json:"physical_network,omitzero"`
	Category                 string         `json:"category,omitzero"`
	Dynamic                  bool           `json:"dynamic_portgroup,omitzero"`
	InternalInfo             map[string]any `json:"internal_info,omitzero"`
	Extra                    map[string]any `json:"extra,omitzero"`
}

// Kind implements [Object].
func (*PortGroup) Kind() Kind { return KindPortGroup }

// Keys implements [Object].
func (g *PortGroup) Keys() []string { return addressKeys(g.Address) }

func addressKeys(address string) []string {
	if address == "" {
		return nil
	}
	return []string{"address=" + strings.ToLower(address)}
}

// VolumeConnector is what identifies a node to a storage system.
//
// Source: ironic/objects/volume_connector.py.
type VolumeConnector struct {
	ObjectMeta
	Type        string         `json:"type,omitzero"` // such as "iqn"
	ConnectorID string         `json:"connector_id,omitzero"`
	Extra       map[string]any `json:"extra,omitzero"`
}

// Kind implements [Object].
func (*VolumeConnector) Kind() Kind { return KindVolumeConnector }

// Keys implements [Object].
func (v *VolumeConnector) Keys() []string {
	return []string{fmt.Sprintf("connector=%v %v", v.Type, v.ConnectorID)}
}

// VolumeTarget is a volume that a node uses.
//
// Source: ironic/objects/volume_target.py.
type VolumeTarget struct {
	ObjectMeta
	VolumeType string         `json:"volume_type,omitzero"` // such as "iscsi"
	VolumeID   string         `json:"volume_id,omitzero"`
	BootIndex  int            `json:"boot_index"` // 0: the volume that the node boots from
	Properties map[string]any `json:"properties,omitzero"`
	Extra      map[string]any `json:"extra,omitzero"`
}

// Kind implements [Object].
func (*VolumeTarget) Kind() Kind { return KindVolumeTarget }

// Keys implements [Object].
func (v *VolumeTarget) Keys() []string {
	return []string{fmt.Sprintf("boot_index=%v %v", v.NodeUUID, v.BootIndex)}
}

// Inventory is what an inspection has found out about a node. It has the node's UUID.
//
// Source: ironic/objects/node_inventory.py.
type Inventory struct {
	ObjectMeta
	Inventory  map[string]any `json:"inventory,omitzero"`
	PluginData map[string]any `json:"plugin_data,omitzero"`
}

// Kind implements [Object].
func (*Inventory) Kind() Kind { return KindInventory }

// DeployTemplate has steps for the deployment of nodes whose instance_info has the template's name
// as a trait.
//
// Source: ironic/objects/deploy_template.py.
type DeployTemplate struct {
	ObjectMeta
	Description string         `json:"description,omitzero"`
	Steps       []StepRequest  `json:"steps,omitzero"`
	Extra       map[string]any `json:"extra,omitzero"`
}

// Kind implements [Object].
func (*DeployTemplate) Kind() Kind { return KindDeployTemplate }

// Runbook has steps for the cleaning or the servicing of nodes that have one of its traits, before 2026.2 its name as a
// trait.
//
// Source: ironic/objects/runbook.py.
type Runbook struct {
	ObjectMeta
	Description    string         `json:"description,omitzero"`
	Steps          []RunbookStep  `json:"steps,omitzero"`
	Traits         []string       `json:"traits,omitzero"`
	DisableRamdisk bool           `json:"disable_ramdisk,omitzero"`
	Public         bool           `json:"public,omitzero"`
	Owner          string         `json:"owner,omitzero"`
	Extra          map[string]any `json:"extra,omitzero"`
}

// Kind implements [Object].
func (*Runbook) Kind() Kind { return KindRunbook }

// RunbookStep is a step of a runbook.
type RunbookStep struct {
	Interface string         `json:"interface"`
	Step      string         `json:"step"`
	Args      map[string]any `json:"args,omitzero"`
	Order     int            `json:"order"`
}

// Chassis is a group of nodes.
//
// Source: ironic/objects/chassis.py.
type Chassis struct {
	ObjectMeta
	Description string         `json:"description,omitzero"`
	Extra       map[string]any `json:"extra,omitzero"`
}

// Kind implements [Object].
func (*Chassis) Kind() Kind { return KindChassis }

// InspectionRule has actions for nodes that an agent has inspected and for which all of its conditions hold.
//
// Source: ironic/objects/inspection_rule.py.
type InspectionRule struct {
	ObjectMeta
	Description string `json:"description,omitzero"`
	Priority    int    `json:"priority"` // rules with a higher one are applied first
	Sensitive   bool   `json:"sensitive,omitzero"`
	Phase       string `json:"phase,omitzero"`
	// Conditions and Actions have the keys op, args, loop and multiple of Ironic's API.
	Conditions []map[string]any `json:"conditions,omitzero"`
	Actions    []map[string]any `json:"actions,omitzero"`
}

// Kind implements [Object].
func (*InspectionRule) Kind() Kind { return KindInspectionRule }
