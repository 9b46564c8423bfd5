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

// listing is a request for a list of a resource's records.
type listing struct {
	*resource
	parent  *parent // nil for the list of all records
	details bool    // the path ends in /detail
}

// serve answers the request.
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
	p, fields := a.Page(marker), rest.FieldSet(a.List("fields"))
	l.checkTypes(a, false)
	detail := a.Boolean("detail")
	if err := r.CheckArgs(a); err != nil {
		return rest.Answer{}, err
	}
	s := &selection{}
	if l.parent != nil {
		if err := l.parent.choose(r, s); err != nil {
			return rest.Answer{}, err
		}
	}
	fields, err := l.chooseFields(r, a, p, fields, detail)
	if err != nil {
		return rest.Answer{}, err
	}
	if err := p.Check(r); err != nil {
		return rest.Answer{}, err
	}
	if err := l.checkOrder(r, p); err != nil {
		return rest.Answer{}, err
	}
	if err := l.applyFilters(r, a, s); err != nil {
		return rest.Answer{}, err
	}
	var compare func(a, b conductor.Object) int
	if !s.one {
		if compare, err = l.order(p.SortKey); err != nil {
			return rest.Answer{}, err
		}
	}
	objects, err := s.page(r, l.resource, p, compare)
	if err != nil {
		return rest.Answer{}, err
	}
	if len(objects) > 0 {
		if err := l.checkFields(r, fields); err != nil {
			return rest.Answer{}, err
		}
	}
	return l.answerPage(r, p, objects, fields, l.parameters(p, a, detail)), nil
}

// checkTypes checks the types of the filters that come before the parameters of the page, or of the others.
func (l listing) checkTypes(a *rest.Args, early bool) {
	for _, f := range l.list.filters {
		if early == (l.list.early == nil || slices.Contains(l.list.early, f.name)) {
			f.decode(a, f.name)
		}
	}
}

// chooseFields returns the fields to show. It refuses parameters and fields that are newer than the API version.
func (l listing) chooseFields(r *rest.Request, a *rest.Args, p rest.Page, fields rest.FieldSet, detail *bool) (rest.FieldSet, error) {
	if err := l.allowFields(r, fields); err != nil {
		return nil, err
	}
	if f := l.field(p.SortKey); f != nil && !l.list.newSortKeys && !f.is(readOnly) && f.since > r.Version && f.since <= r.Highest {
		return nil, fault.NotAcceptable
	}
	for _, f := range l.list.filters {
		switch {
		case !a.Has(f.name) || f.since <= r.Version:
		case f.old != nil:
			return nil, f.old
		default:
			return nil, fault.TooOld(f.since)
		}
	}
	above := strings.Split(r.URL.Path, "/")
	switch {
	case l.details && above[len(above)-2] != l.path: // a record has no details
		return nil, fault.NoSuchResource
	case l.details:
		return nil, nil
	case l.list.detailSince == 0 && len(fields) > 0 && detail != nil && *detail:
		return nil, fault.Invalid("Can't fetch a subset of fields with 'detail' set")
	default:
		return r.ChooseFields(fields, detail, l.list.defaults, l.list.detailSince)
	}
}

// applyFilters applies the filters of the request.
func (l listing) applyFilters(r *rest.Request, a *rest.Args, s *selection) error {
	groups, chosen := map[string]bool{}, ""
	if l.parent != nil {
		chosen = l.parent.group
		groups[chosen] = true
	}
	for _, f := range l.list.filters {
		if f.group != "" && a.Given(f.name) {
			groups[f.group] = true
		}
	}
	delete(groups, "address") // it never conflicts
	if len(groups) > 1 && l.list.oneFilter {
		return fault.NotPermitted
	}
	for _, f := range l.list.filters {
		if !a.Has(f.name) || f.group != "" && (chosen != "" || !a.Given(f.name)) {
			continue
		}
		chosen = cmp.Or(chosen, f.group)
		if err := f.apply(r, a, s); err != nil {
			return err
		}
	}
	return nil
}

// checkOrder refuses a marker that names no record, and a sort key whose values have no order.
func (l listing) checkOrder(r *rest.Request, p rest.Page) error {
	var unsortable error
	if f := l.field(p.SortKey); f != nil {
		_, isObject := f.zero.(map[string]any)
		_, isList := f.zero.([]any)
		if isObject || isList {
			unsortable = fault.Invalid("The sort_key value %s is an invalid field for sorting", p.SortKey)
		}
	}
	switch {
	case l.list.sortKeyFirst && unsortable != nil:
		return unsortable
	case p.Marker == "":
		return unsortable
	case !rest.IsUUID(p.Marker):
		return l.notFound(p.Marker)
	}
	if _, err := l.resource.find(r, p.Marker); err != nil {
		return err
	}
	return unsortable
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

// answerPage returns an answer with a page of the list. The parameters are those of the link to the next page.
func (l listing) answerPage(r *rest.Request, p rest.Page, objects []conductor.Object, fields rest.FieldSet, parameters []string) rest.Answer {
	next := l.path
	if l.details {
		next += "/detail"
	}
	return rest.Answer{Status: http.StatusOK, Write: func(w *wire.Writer) {
		w.Open()
		w.Key(path.Base(l.path)).OpenList()
		for _, o := range objects {
			l.show(w, r, o, fields)
		}
		w.CloseList()
		if len(objects) > 0 {
			p.WriteNext(w, r, next, fields, parameters, len(objects), objects[len(objects)-1].Meta().UUID)
		}
		w.Close()
	}}
}

// parameters returns the query parameters of the link to the next page.
func (l listing) parameters(p rest.Page, a *rest.Args, detail *bool) []string {
	parameters := p.SortParameters()
	if detail != nil {
		parameters = append(parameters, "detail="+fault.Repr(*detail))
	}
	for _, f := range l.list.filters {
		if v, ok := a.Values[f.name].(string); ok {
			parameters = append(parameters, f.name+"="+url.QueryEscape(v))
		}
	}
	return parameters
}
