// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// Page is the part of a list that a client requests, and its order.
type Page struct {
	limit     *int // as requested, nil for none
	Size      int  // the most items on the page, set by Check
	Marker    string
	SortKey   string
	Direction string
	shownKey  string // the sort key as requested, which may be empty
}

// PageArgs are the names of a page's arguments.
var PageArgs = []string{"limit", "marker", "sort_key", "sort_dir"}

// Page decodes the arguments of a page. The caller checks the type of the marker before.
func (a *Args) Page() Page {
	p := Page{Marker: a.Text("marker"), SortKey: "id", Direction: "asc"}
	if n, ok := a.Integer("limit"); ok {
		p.limit = &n
	}
	if key := a.Text("sort_key"); key != "" {
		p.SortKey = key
	}
	p.shownKey = p.SortKey
	if a.Values["sort_key"] == "" {
		p.shownKey = ""
	}
	if a.Has("sort_dir") {
		p.Direction = a.Text("sort_dir")
	}
	return p
}

// Check refuses a limit below 1 and an unknown direction, and sets Size.
func (p *Page) Check(r *Request) error {
	switch {
	case p.limit != nil && *p.limit <= 0:
		return fault.Invalid("Limit must be positive")
	case p.Direction != "asc" && p.Direction != "desc":
		return fault.Invalid("Invalid sort direction: %s. Acceptable values are 'asc' or 'desc'", fault.Show(p.Direction))
	}
	p.Size = r.maxLimit
	if p.limit != nil {
		p.Size = min(p.Size, *p.limit)
	}
	return nil
}

// Cut sorts the items with compare, nil for items that are sorted already, and returns the
// items after the marker, up to the limit. The second result is false if the marker is not
// among the items.
func Cut[T any](p Page, items []T, compare func(a, b T) int, id func(T) string) ([]T, bool) {
	if compare != nil {
		slices.SortStableFunc(items, compare)
	}
	if p.Direction == "desc" {
		slices.Reverse(items)
	}
	if p.Marker != "" {
		i := slices.IndexFunc(items, func(item T) bool { return id(item) == p.Marker })
		if i < 0 {
			return nil, false
		}
		items = items[i+1:]
	}
	return slices.Clone(items[:min(p.Size, len(items))]), true // a clone does not retain the list
}

// Next describes the link to the next page of a list.
type Next struct {
	Path       string // of the list, below /v1
	Fields     FieldSet
	Parameters []string // other query parameters in the form NAME=VALUE
	Count      int      // of the items on this page
	Last       string   // the last item, which is the marker
}

// WriteNext writes the link to the next page, if this page is full.
//
// Source: ironic/api/controllers/v1/collection.py.
func (p Page) WriteNext(w *wire.Writer, r *Request, n Next) {
	if n.Count == 0 || n.Count != p.Size {
		return
	}
	parameters := n.Parameters
	if n.Fields != nil {
		parameters = append(parameters, "fields="+strings.Join(n.Fields, ","))
	}
	parameters = append(parameters, "limit="+strconv.Itoa(p.Size), "marker="+n.Last)
	w.Key("next").Text(r.Base() + "/v1/" + n.Path + "?" + strings.Join(parameters, "&"))
}

// SortParameters returns the query parameters for the order of the page.
func (p Page) SortParameters() []string {
	return []string{"sort_key=" + p.shownKey, "sort_dir=" + p.Direction}
}
