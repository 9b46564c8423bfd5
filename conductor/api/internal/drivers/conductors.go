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

// conductorFieldsInSchema refuses fields that the schema of the query does not have, since 2026.2.
//
// Source: ironic/api/schemas/v1/conductor.py.
func conductorFieldsInSchema(q *request) error {
	if q.Series < states.Hibiscus || q.InPath("fields") {
		return nil
	}
	return fault.OneOf(knownConductorFields(), q.fields...)
}

// directionInSchema is conductorFieldsInSchema for the direction of a list.
func directionInSchema(q *request) error {
	if q.Series < states.Hibiscus {
		return nil
	}
	return fault.OneOf([]string{"asc", "desc"}, q.page.Direction)
}

// conductorFieldsExist refuses fields that a conductor does not have, unless there is no conductor to show.
func conductorFieldsExist(q *request) error {
	if len(q.members) == 0 {
		return nil
	}
	known := knownConductorFields()
	return rest.InvalidFields(slices.DeleteFunc(slices.Clone(q.fields), func(name string) bool { return slices.Contains(known, name) }))
}

// listConductors answers GET /v1/conductors.
var listConductors = checks{
	conductorPageDecodes, conductorFieldsInSchema, directionInSchema, conductorFieldsChosen, pageValid, membersOnPage, conductorFieldsExist,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.Object(func(w *wire.Writer) {
		wire.List(w.Key("conductors"), q.members, func(m conductor.Member) { writeConductor(q.Request, w, m, q.fields) })
		if len(q.members) > 0 {
			parameters := q.page.SortParameters()
			if q.detail != nil {
				parameters = append(parameters, "detail="+fault.Repr(*q.detail))
			}
			q.page.WriteNext(w, q.Request, rest.Next{
				Path: "conductors", Fields: q.fields, Parameters: parameters, Count: len(q.members), Last: q.members[len(q.members)-1].Hostname,
			})
		}
	}), nil
})

// conductorPageDecodes reads the arguments of a list.
func conductorPageDecodes(q *request) error {
	a := q.QueryArgs("marker", "limit", "sort_key", "sort_dir", "fields", "detail")
	marker := a.Name
	if q.Series >= states.Caracal {
		marker = a.Text
	}
	if host := marker("marker"); a.Has("marker") && a.Err == nil {
		a.Err = checkHost(q.Series, "marker", host)
	}
	q.page, q.fields, q.detail = a.Page(), a.List("fields"), a.Boolean("detail")
	return q.CheckArgs(a)
}

// conductorFieldsChosen chooses the fields to show.
func conductorFieldsChosen(q *request) (err error) {
	q.fields, err = q.ChooseFields(q.fields, q.detail, defaultConductorFields, since.Detail)
	return err
}

// pageValid refuses an invalid size or direction of the page.
func pageValid(q *request) error { return q.page.Check(q.Request) }

// membersOnPage finds the conductors on the page.
func membersOnPage(q *request) error {
	members, err := q.Conductor.Members()
	if err != nil {
		return err
	}
	compare, known := conductorOrders[q.page.SortKey]
	members, found := rest.Cut(q.page, slices.Clone(members), compare, func(m conductor.Member) string { return m.Hostname })
	q.members = members
	switch {
	case q.page.SortKey == "alive", q.page.SortKey == "drivers":
		return fault.Invalid("The sort_key value %s is an invalid field for sorting", q.page.SortKey)
	case !found:
		return fault.NotFound("Conductor %s could not be found.", fault.Show(q.page.Marker))
	case !known:
		return fault.Invalid("The sort_key value \"%s\" is an invalid field for sorting", fault.Show(q.page.SortKey))
	default:
		return nil
	}
}

// showConductor answers GET /v1/conductors/HOSTNAME.
var showConductor = checks{
	hostDecodes, conductorFieldsInSchema, memberExists, conductorFieldsExist,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.Value(func(w *wire.Writer) { writeConductor(q.Request, w, q.members[0], q.fields) }), nil
})

// hostDecodes reads the requested fields. It refuses a name that no conductor can have.
func hostDecodes(q *request) error {
	a := q.QueryArgs("fields")
	if a.Err == nil {
		a.Err = checkHost(q.Series, "hostname", q.Param(0))
	}
	q.fields = a.List("fields")
	return q.CheckArgs(a)
}

// memberExists finds the conductor in the path.
func memberExists(q *request) error {
	members, err := q.Conductor.Members()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(members, func(m conductor.Member) bool { return m.Hostname == q.Param(0) })
	if i < 0 {
		return fault.NotFound("Conductor %s could not be found.", fault.Show(q.Param(0)))
	}
	q.members = members[i : i+1]
	return nil
}
