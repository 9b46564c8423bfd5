// SPDX-License-Identifier: Apache-2.0

// Package drivers serves drivers (drivers.go) and conductors (conductors.go). Both resources are read-only: they show
// the members of the cluster and their hardware types, and have no records of their own.
package drivers

import (
	"cmp"
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
				Fallback: &rest.Action{AnyMethod: true, Serve: callDriver, Idents: name, Optional: 1},
			},
		},
	}
}

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

// checkDriverFields refuses fields that a driver does not have. Interfaces need detail.
func checkDriverFields(r *rest.Request, fields rest.FieldSet, detail bool) error {
	return rest.InvalidFields(slices.DeleteFunc(slices.Clone(fields), func(field string) bool {
		return slices.Contains([]string{"name", "hosts", "links", "properties", "type"}, field) ||
			slices.ContainsFunc(driverInterfaces, func(i driverInterface) bool {
				return detail && i.since <= r.Highest && (field == "default_"+i.kind+"_interface" || field == "enabled_"+i.kind+"_interfaces")
			})
	}))
}

// driverFieldsInSchema refuses fields that the schema of the query does not have, since 2026.2.
//
// Source: ironic/api/schemas/v1/driver.py.
func driverFieldsInSchema(r *rest.Request, fields rest.FieldSet) error {
	if r.Series < states.Hibiscus || r.Version < since.DriverFields || r.InPath("fields") {
		return nil
	}
	known := []string{"hosts", "links", "name"}
	for _, kind := range []string{
		"boot", "console", "deploy", "inspect", "management", "network", "power", "raid", "vendor", "storage", "rescue", "bios", "firmware",
	} {
		if kind != "firmware" || r.Version >= since.Firmware {
			known = append(known, "default_"+kind+"_interface", "enabled_"+kind+"_interfaces")
		}
	}
	return fault.OneOf(append(known, "properties", "type"), fields...)
}

// listDrivers answers GET /v1/drivers.
func listDrivers(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("type", "detail", "fields")
	kind, asked, fields := a.Text("type"), a.Boolean("detail"), rest.FieldSet(a.List("fields"))
	detail := asked != nil && *asked
	if err := cmp.Or(a.Err, driverFieldsInSchema(r, fields)); err != nil {
		return rest.Answer{}, err
	}
	switch {
	case len(fields) > 0 && detail:
		return rest.Answer{}, fault.Invalid("Can not specify ?detail=True and fields in the same request.")
	case (asked != nil || a.Has("type")) && r.Version < since.DriverDetail:
		return rest.Answer{}, fault.TooOld(since.DriverDetail)
	case fields != nil && r.Version < since.DriverFields:
		return rest.Answer{}, fault.NotAcceptable
	case a.Has("type") && kind != "classic" && kind != "dynamic":
		return rest.Answer{}, fault.Invalid("\"type\" filter must be one of \"classic\" or \"dynamic\", if specified.")
	}
	hosts, err := hostsByDriver(r)
	if err != nil {
		return rest.Answer{}, err
	}
	if kind == "classic" {
		hosts = nil
	}
	if len(hosts) > 0 {
		if err := checkDriverFields(r, fields, detail); err != nil {
			return rest.Answer{}, err
		}
	}
	return rest.ObjectWith("drivers", func(w *wire.Writer) {
		names := slices.Sorted(maps.Keys(hosts))
		wire.List(w, names, func(name string) { writeDriver(r, w, name, hosts[name], detail, fields) })
	}), nil
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

// findDriver returns the names of the conductors that have the driver of the request's path. Its error is the
// response if none has it.
func findDriver(r *rest.Request) (hosts []string, err error) {
	all, err := hostsByDriver(r)
	if err != nil {
		return nil, err
	}
	if hosts, ok := all[r.Param(0)]; ok {
		return hosts, nil
	}
	return nil, fault.NotFound("The driver '%s' is unknown.", fault.Show(r.Param(0)))
}

// showDriver answers GET /v1/drivers/NAME.
func showDriver(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("fields")
	fields := rest.FieldSet(a.List("fields"))
	if err := cmp.Or(a.Err, driverFieldsInSchema(r, fields)); err != nil {
		return rest.Answer{}, err
	}
	if fields != nil && r.Version < since.DriverFields {
		return rest.Answer{}, fault.NotAcceptable
	}
	hosts, err := findDriver(r)
	if err != nil && fault.Of(err).Status == http.StatusNotFound {
		return rest.Answer{}, fault.NotFound("Could not find the following driver(s) or hardware type(s): %s.", fault.Show(r.Param(0)))
	}
	if err != nil {
		return rest.Answer{}, err
	}
	if err := checkDriverFields(r, fields, true); err != nil {
		return rest.Answer{}, err
	}
	return rest.Value(func(w *wire.Writer) { writeDriver(r, w, r.Param(0), hosts, true, fields) }), nil
}

// showProperties answers GET /v1/drivers/NAME/properties.
func showProperties(r *rest.Request) (rest.Answer, error) {
	if _, err := findDriver(r); err != nil {
		return rest.Answer{}, err
	}
	return objectOfTexts(r.Describe(r.Param(0)).Properties), nil
}

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
func showLogicalDisks(r *rest.Request) (rest.Answer, error) {
	if r.Version < since.RAID {
		return rest.Answer{}, fault.NotAcceptable
	}
	if _, err := findDriver(r); err != nil {
		return rest.Answer{}, err
	}
	if !r.Describe(r.Param(0)).Has(unchosen, "raid") {
		return rest.Answer{}, fault.NotFound("%s", conductor.UnsupportedText(r.Param(0), "raid"))
	}
	return objectOfTexts(logicalDiskProperties), nil
}

// listDriverMethods answers GET /v1/drivers/NAME/vendor_passthru/methods. No hardware
// type has methods without a node.
func listDriverMethods(r *rest.Request) (rest.Answer, error) {
	if _, err := findDriver(r); err != nil {
		return rest.Answer{}, err
	}
	return objectOfTexts(nil), nil
}

// callDriver answers requests for /v1/drivers/NAME/vendor_passthru/METHOD, and for
// .../vendor_passthru?method=METHOD.
func callDriver(r *rest.Request) (rest.Answer, error) {
	if _, err := r.Decode(rest.MaxBody); err != nil {
		return rest.Answer{}, err
	}
	a := r.QueryArgs("method")
	var method string
	if len(r.Params) > 1 {
		method = r.Param(1)
	} else {
		method = a.Need("method").Text("method")
	}
	if a.Err != nil {
		return rest.Answer{}, a.Err
	}
	if _, err := findDriver(r); err != nil {
		return rest.Answer{}, err
	}
	if method == "" {
		return rest.Answer{}, fault.Invalid("Method not specified")
	}
	return rest.Answer{}, fault.Invalid("No handler for method %s", fault.Show(method))
}
