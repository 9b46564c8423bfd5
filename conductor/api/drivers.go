package api

import (
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// driverController returns the controller of /v1/drivers.
func driverController() *controller {
	name := []string{"driver_name"}
	get := func(f serve) action { return action{custom: http.MethodGet, plain: true, serve: f, idents: name} }
	return &controller{
		actions: actions{
			all: {serve: listDrivers}, one: {serve: showDriver, idents: name, args: []string{"fields"}}, "properties": get(showProperties),
		},
		subs: map[string]*controller{
			"raid": {actions: actions{"logical_disk_properties": get(showLogicalDisks)}},
			"vendor_passthru": {
				actions: actions{"methods": get(listDriverMethods)}, fallback: &action{any: true, serve: callDriver, idents: name, optional: 1},
			},
		},
	}
}

type driverInterface struct {
	kind  string
	since states.APIVersion
}

// driverInterfaces are the kinds of hardware interfaces in the response for a driver, each with
// its first API version. Source: ironic/api/controllers/v1/driver.py.
var driverInterfaces = []driverInterface{
	{"bios", since.BIOS}, {"boot", since.DriverDetail}, {"console", since.DriverDetail}, {"deploy", since.DriverDetail},
	{"firmware", since.Firmware}, {"inspect", since.DriverDetail}, {"management", since.DriverDetail},
	{"network", since.DriverDetail}, {"power", since.DriverDetail}, {"raid", since.DriverDetail}, {"rescue", since.RescueInterface},
	{"storage", since.StorageInterface}, {"vendor", since.DriverDetail},
}

// writeDriver writes a driver with the fields of the request's version.
func (r *request) writeDriver(w *writer, name string, hosts []string, detail bool, fields fieldSet) {
	w.open()
	if fields.has("name") {
		w.key("name").text(name)
	}
	if fields.has("hosts") {
		w.key("hosts").texts(hosts)
	}
	w.key("links").links(r.base(), "drivers/"+name)
	if r.version >= since.StateLinks && fields.has("properties") {
		w.key("properties").links(r.base(), "drivers/"+name+"/properties")
	}
	if r.version >= since.DriverDetail && fields.has("type") {
		w.key("type").text("dynamic")
	}
	for _, i := range driverInterfaces {
		if !detail || r.version < i.since {
			continue
		}
		names := r.describe(name).Interfaces[i.kind]
		if key := "default_" + i.kind + "_interface"; fields.has(key) {
			w.key(key)
			if len(names) > 0 {
				w.text(names[0])
			} else {
				w.null()
			}
		}
		if key := "enabled_" + i.kind + "_interfaces"; fields.has(key) {
			w.key(key).texts(names)
		}
	}
	w.close()
}

// knowDriverFields refuses fields that a driver does not have; without detail it has no interfaces.
func (r *request) knowDriverFields(fields fieldSet, detail bool) error {
	return invalidFields(slices.DeleteFunc(slices.Clone(fields), func(field string) bool {
		return slices.Contains([]string{"name", "hosts", "links", "properties", "type"}, field) ||
			slices.ContainsFunc(driverInterfaces, func(i driverInterface) bool {
				return detail && i.since <= r.highest && (field == "default_"+i.kind+"_interface" || field == "enabled_"+i.kind+"_interfaces")
			})
	}))
}

// listDrivers answers GET /v1/drivers.
func listDrivers(r *request) (answer, error) {
	a := r.queryArgs("type", "detail", "fields")
	kind, asked, fields := a.text("type"), a.boolean("detail"), fieldSet(a.list("fields"))
	detail := asked != nil && *asked
	switch {
	case a.err != nil:
		return answer{}, a.err
	case len(fields) > 0 && detail:
		return answer{}, invalid("Can not specify ?detail=True and fields in the same request.")
	case (asked != nil || a.has("type")) && r.version < since.DriverDetail:
		return answer{}, tooOld(since.DriverDetail)
	case fields != nil && r.version < since.DriverFields:
		return answer{}, errNotAcceptable
	case a.has("type") && kind != "classic" && kind != "dynamic":
		return answer{}, invalid("\"type\" filter must be one of \"classic\" or \"dynamic\", if specified.")
	}
	hosts, err := r.hostDrivers()
	if err != nil {
		return answer{}, err
	}
	if kind == "classic" {
		hosts = nil
	}
	if len(hosts) > 0 {
		if err := r.knowDriverFields(fields, detail); err != nil {
			return answer{}, err
		}
	}
	w := newWriter(4096)
	w.open()
	w.key("drivers").openList()
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		r.writeDriver(w, name, hosts[name], detail, fields)
	}
	w.closeList()
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// driver returns the conductors that have the driver that a request names.
func (r *request) driver() (hosts []string, err error) {
	all, err := r.hostDrivers()
	if err != nil {
		return nil, err
	}
	if hosts, ok := all[r.param(0)]; ok {
		return hosts, nil
	}
	return nil, notFound("The driver '%s' is unknown.", show(r.param(0)))
}

// showDriver answers GET /v1/drivers/NAME.
func showDriver(r *request) (answer, error) {
	a := r.queryArgs("fields")
	fields := fieldSet(a.list("fields"))
	switch {
	case a.err != nil:
		return answer{}, a.err
	case fields != nil && r.version < since.DriverFields:
		return answer{}, errNotAcceptable
	}
	hosts, err := r.driver()
	if err != nil && asFault(err).status == http.StatusNotFound {
		return answer{}, notFound("Could not find the following driver(s) or hardware type(s): %s.", show(r.param(0)))
	}
	if err != nil {
		return answer{}, err
	}
	if err := r.knowDriverFields(fields, true); err != nil {
		return answer{}, err
	}
	w := newWriter(4096)
	r.writeDriver(w, r.param(0), hosts, true, fields)
	return answer{status: http.StatusOK, body: w.b}, nil
}

// showProperties answers GET /v1/drivers/NAME/properties.
func showProperties(r *request) (answer, error) {
	if _, err := r.driver(); err != nil {
		return answer{}, err
	}
	return textsAnswer(r.describe(r.param(0)).Properties), nil
}

// textsAnswer returns an answer with a JSON object of strings.
func textsAnswer(m map[string]string) answer {
	w := newWriter(1024)
	w.open()
	for _, key := range slices.Sorted(maps.Keys(m)) {
		w.key(key).text(m[key])
	}
	w.close()
	return answer{status: http.StatusOK, body: w.b}
}

// logicalDiskProperties describes the keys of a logical disk in a RAID configuration.
// Source: the keys of ironic/drivers/raid_config_schema.json.
var logicalDiskProperties = map[string]string{
	"raid_level":               "Level of the logical disk: JBOD, 0, 1, 2, 5, 6, 1+0, 5+0 or 6+0. Required.",
	"size_gb":                  "Size in GiB, or MAX for all that is left. Required.",
	"volume_name":              "Name of the volume; one is made up if there is none.",
	"is_root_volume":           "Whether the operating system boots from the volume; false if missing.",
	"share_physical_disks":     "Whether other logical disks may use the same physical disks; false if missing.",
	"disk_type":                "Type of the physical disks: hdd or ssd.",
	"interface_type":           "Interface of the physical disks: sata, scsi or sas.",
	"number_of_physical_disks": "How many physical disks to use; as few as the level permits if missing.",
	"controller":               "The RAID controller to use, as its driver names it.",
	"physical_disks":           "The physical disks to use, as the driver names them.",
}

// showLogicalDisks answers GET /v1/drivers/NAME/raid/logical_disk_properties.
func showLogicalDisks(r *request) (answer, error) {
	if r.version < since.RAID {
		return answer{}, errNotAcceptable
	}
	if _, err := r.driver(); err != nil {
		return answer{}, err
	}
	names := r.describe(r.param(0)).Interfaces["raid"]
	if len(names) == 0 || names[0] == "no-raid" {
		return answer{}, notFound("Driver %s does not support raid (disabled or not implemented).", r.param(0))
	}
	return textsAnswer(logicalDiskProperties), nil
}

// listDriverMethods answers GET /v1/drivers/NAME/vendor_passthru/methods. No hardware
// type has methods without a node.
func listDriverMethods(r *request) (answer, error) {
	if _, err := r.driver(); err != nil {
		return answer{}, err
	}
	return textsAnswer(nil), nil
}

// callDriver answers requests for /v1/drivers/NAME/vendor_passthru/METHOD, and for
// .../vendor_passthru?method=METHOD.
func callDriver(r *request) (answer, error) {
	if _, err := r.decode(maxBody); err != nil {
		return answer{}, err
	}
	a := r.queryArgs("method")
	var method string
	if len(r.params) > 1 {
		method = r.param(1)
	} else {
		method = a.need("method").text("method")
	}
	if a.err != nil {
		return answer{}, a.err
	}
	if _, err := r.driver(); err != nil {
		return answer{}, err
	}
	if method == "" {
		return answer{}, invalid("Method not specified")
	}
	return answer{}, invalid("No handler for method %s", show(method))
}

// hostDrivers maps each hardware type to the names of the conductors that have it.
func (r *request) hostDrivers() (map[string][]string, error) {
	members, err := r.conductor.Members(r.Context())
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
