// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

// create answers a POST.
func (x *resource) create(r *rest.Request) (rest.Answer, error) {
	o, err := x.decodeNew(r)
	if err != nil {
		return rest.Answer{}, err
	}
	created, err := r.Conductor.CreateObject(r.Context(), o)
	if err != nil {
		return rest.Answer{}, x.existsFault(r, o, err)
	}
	a := x.answer(r, http.StatusCreated, created, nil)
	a.Location = x.path + "/" + created.Meta().UUID
	return a, nil
}

// decodeNew returns the record in the body of a POST.
func (x *resource) decodeNew(r *rest.Request) (conductor.Object, error) {
	decoded, err := r.Decode(rest.MaxBody)
	if err != nil {
		return nil, err
	}
	body, _ := decoded.(map[string]any)
	if err := r.CheckQuery(body); err != nil {
		return nil, err
	}
	if x.write.prepare != nil {
		if err := x.write.prepare(r, decoded); err != nil {
			return nil, err
		}
	}
	if decoded == nil { // Ironic has no schema error for null
		if err := r.CheckArgs(nil); err != nil {
			return nil, err
		}
	}
	if err := x.bodySchema(r.Service).Validate(x.word, decoded); err != nil {
		return nil, err
	}
	o := conductor.Clone(x.of)
	if err := x.setFields(r, o, body); err != nil {
		return nil, err
	}
	if err := r.CheckArgs(nil); err != nil {
		return nil, err
	}
	q := &request{resource: x, r: r, body: body, record: o}
	return o, pass(q, x.orders.post, postOrder)
}

// existsFault returns the fault for a record with keys of another record. Of several it names the one
// that Ironic's database refuses first.
func (x *resource) existsFault(r *rest.Request, o conductor.Object, err error) error {
	var duplicate *conductor.DuplicateError
	if !errors.Is(err, conductor.Exists) || !errors.As(err, &duplicate) {
		return err
	}
	m := o.Meta()
	byUUID := duplicate.Key == m.UUID
	records, err := r.Conductor.Objects(r.Context(), x.of.Kind())
	if err != nil {
		return err
	}
	taken := func(same func(other conductor.Object) bool) bool {
		return slices.ContainsFunc(records, func(other conductor.Object) bool {
			return (byUUID || other.Meta().UUID != m.UUID) && same(other)
		})
	}
	article := "A"
	if strings.IndexByte("aeiou", x.word[0]) >= 0 {
		article = "An"
	}
	noun := article + " " + strings.ToLower(x.noun)
	switch {
	case byUUID && x.write.uuidFirst:
	case m.Name != "" && taken(func(other conductor.Object) bool { return other.Meta().Name == m.Name }):
		return fault.Conflict("%s with name %s already exists.", noun, m.Name)
	case x.write.duplicate != nil && taken(func(other conductor.Object) bool {
		return slices.ContainsFunc(o.Keys(), func(key string) bool { return slices.Contains(other.Keys(), key) })
	}):
		return fault.Conflict("%s", x.write.duplicate(o))
	}
	return fault.Conflict("%s with UUID %s already exists.", noun, m.UUID)
}
