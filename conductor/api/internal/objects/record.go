// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"iter"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

// record is a [*conductor.Node] or a [conductor.Object]. The functions below read and change the records of a resource.
type record interface {
	SetEmpty(name string, empty bool)
}

// metaOf returns the fields that all records have.
func metaOf(o record) conductor.ObjectMeta {
	if n, is := o.(*conductor.Node); is {
		return conductor.ObjectMeta{UUID: n.UUID, Name: n.Name, CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt, Empty: n.Empty}
	}
	return *o.(conductor.Object).Meta()
}

// clone returns a copy of a record whose fields may be set.
func clone(o record) record {
	if n, is := o.(*conductor.Node); is {
		return n.Clone()
	}
	return conductor.Clone(o.(conductor.Object))
}

// ofNodes reports whether the records are nodes.
func (x *resource) ofNodes() bool { return x.word == "node" }

// kind returns the kind of the records, which are no nodes.
func (x *resource) kind() conductor.Kind { return x.of.(conductor.Object).Kind() }

// load returns a record by its UUID or name.
func (x *resource) load(r *rest.Request, ident string) (record, error) {
	if x.ofNodes() {
		return r.Conductor.Node(r.Context(), ident)
	}
	return r.Conductor.Object(r.Context(), x.kind(), ident)
}

// in returns the first records of a range, at most limit, that pass a test.
func (x *resource) in(r *rest.Request, within conductor.Range, limit int, passes func(record) bool) ([]record, error) {
	if x.ofNodes() {
		nodes, err := r.Conductor.NodesIn(r.Context(), within)
		return first(nodes, err, limit, passes)
	}
	objects, err := r.Conductor.ObjectsIn(r.Context(), x.kind(), within)
	return first(objects, err, limit, passes)
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

// all returns the records that pass a test, oldest first.
func (x *resource) all(r *rest.Request, passes func(record) bool) ([]record, error) {
	if x.ofNodes() {
		nodes, err := r.Conductor.Nodes(r.Context())
		return first(slices.Values(nodes), err, -1, passes)
	}
	objects, err := r.Conductor.Objects(r.Context(), x.kind())
	return first(slices.Values(objects), err, -1, passes)
}

// create stores a new record.
func (x *resource) create(r *rest.Request, o record) (record, error) {
	if x.ofNodes() {
		return r.Conductor.CreateNode(r.Context(), o.(*conductor.Node))
	}
	return r.Conductor.CreateObject(r.Context(), o.(conductor.Object))
}

// update changes a record.
func (x *resource) update(r *rest.Request, uuid string, change func(record) error) (record, error) {
	if x.ofNodes() {
		return r.Conductor.UpdateNode(r.Context(), uuid, func(n *conductor.Node) error { return change(n) })
	}
	return r.Conductor.UpdateObject(r.Context(), x.kind(), uuid, func(o conductor.Object) error { return change(o) })
}

// remove deletes a record.
func (x *resource) remove(r *rest.Request, o record) (err error) {
	uuid := metaOf(o).UUID
	if x.ofNodes() {
		err = r.Conductor.DeleteNode(r.Context(), uuid)
	} else {
		err = r.Conductor.DeleteObject(r.Context(), x.kind(), uuid)
	}
	if errors.Is(err, conductor.NotFound) {
		return x.notFound(uuid)
	}
	return err
}
