// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// listing is a list of a resource's records.
type listing struct {
	*resource
	parent  *parent // nil for the list of all records
	details bool    // the path ends in /detail
}

// listRequest is a request for a list, with the results of its checks.
type listRequest struct {
	listing
	r        *rest.Request
	args     *rest.Args
	page     rest.Page
	shown    rest.FieldSet // the requested fields, after fieldsChosen those to show
	detail   *bool         // the parameter detail
	selected selection
}

// serve answers a GET of the list.
func (l listing) serve(r *rest.Request) (rest.Answer, error) {
	names := slices.Clone(rest.PageArgs)
	if !l.details {
		names = append(names, "fields")
		if l.list.defaults != nil {
			names = append(names, "detail")
		}
	}
	for _, f := range l.list.filters {
		if f.since <= r.Highest {
			names = append(names, f.name)
		}
	}
	a := r.QueryArgs(names...)
	l.checkTypes(a, true)
	marker := (*rest.Args).UUID
	if l.list.marker != nil {
		marker = l.list.marker
	}
	q := &listRequest{listing: l, r: r, args: a, page: a.Page(marker), shown: rest.FieldSet(a.List("fields"))}
	l.checkTypes(a, false)
	q.detail = a.Boolean("detail")
	if err := r.CheckArgs(a); err != nil {
		return rest.Answer{}, err
	}
	if err := pass(q, l.orders.list, listOrder); err != nil {
		return rest.Answer{}, err
	}
	var compare func(a, b conductor.Object) int
	if !q.selected.one {
		var err error
		if compare, err = l.order(q.page.SortKey); err != nil {
			return rest.Answer{}, err
		}
	}
	objects, err := q.selected.page(r, l.resource, q.page, compare)
	if err != nil {
		return rest.Answer{}, err
	}
	if len(objects) > 0 {
		if err := l.checkFields(r, q.shown); err != nil {
			return rest.Answer{}, err
		}
	}
	return q.answer(objects), nil
}

// checkTypes checks the types of the filters that are checked before the parameters of the page, or of the others.
func (l listing) checkTypes(a *rest.Args, first bool) {
	for _, f := range l.list.filters {
		if first == (l.list.first == nil || slices.Contains(l.list.first, f.name)) {
			f.decode(a, f.name)
		}
	}
}

// parentExists selects the records below the parent in the path. It refuses an unknown parent.
func parentExists(q *listRequest) error {
	if q.parent == nil {
		return nil
	}
	return q.parent.choose(q.r, &q.selected)
}

// listFieldsAllowed refuses fields that are newer than the version of the request.
func listFieldsAllowed(q *listRequest) error { return q.allowFields(q.r, q.shown) }

// sortKeyNotNewer refuses a sort key that is newer than the version of the request.
func sortKeyNotNewer(q *listRequest) error {
	if q.isNewer(q.r, q.page.SortKey) {
		return fault.NotAcceptable
	}
	return nil
}

// filtersNotNewer refuses filters that are newer than the version of the request.
func filtersNotNewer(q *listRequest) error {
	for _, f := range q.list.filters {
		switch {
		case !q.args.Has(f.name) || f.since <= q.r.Version:
		case f.old != nil:
			return f.old
		default:
			return fault.TooOld(f.since)
		}
	}
	return nil
}

// fieldsChosen chooses the fields to show. It refuses a path to the details of a record, which has none, and contradictory
// parameters.
func fieldsChosen(q *listRequest) (err error) {
	above := strings.Split(q.r.URL.Path, "/")
	switch {
	case q.details && above[len(above)-2] != q.path:
		return fault.NoSuchResource
	case q.details: // the path has no argument fields
		return nil
	case q.list.detailSince == 0 && len(q.shown) > 0 && q.detail != nil && *q.detail:
		return fault.Invalid("Can't fetch a subset of fields with 'detail' set")
	default:
		q.shown, err = q.r.ChooseFields(q.shown, q.detail, q.list.defaults, q.list.detailSince)
		return err
	}
}

// pageValid refuses an invalid size or direction of the page.
func pageValid(q *listRequest) error { return q.page.Check(q.r) }

// markerExists refuses a marker that names no record.
func markerExists(q *listRequest) error {
	switch {
	case q.page.Marker == "":
		return nil
	case !rest.IsUUID(q.page.Marker):
		return q.notFound(q.page.Marker)
	default:
		_, err := q.find(q.r, q.page.Marker)
		return err
	}
}

// sortKeyHasOrder refuses a sort key whose values have no order.
func sortKeyHasOrder(q *listRequest) error {
	f := q.field(q.page.SortKey)
	if f == nil {
		return nil
	}
	_, isObject := f.zero.(map[string]any)
	_, isList := f.zero.([]any)
	if isObject || isList {
		return fault.Invalid("The sort_key value %s is an invalid field for sorting", q.page.SortKey)
	}
	return nil
}

// filtersApply applies the filters. It refuses those that name unknown records.
func filtersApply(q *listRequest) error {
	chosen := ""
	if q.parent != nil {
		chosen = q.parent.group
	}
	for _, f := range q.list.filters {
		if !q.args.Has(f.name) || f.group != "" && (chosen != "" || !q.args.Given(f.name)) {
			continue
		}
		chosen = cmp.Or(chosen, f.group)
		if err := f.apply(q.r, q.args, &q.selected); err != nil {
			return err
		}
	}
	return nil
}

// order returns the comparison for a sort key, nil for the order of creation.
func (x *resource) order(key string) (func(a, b conductor.Object) int, error) {
	f := x.field(key)
	switch {
	case key == "id", key == "":
		return nil, nil
	case key == "uuid":
		return func(a, b conductor.Object) int { return cmp.Compare(a.Meta().UUID, b.Meta().UUID) }, nil
	case key == "created_at":
		return func(a, b conductor.Object) int { return a.Meta().CreatedAt.Compare(b.Meta().CreatedAt) }, nil
	case key == "updated_at":
		return func(a, b conductor.Object) int { return rest.CompareTimes(a.Meta().UpdatedAt, b.Meta().UpdatedAt) }, nil
	case f == nil, f.is(noColumn):
		return nil, fault.Invalid("The sort_key value \"%s\" is an invalid field for sorting", fault.Show(key))
	default:
		return func(a, b conductor.Object) int { return compareValues(f.value(a), f.value(b)) }, nil
	}
}

// compareValues compares the values of a field: null comes first, numbers are compared as such, and other values as text.
func compareValues(a, b any) int {
	x, isNumber := a.(json.Number)
	y, bothNumbers := b.(json.Number)
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	case isNumber && bothNumbers:
		f, _ := x.Float64()
		g, _ := y.Float64()
		return cmp.Compare(f, g)
	default:
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	}
}

// answer returns an answer with a page of the list.
func (q *listRequest) answer(objects []conductor.Object) rest.Answer {
	parameters := q.page.SortParameters() // of the link to the next page
	if q.detail != nil {
		parameters = append(parameters, "detail="+fault.Repr(*q.detail))
	}
	for _, f := range q.list.filters {
		if v, ok := q.args.Values[f.name].(string); ok {
			parameters = append(parameters, f.name+"="+url.QueryEscape(v))
		}
	}
	next := q.path
	if q.details {
		next += "/detail"
	}
	return rest.Answer{Status: http.StatusOK, Write: func(w *wire.Writer) {
		w.Open()
		w.Key(path.Base(q.path)).OpenList()
		for _, o := range objects {
			q.show(w, q.r, o, q.shown)
		}
		w.CloseList()
		if len(objects) > 0 {
			q.page.WriteNext(w, q.r, next, q.shown, parameters, len(objects), objects[len(objects)-1].Meta().UUID)
		}
		w.Close()
	}}
}
