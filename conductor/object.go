package conductor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The kinds of records that hold an [Object] which the conductor itself looks at.
const (
	// KindPort has the network ports of nodes; Fields has their "address".
	KindPort Kind = "ports"
	// KindAllocation has the allocations, see [Conductor.CreateAllocation].
	KindAllocation Kind = "allocations"
	// KindHistory has the entries of nodes' histories.
	KindHistory Kind = "history"
	// KindDeployTemplate has the deploy templates; Fields has their "steps".
	KindDeployTemplate Kind = "deploy_templates"
	// The others are kept for clients, and are deleted with their node.
	KindPortGroup       Kind = "portgroups"
	KindVolumeConnector Kind = "volume_connectors"
	KindVolumeTarget    Kind = "volume_targets"
	KindInventory       Kind = "inventory"
)

// nodeKinds are the kinds whose objects belong to a node.
var nodeKinds = []Kind{
	KindPort, KindPortGroup, KindVolumeConnector, KindVolumeTarget, KindAllocation, KindHistory, KindInventory,
}

// Object is a record that is kept for clients, such as a port of a node. Those that a
// [Conductor] returns are shared: read them, and change an [Object.Clone].
type Object struct {
	Kind      Kind       `json:"-"`
	UUID      string     `json:"uuid"`
	Name      string     `json:"name,omitzero"`
	CreatedAt time.Time  `json:"created_at,omitzero"`
	UpdatedAt *time.Time `json:"updated_at,omitzero"`
	// NodeUUID is the node that the object belongs to, and is deleted with; empty
	// where it belongs to none.
	NodeUUID string `json:"node_uuid,omitzero"`
	// Fields has the other fields by Ironic's names, as JSON has them.
	Fields map[string]any `json:"fields,omitzero"`
	// Keys are keys of the object that no other of its kind may have, beside its
	// UUID and its name: "address=52:54:00:12:34:56".
	Keys []string `json:"keys,omitzero"`
	// Revision is the store's; 0 is an object that was not stored.
	Revision int64 `json:"-"`
}

// Clone returns a copy whose Fields and Keys may be changed, nil of nil. The values in
// Fields are shared: replace them, and change none in place.
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
	if err := decodeRecord(r, &stored, &stored.Version); err != nil {
		return nil, err
	}
	o := stored.Object
	o.Kind, o.Revision = r.Kind, r.Revision
	return &o, nil
}
