package api

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// page is the part of a list that a client requests, and its order.
type page struct {
	limit     *int // as requested, nil for none
	size      int  // the most items on the page, set by check
	marker    string
	sortKey   string
	direction string
}

// pageArgs are the names of a page's arguments.
var pageArgs = []string{"limit", "marker", "sort_key", "sort_dir"}

// page decodes the arguments of a page, of which the marker has the given type.
func (a *args) page(marker func(a *args, name string) string) page {
	p := page{marker: marker(a, "marker"), sortKey: "id", direction: "asc"}
	if n, ok := a.integer("limit"); ok {
		p.limit = &n
	}
	if key := a.text("sort_key"); key != "" {
		p.sortKey = key
	}
	if a.has("sort_dir") {
		p.direction = a.text("sort_dir")
	}
	return p
}

// check refuses a limit or a direction that does not exist, and sets the defaults.
func (p *page) check(r *request) error {
	switch {
	case p.limit != nil && *p.limit <= 0:
		return invalid("Limit must be positive")
	case p.direction != "asc" && p.direction != "desc":
		return invalid("Invalid sort direction: %s. Acceptable values are 'asc' or 'desc'", show(p.direction))
	}
	p.size = r.maxLimit
	if p.limit != nil {
		p.size = min(p.size, *p.limit)
	}
	return nil
}

// cut sorts the items with compare, nil for items that are sorted already, and returns the
// items after the marker, up to the limit. The second result is false if the marker is not
// among the items.
func cut[T any](p page, items []T, compare func(a, b T) int, id func(T) string) ([]T, bool) {
	if compare != nil {
		slices.SortStableFunc(items, compare)
	}
	if p.direction == "desc" {
		slices.Reverse(items)
	}
	if p.marker != "" {
		i := slices.IndexFunc(items, func(item T) bool { return id(item) == p.marker })
		if i < 0 {
			return nil, false
		}
		items = items[i+1:]
	}
	return slices.Clone(items[:min(p.size, len(items))]), true // a clone does not retain the list
}

// writeNext writes the link to the next page, if this page is full. The parameters are the
// other query parameters of the link, in the form NAME=VALUE.
//
// Source: ironic/api/controllers/v1/collection.py.
func (p page) writeNext(w *writer, r *request, path string, fields fieldSet, parameters []string, count int, last string) {
	if count == 0 || count != p.size {
		return
	}
	if fields != nil {
		parameters = append(parameters, "fields="+strings.Join(fields, ","))
	}
	parameters = append(parameters, "limit="+strconv.Itoa(p.size), "marker="+last)
	w.key("next").text(r.base() + "/v1/" + path + "?" + strings.Join(parameters, "&"))
}

// sortParameters returns the query parameters for the order of the page.
func (p page) sortParameters() []string {
	return []string{"sort_key=" + p.sortKey, "sort_dir=" + p.direction}
}

func compareTimes(a, b *time.Time) int {
	var zero time.Time
	if a == nil {
		a = &zero
	}
	if b == nil {
		b = &zero
	}
	return a.Compare(*b)
}
