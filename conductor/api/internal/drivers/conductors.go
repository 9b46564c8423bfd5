// SPDX-License-Identifier: Apache-2.0

package drivers

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// Conductors returns the controller of /v1/conductors.
func Conductors() *rest.Controller {
	return &rest.Controller{Actions: rest.Actions{
		rest.All: {Serve: listConductors, Since: since.Conductors, VersionFirst: states.Hibiscus},
		rest.One: {Serve: showConductor, Since: since.Conductors, VersionFirst: states.Hibiscus, Idents: []string{"hostname"},
			Args: []string{"fields"}},
	}}
}

// conductorFields are the fields of a conductor, without links, which every answer has.
var conductorFields = []struct {
	name  string
	write func(w *wire.Writer, m conductor.Member)
}{
	{"created_at", func(w *wire.Writer, m conductor.Member) { w.Time(&m.CreatedAt) }},
	{"updated_at", func(w *wire.Writer, _ conductor.Member) {
		now := time.Now().UTC() // the last heartbeat in Ironic; here every member is alive now
		w.Time(&now)
	}},
	{"hostname", func(w *wire.Writer, m conductor.Member) { w.Text(m.Hostname) }},
	{"conductor_group", func(w *wire.Writer, m conductor.Member) { w.Text(m.Group) }},
	{"drivers", func(w *wire.Writer, m conductor.Member) { w.Texts(m.Drivers) }},
	{"alive", func(w *wire.Writer, _ conductor.Member) { w.Boolean(true) }},
}

// defaultConductorFields are the fields in a list without detail.
var defaultConductorFields = []string{"hostname", "conductor_group", "alive"}

// conductorOrders has the fields by which a list can be sorted. A nil order keeps the order of
// [conductor.Conductor.Members]: members have no number, and all were updated now.
//
// Source: ironic/api/controllers/v1/conductor.py.
var conductorOrders = map[string]func(a, b conductor.Member) int{
	"id":              nil,
	"hostname":        func(a, b conductor.Member) int { return cmp.Compare(a.Hostname, b.Hostname) },
	"conductor_group": func(a, b conductor.Member) int { return cmp.Compare(a.Group, b.Group) },
	"created_at":      func(a, b conductor.Member) int { return a.CreatedAt.Compare(b.CreatedAt) },
	"updated_at":      nil,
}

// checkHost refuses the name of a conductor that cannot be one: since 2024.1 any host, with or without a port.
//
// Source: host_port in ironic/common/args.py, and parse_host_port of oslo.utils.
func checkHost(series states.Series, argument, host string) error {
	if series < states.Caracal {
		if !rest.IsName(host) {
			return fault.Invalid("Expected name for %s: %s", argument, fault.Show(host))
		}
		return nil
	}
	name, port, hasPort := strings.Cut(host, ":")
	switch {
	case strings.HasPrefix(host, "["):
		name, port, _ = strings.Cut(host[1:], "]")
		port, hasPort = strings.CutPrefix(port, ":")
	case strings.Count(host, ":") > 1: // an address of version 6
		name, hasPort = host, false
	}
	if _, err := strconv.Atoi(port); hasPort && err != nil {
		return fault.Invalid("%s: invalid literal for int() with base 10: '%s'", argument, fault.Show(port))
	}
	if name == "" {
		return fault.Invalid("Missing host in %s", argument)
	}
	return nil
}

// writeConductor writes a conductor with the given fields.
func writeConductor(r *rest.Request, w *wire.Writer, m conductor.Member, fields rest.FieldSet) {
	w.Open()
	for _, f := range conductorFields {
		if fields.Has(f.name) {
			w.Key(f.name)
			f.write(w, m)
		}
	}
	w.Key("links").Links(r.Base(), "conductors/"+m.Hostname)
	w.Close()
}

// knownConductorFields returns the names of all fields and of the links, sorted.
func knownConductorFields() []string {
	known := []string{"links"}
	for _, f := range conductorFields {
		known = append(known, f.name)
	}
	slices.Sort(known)
	return known
}

// inSchema refuses fields and a direction that the schema of the query does not have, since 2026.2.
//
// Source: ironic/api/schemas/v1/conductor.py.
func inSchema(r *rest.Request, fields rest.FieldSet, direction string) error {
	if r.Series < states.Hibiscus || r.InPath("fields") {
		return nil
	}
	return cmp.Or(fault.OneOf(knownConductorFields(), fields...), fault.OneOf([]string{"asc", "desc"}, direction))
}

// checkConductorFields refuses fields that a conductor does not have.
func checkConductorFields(fields rest.FieldSet) error {
	known := knownConductorFields()
	return rest.InvalidFields(slices.DeleteFunc(slices.Clone(fields), func(name string) bool { return slices.Contains(known, name) }))
}

// listConductors answers GET /v1/conductors.
func listConductors(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("marker", "limit", "sort_key", "sort_dir", "fields", "detail")
	marker := a.Name
	if r.Series >= states.Caracal {
		marker = a.Text
	}
	if host := marker("marker"); a.Has("marker") && a.Err == nil {
		a.Err = checkHost(r.Series, "marker", host)
	}
	p, fields, detail := a.Page(), rest.FieldSet(a.List("fields")), a.Boolean("detail")
	shown, unfit := r.ChooseFields(fields, detail, defaultConductorFields, since.Detail)
	if err := cmp.Or(r.CheckArgs(a), inSchema(r, fields, p.Direction), unfit, p.Check(r)); err != nil {
		return rest.Answer{}, err
	}
	members, err := conductorsOn(p, r)
	if err == nil && len(members) > 0 {
		err = checkConductorFields(shown)
	}
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Object(func(w *wire.Writer) {
		wire.List(w.Key("conductors"), members, func(m conductor.Member) { writeConductor(r, w, m, shown) })
		if len(members) > 0 {
			parameters := p.SortParameters()
			if detail != nil {
				parameters = append(parameters, "detail="+fault.Repr(*detail))
			}
			last := members[len(members)-1].Hostname
			p.WriteNext(w, r, rest.Next{Path: "conductors", Fields: shown, Parameters: parameters, Count: len(members), Last: last})
		}
	}), nil
}

// conductorsOn returns the conductors on a page.
func conductorsOn(p rest.Page, r *rest.Request) ([]conductor.Member, error) {
	members, err := r.Conductor.Members()
	if err != nil {
		return nil, err
	}
	compare, known := conductorOrders[p.SortKey]
	members, found := rest.Cut(p, slices.Clone(members), compare, func(m conductor.Member) string { return m.Hostname })
	switch {
	case p.SortKey == "alive", p.SortKey == "drivers":
		err = fault.Invalid("The sort_key value %s is an invalid field for sorting", p.SortKey)
	case !found:
		err = fault.NotFound("Conductor %s could not be found.", fault.Show(p.Marker))
	case !known:
		err = fault.Invalid("The sort_key value \"%s\" is an invalid field for sorting", fault.Show(p.SortKey))
	}
	return members, err
}

// showConductor answers GET /v1/conductors/HOSTNAME.
func showConductor(r *rest.Request) (rest.Answer, error) {
	host := r.Param(0)
	a := r.QueryArgs("fields")
	if err := checkHost(r.Series, "hostname", host); a.Err == nil && err != nil {
		return rest.Answer{}, err
	}
	fields := rest.FieldSet(a.List("fields"))
	if err := cmp.Or(r.CheckArgs(a), inSchema(r, fields, "asc")); err != nil {
		return rest.Answer{}, err
	}
	members, err := r.Conductor.Members()
	if err != nil {
		return rest.Answer{}, err
	}
	i := slices.IndexFunc(members, func(m conductor.Member) bool { return m.Hostname == host })
	if i < 0 {
		return rest.Answer{}, fault.NotFound("Conductor %s could not be found.", fault.Show(host))
	}
	if err := checkConductorFields(fields); err != nil {
		return rest.Answer{}, err
	}
	return rest.Value(func(w *wire.Writer) { writeConductor(r, w, members[i], fields) }), nil
}
