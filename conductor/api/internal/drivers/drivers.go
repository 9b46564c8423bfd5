// SPDX-License-Identifier: Apache-2.0

// Package drivers serves drivers (drivers.go) and conductors (conductors.go). Both resources are read-only: they show
// the members of the cluster and their hardware types, and have no records of their own. As in package nodes,
// a list of checks is run for each request. The checks also look up what the handler then shows.
package drivers

import (
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// Drivers returns the controller of /v1/drivers.
func Drivers() *rest.Controller {
	name := []string{"driver_name"}
	get := func(f rest.Serve) rest.Action {
		return rest.Action{Method: http.MethodGet, NoArgs: true, Serve: f, Idents: name}
	}
	return &rest.Controller{
		Actions: rest.Actions{
			rest.All:     {Serve: listDrivers},
			rest.One:     {Serve: showDriver, Idents: name, Args: []string{"fields"}},
			"properties": get(showProperties),
		},
		Subs: map[string]*rest.Controller{
			"raid": {Actions: rest.Actions{"logical_disk_properties": get(showLogicalDisks)}},
			"vendor_passthru": {
				Actions:  rest.Actions{"methods": get(listDriverMethods)},
				Fallback: &rest.Action{AnyMethod: true, Serve: callDriver, Idents: name, Args: []string{"method"}},
			},
		},
	}
}

// request is a request for drivers or conductors, with the results of its checks.
type request struct {
	*rest.Request
	args   *rest.Args
	fields rest.FieldSet       // the requested fields; those to show after conductorFieldsChosen
	detail *bool               // the argument detail
	hosts  map[string][]string // the conductors by hardware type, set by driversFound or driverExists
	method string              // of the vendor interface, set by methodNamed

	page    rest.Page          // set by conductorPageDecodes
	members []conductor.Member // the conductors to show, set by membersOnPage or memberExists
}

func newRequest(r *rest.Request) *request { return &request{Request: r} }

type checks = rest.Checks[*request]

// isDetailed reports whether the argument detail is true.
func (q *request) isDetailed() bool { return q.detail != nil && *q.detail }

// driverInterface is a kind of hardware interface and the first version in which a driver shows it.
type driverInterface struct {
	kind  string
	since states.APIVersion
}

// driverInterfaces are the kinds of hardware interfaces in the response for a driver.
//
// Source: ironic/api/controllers/v1/driver.py.
var driverInterfaces = []driverInterface{
	{"bios", since.BIOS}, {"boot", since.DriverDetail}, {"console", since.DriverDetail}, {"deploy", since.DriverDetail},
	{"firmware", since.Firmware}, {"inspect", since.DriverDetail}, {"management", since.DriverDetail},
	{"network", since.DriverDetail}, {"power", since.DriverDetail}, {"raid", since.DriverDetail}, {"rescue", since.RescueInterface},
	{"storage", since.StorageInterface}, {"vendor", since.DriverDetail},
}

// writeDriver writes a driver with the fields of the request's version. Its interfaces need detail.
func writeDriver(r *rest.Request, w *wire.Writer, name string, hosts []string, detail bool, fields rest.FieldSet) {
	w.Open()
	if fields.Has("name") {
		w.Key("name").Text(name)
	}
	if fields.Has("hosts") {
		w.Key("hosts").Texts(hosts)
	}
	w.Key("links").Links(r.Base(), "drivers/"+name)
	if r.Version >= since.StateLinks && fields.Has("properties") {
		w.Key("properties").Links(r.Base(), "drivers/"+name+"/properties")
	}
	if r.Version >= since.DriverDetail && fields.Has("type") {
		w.Key("type").Text("dynamic")
	}
	for _, i := range driverInterfaces {
		if !detail || r.Version < i.since {
			continue
		}
		if key := "default_" + i.kind + "_interface"; fields.Has(key) {
			w.Key(key).TextOrNull(r.Describe(name).Interface(unchosen, i.kind))
		}
		if key := "enabled_" + i.kind + "_interfaces"; fields.Has(key) {
			w.Key(key).Texts(r.Describe(name).Interfaces[i.kind])
		}
	}
	w.Close()
}

// unchosen is a node that has chosen no hardware interfaces, so that it has the default of each kind.
var unchosen = &conductor.Node{}

// driverFieldsExist refuses fields that a driver does not have, unless there is no driver to show. The fields of
// interfaces need detail.
func driverFieldsExist(q *request) error {
	if len(q.hosts) == 0 {
		return nil
	}
	return rest.InvalidFields(slices.DeleteFunc(slices.Clone(q.fields), func(field string) bool {
		return slices.Contains([]string{"name", "hosts", "links", "properties", "type"}, field) ||
			slices.ContainsFunc(driverInterfaces, func(i driverInterface) bool {
				return q.isDetailed() && i.since <= q.Highest &&
					(field == "default_"+i.kind+"_interface" || field == "enabled_"+i.kind+"_interfaces")
			})
	}))
}

// driverFieldsInSchema refuses fields that the schema of the query does not have, since 2026.2.
//
// Source: ironic/api/schemas/v1/driver.py.
func driverFieldsInSchema(q *request) error {
	if q.Series < states.Hibiscus || q.Version < since.DriverFields || q.InPath("fields") {
		return nil
	}
	known := []string{"hosts", "links", "name"}
	for _, kind := range []string{
		"boot", "console", "deploy", "inspect", "management", "network", "power", "raid", "vendor", "storage", "rescue", "bios", "firmware",
	} {
		if kind != "firmware" || q.Version >= since.Firmware {
			known = append(known, "default_"+kind+"_interface", "enabled_"+kind+"_interfaces")
		}
	}
	return fault.OneOf(append(known, "properties", "type"), q.fields...)
}

// listDrivers answers GET /v1/drivers.
var listDrivers = checks{
	driverQueryDecodes, driverFieldsInSchema, driverQueryFits, fieldsInVersion, typeKnown, driversFound, driverFieldsExist,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.ObjectWith("drivers", func(w *wire.Writer) {
		names := slices.Sorted(maps.Keys(q.hosts))
		wire.List(w, names, func(name string) { writeDriver(q.Request, w, name, q.hosts[name], q.isDetailed(), q.fields) })
	}), nil
})

// driverQueryDecodes reads the arguments of a list.
func driverQueryDecodes(q *request) error {
	q.args = q.QueryArgs("type", "detail", "fields")
	q.args.Text("type")
	q.detail, q.fields = q.args.Boolean("detail"), q.args.List("fields")
	return q.args.Err
}

// driverQueryFits refuses a query for both fields and detail, and other arguments that are newer than the version.
func driverQueryFits(q *request) error {
	switch {
	case len(q.fields) > 0 && q.isDetailed():
		return fault.Invalid("Can not specify ?detail=True and fields in the same request.")
	case (q.detail != nil || q.args.Has("type")) && q.Version < since.DriverDetail:
		return fault.TooOld(since.DriverDetail)
	default:
		return nil
	}
}

// fieldsInVersion refuses fields if the version has none.
func fieldsInVersion(q *request) error {
	if q.fields != nil && q.Version < since.DriverFields {
		return fault.NotAcceptable
	}
	return nil
}

// typeKnown refuses an unknown type of drivers.
func typeKnown(q *request) error {
	if kind := q.args.Text("type"); q.args.Has("type") && kind != "classic" && kind != "dynamic" {
		return fault.Invalid("\"type\" filter must be one of \"classic\" or \"dynamic\", if specified.")
	}
	return nil
}

// driversFound finds the drivers of a type, of which none is classic.
func driversFound(q *request) (err error) {
	if q.hosts, err = hostsByDriver(q.Request); q.args.Text("type") == "classic" {
		q.hosts = nil
	}
	return err
}

// hostsByDriver maps each hardware type to the names of the conductors that have it.
func hostsByDriver(r *rest.Request) (map[string][]string, error) {
	members, err := r.Conductor.Members()
	if err != nil {
		return nil, err
	}
	hosts := map[string][]string{}
	for _, m := range members {
		for _, driver := range m.Drivers {
			hosts[driver] = append(hosts[driver], m.Hostname)
		}
	}
	return hosts, nil
}

// driverExists refuses an unknown driver in the path.
func driverExists(q *request) (err error) {
	if q.hosts, err = hostsByDriver(q.Request); err == nil && q.hosts[q.Param(0)] == nil {
		err = fault.NotFound("The driver '%s' is unknown.", fault.Show(q.Param(0)))
	}
	return err
}

// showDriver answers GET /v1/drivers/NAME.
var showDriver = checks{
	driverFieldsDecode, driverFieldsInSchema, fieldsInVersion, driverShown, driverFieldsExist,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	name := q.Param(0)
	return rest.Value(func(w *wire.Writer) { writeDriver(q.Request, w, name, q.hosts[name], true, q.fields) }), nil
})

// driverFieldsDecode reads the requested fields of a driver, which is shown in detail.
func driverFieldsDecode(q *request) error {
	a, detail := q.QueryArgs("fields"), true
	q.fields, q.detail = a.List("fields"), &detail
	return a.Err
}

// driverShown is driverExists with another text.
func driverShown(q *request) error {
	err := driverExists(q)
	if err != nil && fault.Of(err).Status == http.StatusNotFound {
		return fault.NotFound("Could not find the following driver(s) or hardware type(s): %s.", fault.Show(q.Param(0)))
	}
	return err
}

// showProperties answers GET /v1/drivers/NAME/properties.
var showProperties = checks{driverExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return objectOfTexts(q.Describe(q.Param(0)).Properties), nil
})

// objectOfTexts returns an answer with a JSON object of strings.
func objectOfTexts(m map[string]string) rest.Answer {
	return rest.Object(func(w *wire.Writer) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			w.Key(key).Text(m[key])
		}
	})
}

// logicalDiskProperties describes the keys of a logical disk in a RAID configuration.
// Source: the keys of ironic/drivers/raid_config_schema.json.
var logicalDiskProperties = map[string]string{
	"raid_level":               "Level of the logical disk: JBOD, 0, 1, 2, 5, 6, 1+0, 5+0 or 6+0. Required.",
	"size_gb":                  "Size in GiB, or MAX for the rest of the disks. Required.",
	"volume_name":              "Name of the volume; generated if missing.",
	"is_root_volume":           "Whether the operating system boots from the volume; false if missing.",
	"share_physical_disks":     "Whether other logical disks may use the same physical disks; false if missing.",
	"disk_type":                "Type of the physical disks: hdd or ssd.",
	"interface_type":           "Interface of the physical disks: sata, scsi or sas.",
	"number_of_physical_disks": "How many physical disks to use; as few as the level permits if missing.",
	"controller":               "The RAID controller to use, as its driver names it.",
	"physical_disks":           "The physical disks to use, as the driver names them.",
}

// showLogicalDisks answers GET /v1/drivers/NAME/raid/logical_disk_properties.
var showLogicalDisks = checks{raidInVersion, driverExists, raidSupported}.Then(newRequest, func(*request) (rest.Answer, error) {
	return objectOfTexts(logicalDiskProperties), nil
})

// raidInVersion refuses a version without RAID.
func raidInVersion(q *request) error {
	if q.Version < since.RAID {
		return fault.NotAcceptable
	}
	return nil
}

// raidSupported refuses a driver without RAID.
func raidSupported(q *request) error {
	if !q.Describe(q.Param(0)).Has(unchosen, "raid") {
		return fault.NotFound("%s", conductor.UnsupportedText(q.Param(0), "raid"))
	}
	return nil
}

// listDriverMethods answers GET /v1/drivers/NAME/vendor_passthru/methods. No hardware
// type has methods without a node.
var listDriverMethods = checks{driverExists}.Then(newRequest, func(*request) (rest.Answer, error) { return objectOfTexts(nil), nil })

// callDriver answers requests for /v1/drivers/NAME/vendor_passthru/METHOD, and for
// .../vendor_passthru?method=METHOD.
var callDriver = checks{methodNamed, driverExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	if q.method == "" {
		return rest.Answer{}, fault.Invalid("Method not specified")
	}
	return rest.Answer{}, fault.Invalid("No handler for method %s", fault.Show(q.method))
})

// methodNamed reads the name of the method, which the path or the query has. It refuses a body that is no JSON.
func methodNamed(q *request) error {
	if _, err := q.Decode(rest.MaxBody); err != nil {
		return err
	}
	a := q.QueryArgs("method")
	q.method = a.Need("method").Text("method")
	return a.Err
}
