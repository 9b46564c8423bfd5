package conductor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The kinds of records that hold an [Object]. The conductor itself uses the first four.
const (
	// KindPort is the kind of the network ports of nodes, with the field "address".
	KindPort Kind = "ports"
	// KindAllocation is the kind of the allocations, see [Conductor.CreateAllocation].
	KindAllocation Kind = "allocations"
	// KindHistory is the kind of the history entries of nodes.
	KindHistory Kind = "history"
	// KindDeployTemplate is the kind of the deploy templates, with the field "steps".
	KindDeployTemplate Kind = "deploy_templates"
	// The other kinds are stored for clients. Objects that belong to a node are deleted with it.
	KindPortGroup       Kind = "portgroups"
	KindVolumeConnector Kind = "volume_connectors"
	KindVolumeTarget    Kind = "volume_targets"
	KindInventory       Kind = "inventory"
)

// nodeKinds are the kinds whose objects belong to a node.
var nodeKinds = []Kind{
	KindPort, KindPortGroup, KindVolumeConnector, KindVolumeTarget, KindAllocation, KindHistory, KindInventory,
}

// Object is a record that is stored for clients, such as a port of a node. A [Conductor]
// shares the objects that it returns: do not modify them, modify an [Object.Clone].
type Object struct {
	Kind      Kind       `json:"-"`
	UUID      string     `json:"uuid"`
	Name      string     `json:"name,omitzero"`
	CreatedAt time.Time  `json:"created_at,omitzero"`
	UpdatedAt *time.Time `json:"updated_at,omitzero"`
	// NodeUUID is the node that the object belongs to, empty if it belongs to none. The
	// object is deleted with its node.
	NodeUUID string `json:"node_uuid,omitzero"`
	// Fields holds all other fields by Ironic's names, decoded from JSON.
	Fields map[string]any `json:"fields,omitzero"`
	// Keys are additional unique keys of the object: no other object of its kind may have
	// one of them. Example: "address=52:54:00:12:34:56".
	Keys []string `json:"keys,omitzero"`
	// Revision is the revision in the store; 0 for an object that was not stored.
	Revision int64 `json:"-"`
}

// Clone returns a copy whose Fields and Keys may be modified. The values in Fields are shared
// with the original: replace them instead of modifying them. The clone of nil is nil.
func (o *Object) Clone() *Object {
	if o == nil {
		return nil
	}
	c := *o
	c.Fields = maps.Clone(o.Fields)
	c.Keys = slices.Clone(o.Keys)
	return &c
}

func encodeObject(o *Object) (Record, error) {
	value, err := json.Marshal(struct {
		Version int `json:"version"`
		*Object
	}{recordVersion, o})
	if err != nil {
		return Record{}, fmt.Errorf("encode %s %s: %w", o.Kind, o.UUID, err)
	}
	keys := slices.Clone(o.Keys)
	if o.Name != "" {
		keys = append(keys, nameKey(o.Name))
	}
	return Record{Kind: o.Kind, ID: o.UUID, Keys: keys, Revision: o.Revision, Value: value}, nil
}

func decodeObject(r Record) (*Object, error) {
	var stored struct {
		Version int `json:"version"`
		Object
	}
	if err := decodeRecord(r, &stored, &stored.Version, recordVersion); err != nil {
		return nil, err
	}
	o := stored.Object
	o.Kind, o.Revision = r.Kind, r.Revision
	return &o, nil
}
