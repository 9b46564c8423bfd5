package api

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// conductorController returns the controller of /v1/conductors.
func conductorController() *controller {
	return &controller{actions: actions{
		all: {serve: listConductors, since: since.Conductors},
		one: {serve: showConductor, since: since.Conductors, idents: []string{"hostname"}, args: []string{"fields"}},
	}}
}

// conductorFields are the fields of a conductor, without links.
var conductorFields = []string{"created_at", "updated_at", "hostname", "conductor_group", "drivers", "alive"}

var defaultConductorFields = []string{"hostname", "conductor_group", "alive"}

func (r *request) writeConductor(w *writer, m conductor.Member, fields fieldSet) {
	w.open()
	for _, name := range conductorFields {
		if !fields.has(name) {
			continue
		}
		w.key(name)
		switch name {
		case "created_at":
			w.time(&m.CreatedAt)
		case "updated_at":
			now := time.Now().UTC() // Ironic's time of the last heartbeat; members are alive now
			w.time(&now)
		case "hostname":
			w.text(m.Hostname)
		case "conductor_group":
			w.text(m.Group)
		case "drivers":
			w.texts(m.Drivers)
		case "alive":
			w.boolean(true)
		}
	}
	w.key("links").links(r.base(), "conductors/"+m.Hostname)
	w.close()
}

func checkConductorFields(fields fieldSet) error {
	return invalidFields(slices.DeleteFunc(slices.Clone(fields), func(f string) bool {
		return slices.Contains(conductorFields, f) || f == "links"
	}))
}

// listConductors answers GET /v1/conductors.
func listConductors(r *request) (answer, error) {
	a := r.queryArgs("marker", "limit", "sort_key", "sort_dir", "fields", "detail")
	p, fields, detail := a.page((*args).name), fieldSet(a.list("fields")), a.boolean("detail")
	if err := r.accept(a); err != nil {
		return answer{}, err
	}
	order := map[string]func(a, b conductor.Member) int{
		"id": nil, "hostname": func(a, b conductor.Member) int { return cmp.Compare(a.Hostname, b.Hostname) },
		"conductor_group": func(a, b conductor.Member) int { return cmp.Compare(a.Group, b.Group) },
		"created_at":      func(a, b conductor.Member) int { return a.CreatedAt.Compare(b.CreatedAt) },
		"updated_at":      nil,
	}
	fields, err := r.chooseFields(fields, detail, defaultConductorFields, since.Detail)
	if err != nil {
		return answer{}, err
	}
	if err := p.check(r); err != nil {
		return answer{}, err
	}
	members, err := r.conductor.Members(r.Context())
	if err != nil {
		return answer{}, err
	}
	compare, known := order[p.sortKey]
	switch {
	case p.sortKey == "alive", p.sortKey == "drivers":
		return answer{}, invalid("The sort_key value %s is an invalid field for sorting", p.sortKey)
	case p.marker != "" && !slices.ContainsFunc(members, func(m conductor.Member) bool { return m.Hostname == p.marker }):
		return answer{}, notFound("Conductor %s could not be found.", show(p.marker))
	case !known:
		return answer{}, invalid("The sort_key value \"%s\" is an invalid field for sorting", show(p.sortKey))
	}
	members, _ = cut(p, slices.Clone(members), compare, func(m conductor.Member) string { return m.Hostname })
	if len(members) > 0 {
		if err := checkConductorFields(fields); err != nil {
			return answer{}, err
		}
	}
	w := newWriter(512)
	w.open()
	w.key("conductors").openList()
	for _, m := range members {
		r.writeConductor(w, m, fields)
	}
	w.closeList()
	if len(members) > 0 {
		p.writeNext(w, r, "conductors", fields, p.sortParameters(), len(members), members[len(members)-1].Hostname)
	}
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// showConductor answers GET /v1/conductors/HOSTNAME.
func showConductor(r *request) (answer, error) {
	a := r.queryArgs("fields")
	if host := r.param(0); a.err == nil && !isName(host) {
		return answer{}, invalid("Expected name for hostname: %s", show(host))
	}
	fields := fieldSet(a.list("fields"))
	if err := r.accept(a); err != nil {
		return answer{}, err
	}
	members, err := r.conductor.Members(r.Context())
	if err != nil {
		return answer{}, err
	}
	i := slices.IndexFunc(members, func(m conductor.Member) bool { return m.Hostname == r.param(0) })
	if i < 0 {
		return answer{}, notFound("Conductor %s could not be found.", show(r.param(0)))
	}
	if err := checkConductorFields(fields); err != nil {
		return answer{}, err
	}
	w := newWriter(512)
	r.writeConductor(w, members[i], fields)
	return answer{status: http.StatusOK, body: w.b}, nil
}
