// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/index"
	"github.com/ironstate/ironstate/internal/exactjson"
)

// The kinds of the records that are [Object]s.
const (
	KindPort            Kind = "ports"
	KindPortGroup       Kind = "portgroups"
	KindVolumeConnector Kind = "volume_connectors"
	KindVolumeTarget    Kind = "volume_targets"
	KindAllocation      Kind = "allocations"
	KindHistory         Kind = "history"
	KindInventory       Kind = "inventory"
	KindDeployTemplate  Kind = "deploy_templates"
	KindRunbook         Kind = "runbooks"
	KindChassis         Kind = "chassis"
	KindInspectionRule  Kind = "inspection_rules"
)

// Object is a record beside the nodes: a [*Port], [*PortGroup], [*VolumeConnector], [*VolumeTarget], [*Allocation],
// [*HistoryEntry], [*Inventory], [*DeployTemplate], [*Runbook], [*Chassis] or [*InspectionRule]. A [Conductor] shares
// the objects that it returns: do not modify them, modify a [Clone].
type Object interface {
	Kind() Kind
	// Meta returns the fields that all objects have.
	Meta() *ObjectMeta
	// Keys returns the object's unique keys beside its UUID and its name: no other object of its
	// kind may have one of them. Example: "address=52:54:00:12:34:56".
	Keys() []string
	// SetEmpty records whether the text field with Ironic's name is "" or null, see [ObjectMeta.Empty].
	SetEmpty(name string, empty bool)

	meta() index.Meta
}

// ObjectMeta holds the fields that all objects have, with Ironic's names in JSON.
type ObjectMeta struct {
	UUID      string     `json:"uuid"`
	Name      string     `json:"name,omitzero"`
	CreatedAt time.Time  `json:"created_at,omitzero"`
	UpdatedAt *time.Time `json:"updated_at,omitzero"`
	// NodeUUID is the node that the object belongs to, empty if it belongs to none. The
	// object is deleted with its node.
	NodeUUID string `json:"node_uuid,omitzero"`
	// Empty names the text fields, such as "description", that are "" and not null, a difference
	// that Ironic's API shows. A name counts only while the field's value is "".
	Empty []string `json:"empty,omitzero"`
	// Revision is the revision in the store; 0 for an object that was not stored.
	Revision int64 `json:"-"`
}

// Meta implements [Object].
func (m *ObjectMeta) Meta() *ObjectMeta { return m }

// Keys implements [Object].
func (m *ObjectMeta) Keys() []string { return nil }

func (m *ObjectMeta) meta() index.Meta {
	return index.Meta{ID: m.UUID, Name: m.Name, Created: m.CreatedAt, Node: m.NodeUUID, Revision: m.Revision}
}

// SetEmpty records whether the text field with Ironic's name is "" or null.
func (m *ObjectMeta) SetEmpty(name string, empty bool) { m.Empty = setEmpty(m.Empty, name, empty) }

// setEmpty returns a list of the empty fields with or without a name. It leaves the old list as it is.
func setEmpty(list []string, name string, empty bool) []string {
	list = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == name })
	if empty {
		list = append(list, name)
	}
	return list
}

// Clone returns a copy of an object whose fields may be set. The maps and lists in the fields are
// shared with the original: replace them instead of modifying them.
func Clone[O Object](o O) O {
	c := reflect.New(reflect.TypeOf(o).Elem())
	c.Elem().Set(reflect.ValueOf(o).Elem())
	return c.Interface().(O)
}

// objectTypes are the types of the objects of each kind, which are pointers.
var objectTypes = map[Kind]reflect.Type{}

func init() {
	for _, o := range []Object{
		&Port{}, &PortGroup{}, &VolumeConnector{}, &VolumeTarget{}, &Allocation{}, &HistoryEntry{}, &Inventory{},
		&DeployTemplate{}, &Runbook{}, &Chassis{}, &InspectionRule{}, &callRecord{},
	} {
		objectTypes[o.Kind()] = reflect.TypeOf(o)
	}
}

// nodeKinds are the kinds whose objects belong to a node, besides its inventory.
var nodeKinds = []Kind{
	KindPort, KindPortGroup, KindVolumeConnector, KindVolumeTarget, KindAllocation, KindHistory,
}

func encodeObject(o Object) (Record, error) {
	m := o.Meta()
	value, err := json.Marshal(o)
	if err != nil {
		return Record{}, fmt.Errorf("encode %s %s: %w", o.Kind(), m.UUID, err)
	}
	value = append(fmt.Appendf(nil, `{"version":%d,`, recordVersion), value[1:]...)
	keys := slices.Clone(o.Keys())
	if m.Name != "" || slices.Contains(m.Empty, "name") { // Ironic's database has an empty name once, too
		keys = append(keys, nameKey(m.Name))
	}
	return Record{Kind: o.Kind(), ID: m.UUID, Keys: keys, Revision: m.Revision, Value: value}, nil
}

func decodeObject(r Record) (Object, error) {
	of, known := objectTypes[r.Kind]
	if !known {
		return nil, fmt.Errorf("decode %s %s: the kind is unknown", r.Kind, r.ID)
	}
	var stored struct {
		Version int `json:"version"`
	}
	if err := decodeRecord(r, &stored, &stored.Version); err != nil {
		return nil, err
	}
	o := reflect.New(of.Elem()).Interface().(Object)
	if err := exactjson.Unmarshal(r.Value, o); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", r.Kind, r.ID, err)
	}
	o.Meta().Revision = r.Revision
	return o, nil
}

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
	Phase       string `json:"phase,omitzero"` // "main"; a rule of another phase is never applied
	// Conditions and Actions have the keys op, args, loop and multiple of Ironic's API.
	Conditions []map[string]any `json:"conditions,omitzero"`
	Actions    []map[string]any `json:"actions,omitzero"`
}

// Kind implements [Object].
func (*InspectionRule) Kind() Kind { return KindInspectionRule }
