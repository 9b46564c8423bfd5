// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

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
	records  []record // on the page, set by recordsOnPage
}

// serve answers a GET of the list.
func (l listing) serve(r *rest.Request) (rest.Answer, error) {
	order := l.orders.list
	if l.details {
		order = l.orders.details.Or(order)
	}
	begin := func(r *rest.Request) *listRequest { return &listRequest{listing: l, r: r} }
	return order.Or(usual.list).Then(begin, (*listRequest).answered)(r)
}

// parametersDecode reads the parameters of the path and the query. It refuses others, wrong types, and then a
// version that does not have the action.
func parametersDecode(q *listRequest) error {
	names := slices.Clone(rest.PageArgs)
	if !q.details {
		names = append(names, "fields")
		if q.list.defaults != nil {
			names = append(names, "detail")
		}
	}
	for _, f := range q.list.filters {
		if f.since <= q.r.Highest {
			names = append(names, f.name)
		}
	}
	a := q.r.QueryArgs(names...)
	twice := false
	if q.parent != nil && q.parent.filter != "" && len(q.r.Params) > 0 {
		twice = a.Has(q.parent.filter)
		a.Values[q.parent.filter] = q.r.Param(0)
	}
	for _, name := range q.list.types {
		k := q.list.kinds[name]
		inSchema := q.schemas.queryTypes && q.hasSchemas(q.r.Service) && k.schema != converted
		if !inSchema && !(q.details && q.list.unchecked[name]) {
			k.decode(a, name)
		}
	}
	if twice {
		a.Fail("The path and the query both have the argument %s", q.parent.filter)
	}
	q.args = a
	return q.r.CheckArgs(a)
}

// parametersInSchema refuses a query that does not satisfy the schema of a series that has one. It reads the page,
// whose parameters have their types then.
func parametersInSchema(q *listRequest) error {
	if err := q.checkQuery(q.r, q.args); err != nil {
		return err
	}
	q.page, q.shown, q.detail = q.args.Page(), q.args.List("fields"), q.args.Boolean("detail")
	return q.args.Err
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

// sortKeyInVersion refuses a sort key that is newer than the version of the request.
func sortKeyInVersion(q *listRequest) error {
	if q.isNewer(q.r, q.page.SortKey) {
		return fault.NotAcceptable
	}
	return nil
}

// filtersInVersion refuses filters that are newer than the version of the request, and wrong values.
func filtersInVersion(q *listRequest) error { return q.checkFilters(func(filter) bool { return true }) }

func (q *listRequest) checkFilters(checked func(filter) bool) error {
	for _, f := range q.list.filters {
		switch {
		case !q.args.Has(f.name) || !checked(f):
		case f.since > q.r.Version && !f.anyVersion && f.old != nil:
			return f.old
		case f.since > q.r.Version && !f.anyVersion:
			return fault.TooOld(f.since)
		case f.valid != nil:
			f.valid(q.r, q.args)
		}
		if q.args.Err != nil {
			return q.args.Err
		}
	}
	return nil
}

// fieldsChosen chooses the fields to show. It refuses a path to the details of a record, which has none, and
// contradictory parameters.
func fieldsChosen(q *listRequest) (err error) {
	above := strings.Split(q.r.Path, "/")
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
	}
	_, err := q.store.in(q.r, conductor.Range{After: q.page.Marker}, 1, func(record) bool { return true })
	if errors.Is(err, conductor.NotFound) {
		return q.notFound(q.page.Marker)
	}
	return err
}

// sortKeyHasOrder refuses a sort key whose values have no order.
func sortKeyHasOrder(q *listRequest) error {
	f := q.field(q.page.SortKey)
	if f == nil || hasNoColumn(q.r, f) { // sortKey refuses these
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
		err := f.apply(q.r, q.args, &q.selected)
		if err = cmp.Or(err, q.args.Err); err != nil {
			return err
		}
	}
	return nil
}

// hasNoColumn reports whether Ironic's database has no column for a field, in any series or in the request's. The name
// of a port had its column before.
func hasNoColumn(r *rest.Request, f *field) bool {
	return f.is(noColumn) || f.since > r.Highest && f.name != "name"
}

// sortKey returns the function for the value of a sort key, nil for the order of creation.
func (x *resource) sortKey(r *rest.Request, name string) (func(o record) any, error) {
	f := x.field(name)
	switch {
	case name == "id", name == "":
		return nil, nil
	case name == "uuid":
		return func(o record) any { return x.store.meta(o).UUID }, nil
	case name == "created_at":
		return func(o record) any { m := x.store.meta(o); return &m.CreatedAt }, nil
	case name == "updated_at":
		return func(o record) any {
			if at := x.store.meta(o).UpdatedAt; at != nil {
				return at
			}
			return nil
		}, nil
	case f == nil, hasNoColumn(r, f):
		return nil, fault.Invalid("The sort_key value \"%s\" is an invalid field for sorting", fault.Show(name))
	case f.text != nil:
		return func(o record) any { return f.text(r, o) }, nil
	default:
		return f.value, nil
	}
}

// compareValues compares the values of a field: null comes first, numbers and times are compared as such, and other
// values as text.
func compareValues(a, b any) int {
	x, isNumber := a.(json.Number)
	y, bothNumbers := b.(json.Number)
	before, isTime := a.(*time.Time)
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
	case isTime:
		return before.Compare(*b.(*time.Time))
	default:
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	}
}

// recordsOnPage reads the records on the page.
func recordsOnPage(q *listRequest) (err error) {
	q.records, err = q.selected.page(q.r, q.resource, q.page)
	return err
}

// listFieldsExist refuses fields that the resource does not have, unless there is no record to show.
func listFieldsExist(q *listRequest) error {
	if len(q.records) == 0 {
		return nil
	}
	return q.checkFields(q.r, q.shown)
}

// answered shows the page.
func (q *listRequest) answered() (rest.Answer, error) {
	records := q.records
	parameters := q.page.SortParameters() // of the link to the next page
	flags := map[string]bool{}
	for _, f := range q.list.filters {
		if value := q.args.Values[f.name]; f.flag && value != nil && *q.args.Boolean(f.name) {
			parameters = append(parameters, f.name+"=True")
			flags[f.name] = true
		}
	}
	if q.detail != nil {
		parameters = append(parameters, "detail="+fault.Repr(*q.detail))
	}
	for _, f := range q.list.filters {
		if v, ok := q.args.Values[f.name].(string); ok && !flags[f.name] {
			parameters = append(parameters, f.name+"="+url.QueryEscape(v))
		}
	}
	next := cmp.Or(q.linked, q.path)
	if q.details {
		next += "/detail"
	}
	return rest.Answer{Status: http.StatusOK, Write: func(w *wire.Writer) {
		w.Open()
		wire.List(w.Key(path.Base(q.path)), records, func(o record) { q.show(w, q.r, o, q.shown, true) })
		if len(records) > 0 && !q.selected.last {
			last := q.store.meta(records[len(records)-1]).UUID
			q.page.WriteNext(w, q.r, rest.Next{Path: next, Fields: q.shown, Parameters: parameters, Count: len(records), Last: last})
		}
		w.Close()
	}}, nil
}
