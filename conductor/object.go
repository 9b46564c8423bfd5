// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/ironstate/ironstate/internal/exactjson"
	"github.com/ironstate/ironstate/states"
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

	stored
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

func (m *ObjectMeta) meta() meta {
	return meta{m.UUID, m.Name, m.CreatedAt, m.NodeUUID, states.NoState, m.Revision}
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
	if m.Name != "" {
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
