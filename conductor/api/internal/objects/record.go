// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"iter"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

// record is a [*conductor.Node] or a [conductor.Object].
type record interface {
	SetEmpty(name string, empty bool)
}

// records reads and changes the records of a resource. The errors are the conductor's.
type records interface {
	// meta returns the fields that all records have.
	meta(o record) conductor.ObjectMeta
	// load returns a record by its UUID or name.
	load(r *rest.Request, ident string) (record, error)
	// in returns the first records of a range, at most limit, that pass a test.
	in(r *rest.Request, within conductor.Range, limit int, passes func(record) bool) ([]record, error)
	// all returns the records that pass a test, oldest first.
	all(r *rest.Request, passes func(record) bool) ([]record, error)
	// create stores a new record.
	create(r *rest.Request, o record) (record, error)
	// update changes a record. change gets a copy of the record as well.
	update(r *rest.Request, uuid string, change func(before, o record) error) (record, error)
	// delete deletes a record.
	delete(r *rest.Request, uuid string) error
}

// remove deletes a record.
func (x *resource) remove(r *rest.Request, o record) error {
	uuid := x.store.meta(o).UUID
	err := x.store.delete(r, uuid)
	if errors.Is(err, conductor.NotFound) {
		return x.notFound(uuid)
	}
	return err
}

func first[R record](all iter.Seq[R], err error, limit int, passes func(record) bool) (records []record, _ error) {
	if err != nil {
		return nil, err
	}
	for o := range all {
		if !passes(o) {
			continue
		}
		if records = append(records, o); len(records) == limit {
			break
		}
	}
	return records, nil
}

// nodeStore has the nodes.
type nodeStore struct{}

func (nodeStore) meta(o record) conductor.ObjectMeta {
	n := o.(*conductor.Node)
	return conductor.ObjectMeta{UUID: n.UUID, Name: n.Name, CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt, Empty: n.Empty}
}

func (nodeStore) load(r *rest.Request, ident string) (record, error) {
	return r.Conductor.Node(r.Context(), ident)
}

func (nodeStore) in(r *rest.Request, within conductor.Range, limit int, passes func(record) bool) ([]record, error) {
	found, err := r.Conductor.NodesIn(r.Context(), within)
	return first(found, err, limit, passes)
}

func (nodeStore) all(r *rest.Request, passes func(record) bool) ([]record, error) {
	found, err := r.Conductor.Nodes(r.Context())
	return first(slices.Values(found), err, -1, passes)
}

func (nodeStore) create(r *rest.Request, o record) (record, error) {
	return r.Conductor.CreateNode(r.Context(), o.(*conductor.Node))
}

func (nodeStore) update(r *rest.Request, uuid string, change func(before, o record) error) (record, error) {
	return r.Conductor.UpdateNode(r.Context(), uuid, func(n *conductor.Node) error { return change(n.Clone(), n) })
}

func (nodeStore) delete(r *rest.Request, uuid string) error {
	return r.Conductor.DeleteNode(r.Context(), uuid)
}

// objectStore has the objects of a kind.
type objectStore conductor.Kind

func (objectStore) meta(o record) conductor.ObjectMeta { return *o.(conductor.Object).Meta() }

func (k objectStore) load(r *rest.Request, ident string) (record, error) {
	return r.Conductor.Object(r.Context(), conductor.Kind(k), ident)
}

func (k objectStore) in(r *rest.Request, within conductor.Range, limit int, passes func(record) bool) ([]record, error) {
	found, err := r.Conductor.ObjectsIn(r.Context(), conductor.Kind(k), within)
	return first(found, err, limit, passes)
}

func (k objectStore) all(r *rest.Request, passes func(record) bool) ([]record, error) {
	found, err := r.Conductor.Objects(r.Context(), conductor.Kind(k))
	return first(slices.Values(found), err, -1, passes)
}

func (k objectStore) create(r *rest.Request, o record) (record, error) {
	return r.Conductor.CreateObject(r.Context(), o.(conductor.Object))
}

func (k objectStore) update(r *rest.Request, uuid string, change func(before, o record) error) (record, error) {
	return r.Conductor.UpdateObject(r.Context(), conductor.Kind(k), uuid, func(o conductor.Object) error {
		return change(conductor.Clone(o), o)
	})
}

func (k objectStore) delete(r *rest.Request, uuid string) error {
	return r.Conductor.DeleteObject(r.Context(), conductor.Kind(k), uuid)
}
