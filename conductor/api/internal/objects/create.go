// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

// post answers a POST.
func (x *resource) post(r *rest.Request) (rest.Answer, error) {
	return x.orders.post.Or(usual.post).Then(x.request, (*request).created)(r)
}

// created stores the new record, and shows it.
func (q *request) created() (rest.Answer, error) {
	created, err := q.store.create(q.r, q.record)
	if err != nil {
		return rest.Answer{}, q.existsFault(err)
	}
	a := q.answer(q.r, http.StatusCreated, created, nil)
	a.Location = q.path + "/" + q.store.meta(created).UUID
	return a, nil
}

// bodyDecodes reads the body.
func bodyDecodes(q *request) (err error) {
	if q.body, err = q.r.Decode(rest.MaxBody); err != nil {
		return err
	}
	q.values, _ = q.body.(map[string]any)
	q.record = reflect.New(reflect.TypeOf(q.of).Elem()).Interface().(record)
	return nil
}

// bodyValid refuses a body that does not satisfy the schema of the resource.
func bodyValid(q *request) error {
	if q.body == nil { // Ironic has no schema error for null
		if err := postInVersion(q); err != nil {
			return err
		}
	}
	if err := q.bodySchema(q.r).Validate(q.word, q.body); err != nil || !q.checksQueryLast(q.r.Service) {
		return err
	}
	return q.r.QueryArgs(slices.Collect(maps.Keys(q.values))...).Err
}

// postInVersion refuses a POST with a version that does not have the resource.
func postInVersion(q *request) error { return q.r.CheckArgs(nil) }

// notNested refuses a POST in the path of another record.
func notNested(q *request) error {
	if len(q.r.Params) > 0 {
		return q.r.NotPermitted()
	}
	return nil
}

// nodeExists refuses a new record of an unknown node.
func nodeExists(q *request) error {
	_, err := q.r.FindNode(q.store.meta(q.record).NodeUUID)
	return fault.As400(err)
}

// nameValid refuses a new record with an invalid name.
func nameValid(q *request) error {
	if name := q.store.meta(q.record).Name; name != "" && !q.r.ValidName(name) {
		return fault.Invalid("Cannot create %s with invalid name '%s'", q.word, fault.Show(name))
	}
	return nil
}

// existsFault returns the fault for an object with keys of another object, and other errors of the store as they are.
// Of several keys it names the key that Ironic's database refuses first.
func (q *request) existsFault(err error) error {
	var duplicate *conductor.DuplicateError
	if q.is(ownDuplicates) || !errors.Is(err, conductor.Exists) || !errors.As(err, &duplicate) {
		return err
	}
	m := q.store.meta(q.record)
	byUUID := duplicate.Key == m.UUID
	others, err := q.store.all(q.r, func(other record) bool { return byUUID || q.store.meta(other).UUID != m.UUID })
	if err != nil {
		return err
	}
	taken := func(same func(other record) bool) bool { return slices.ContainsFunc(others, same) }
	named := func(m conductor.ObjectMeta) bool { return m.Name != "" || slices.Contains(m.Empty, "name") }
	article := "A"
	if strings.IndexByte("AEIOU", q.noun[0]) >= 0 {
		article = "An"
	}
	noun := article + " " + strings.ToLower(q.noun)
	switch {
	case byUUID && q.is(uuidFirst):
	case named(m) && taken(func(other record) bool { o := q.store.meta(other); return named(o) && o.Name == m.Name }):
		return fault.Conflict("%s with name %s already exists.", noun, m.Name)
	case q.duplicate != nil && taken(func(other record) bool {
		keys := other.(conductor.Object).Keys()
		return slices.ContainsFunc(q.record.(conductor.Object).Keys(), func(key string) bool { return slices.Contains(keys, key) })
	}):
		return fault.Conflict("%s", q.duplicate(q.record))
	}
	return fault.Conflict("%s with UUID %s already exists.", noun, m.UUID)
}
