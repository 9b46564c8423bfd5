package api

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// serve answers a request whose path has matched a route.
type serve = func(h *handler, r *request) (answer, error)

// route is a path and its methods. The segment {} matches any segment.
type route struct {
	path     string
	since    states.APIVersion
	old      old
	name     string // the name in a refusal by oldRefused; empty is the path's first segment
	methods  map[string]serve
	segments []string
	allow    string
}

// old selects the response to a request whose API version is lower than the first version
// that has the path.
type old uint8

const (
	oldUnknown  old = iota // the response for an unknown path
	oldNotFound            // 404 in the usual envelope of faults
	oldRefused             // 404 or 405 with a reason
	oldIgnored             // none: the next route is tried
)

type methods = map[string]serve

// newRoutes returns the routes of the series, by the first segments of their paths.
//
// Source: the controllers in ironic/api/controllers/v1.
func (h *handler) newRoutes() map[string][]*route {
	routes := slices.Concat(swapped(nodeRoutes), nodeRoutes, nodePartRoutes, otherRoutes,
		chassisResource.routes(), portResource.routes(), portGroupResource.routes(), connectorResource.routes(),
		targetResource.routes(), templateResource.routes(), runbookResource.routes(), allocationRoutes)
	byFirst := map[string][]*route{}
	for _, one := range routes {
		if one.since > h.highest {
			continue
		}
		one.segments = strings.Split(one.path, "/")
		one.allow = strings.Join(slices.Sorted(maps.Keys(one.methods)), ", ")
		byFirst[one.segments[0]] = append(byFirst[one.segments[0]], &one)
	}
	return byFirst
}

var nodeRoutes = []route{
	{path: "nodes", methods: methods{
		"GET": (*handler).listNodes, "POST": (*handler).createNode,
		"PATCH": missing("node_ident"), "DELETE": missing("node_ident"),
	}},
	{path: "nodes/detail", methods: methods{"GET": (*handler).listNodesDetail}},
	{path: "nodes/validate", methods: methods{"GET": (*handler).validateNode}},
	{path: "nodes/{}", methods: methods{
		"GET": (*handler).showNode, "PATCH": (*handler).patchNode, "DELETE": (*handler).deleteNode,
	}},
	{path: "nodes/{}/validate", methods: methods{"GET": (*handler).validateNode}},
	{path: "nodes/{}/states", methods: methods{"GET": (*handler).showStates}},
	{path: "nodes/{}/states/provision", methods: methods{"PUT": (*handler).provision}},
	{path: "nodes/{}/states/power", methods: methods{"PUT": (*handler).setPower}},
	{path: "nodes/{}/states/raid", methods: methods{"PUT": (*handler).setRAID}},
	{path: "nodes/{}/states/boot_mode", methods: methods{"PUT": (*handler).setBootMode}},
	{path: "nodes/{}/states/secure_boot", methods: methods{"PUT": (*handler).setSecureBoot}},
	{path: "nodes/{}/states/console", methods: methods{"GET": (*handler).showConsole, "PUT": (*handler).setConsole}},
	{path: "nodes/{}/maintenance", methods: methods{"PUT": (*handler).setMaintenance, "DELETE": (*handler).clearMaintenance}},
	{path: "nodes/{}/management/boot_device", methods: methods{"GET": (*handler).showBootDevice, "PUT": (*handler).setBootDevice}},
	{path: "nodes/{}/management/boot_device/supported", methods: methods{"GET": (*handler).listBootDevices}},
	{path: "nodes/{}/management/inject_nmi", since: minInjectNMI, old: oldNotFound, methods: methods{"PUT": (*handler).injectNMI}},
	{path: "nodes/{}/management/indicators", methods: methods{"GET": (*handler).listIndicators}},
	{path: "nodes/{}/vendor_passthru", methods: anyMethod((*handler).callVendor)},
	{path: "nodes/{}/vendor_passthru/methods", methods: methods{"GET": (*handler).listVendorMethods}},
	{path: "nodes/{}/vendor_passthru/{}", methods: anyMethod((*handler).callVendor)},
}

// swapped returns the routes whose path has the node last: Ironic serves nodes/states/NODE as
// nodes/NODE/states. Without the node they refuse the request.
func swapped(routes []route) (reversed []route) {
	for _, o := range routes {
		part, below := strings.CutPrefix(o.path, "nodes/{}/")
		if !below || part == "validate" || strings.HasSuffix(part, "{}") || strings.HasSuffix(part, "/supported") || strings.HasSuffix(part, "/methods") {
			continue
		}
		with, without := o, o
		with.path, without.path, without.methods = "nodes/"+part+"/{}", "nodes/"+part, methods{}
		for method := range o.methods {
			without.methods[method] = missing("node_ident")
		}
		reversed = append(reversed, without, with)
	}
	// A path that ends in the name of a part comes before one that ends in a node's name.
	slices.SortStableFunc(reversed, func(a, b route) int {
		return cmp.Compare(strings.Count(a.path, "{}"), strings.Count(b.path, "{}"))
	})
	return reversed
}

func never(*handler, *request) (answer, error) { return answer{}, errNotFound }

// nodePartRoutes are the routes below a node. The last ones match any other segments: GET shows
// the node's field of that name.
var nodePartRoutes = []route{
	{path: "nodes/{}/traits", since: minTraits, old: oldIgnored, methods: methods{
		"GET": (*handler).listTraits, "PUT": (*handler).setTraits, "DELETE": (*handler).setTraits,
	}},
	{path: "nodes/{}/traits/{}", since: minTraits, old: oldIgnored, methods: methods{
		"PUT": (*handler).setTraits, "DELETE": (*handler).setTraits,
	}},
	{path: "nodes/{}/vifs", since: minVIFs, methods: methods{"GET": (*handler).listVIFs, "POST": (*handler).attachVIF}},
	{path: "nodes/{}/vifs/{}", since: minVIFs, methods: methods{"DELETE": (*handler).detachVIF}},
	{path: "nodes/{}/bios", since: minBIOS, methods: methods{"GET": (*handler).listBIOS}},
	{path: "nodes/{}/bios/{}", since: minBIOS, methods: methods{"GET": (*handler).showBIOS}},
	{path: "nodes/{}/firmware", since: minFirmware, methods: methods{"GET": emptyList("firmware", "detail", "fields")}},
	{path: "nodes/{}/vmedia", since: minVmedia, old: oldIgnored, methods: methods{
		"GET": (*handler).showVmedia, "POST": (*handler).attachVmedia, "DELETE": (*handler).detachVmedia,
	}},
	{path: "nodes/{}/history", since: minHistory, methods: methods{"GET": (*handler).listHistory}},
	{path: "nodes/{}/history/{}", since: minHistory, methods: methods{"GET": (*handler).showHistory}},
	{path: "nodes/{}/inventory", since: minInventory, methods: methods{"GET": (*handler).showInventory}},
	{path: "nodes/{}/children", since: minChildren, methods: methods{"GET": (*handler).listChildren}},
	{path: "nodes/{}/allocation", since: minAllocations, methods: methods{
		"GET": (*handler).showNodeAllocation, "DELETE": (*handler).deleteNodeAllocation,
	}},
	{path: "nodes/{}/ports", methods: methods{"GET": portResource.below(ofNode, false)}},
	{path: "nodes/{}/ports/detail", methods: methods{"GET": portResource.below(ofNode, true)}},
	{path: "nodes/{}/portgroups", since: minPortGroupsBelow, methods: methods{"GET": portGroupResource.below(ofNode, false)}},
	{path: "nodes/{}/portgroups/detail", since: minPortGroupsBelow, methods: methods{"GET": portGroupResource.below(ofNode, true)}},
	{path: "nodes/{}/volume", since: minVolumes, old: oldNotFound, methods: methods{"GET": (*handler).volume}},
	{path: "nodes/{}/volume/connectors", since: minVolumes, methods: methods{"GET": connectorResource.below(ofNode, false)}},
	{path: "nodes/{}/volume/targets", since: minVolumes, methods: methods{"GET": targetResource.below(ofNode, false)}},
	{path: "nodes/{}/{}", methods: methods{"GET": (*handler).showNodeField, "DELETE": never}},
	{path: "nodes/{}/{}/{}", methods: methods{"GET": never, "DELETE": never}},
}

var otherRoutes = []route{
	{path: "chassis/{}/nodes", methods: methods{"GET": (*handler).listChassisNodes}},
	{path: "chassis/{}/nodes/detail", methods: methods{"GET": (*handler).listChassisNodesDetail}},
	{path: "portgroups/{}/ports", since: minPortGroupsBelow, methods: methods{"GET": portResource.below(ofPortGroup, false)}},
	{path: "portgroups/{}/ports/detail", since: minPortGroupsBelow, methods: methods{"GET": portResource.below(ofPortGroup, true)}},
	{path: "volume", since: minVolumes, old: oldNotFound, methods: methods{"GET": (*handler).volume}},
	{path: "runbooks/{}/traits", since: minRunbookTraits, old: oldRefused, name: "runbook traits", methods: methods{
		"GET": (*handler).listRunbookTraits, "PUT": (*handler).setRunbookTraits, "DELETE": (*handler).setRunbookTraits,
	}},
	{path: "runbooks/{}/traits/{}", since: minRunbookTraits, old: oldRefused, name: "runbook traits", methods: methods{
		"PUT": (*handler).setRunbookTraits, "DELETE": (*handler).setRunbookTraits,
	}},
	{path: "drivers", methods: methods{"GET": (*handler).listDrivers}},
	{path: "drivers/{}", methods: methods{"GET": (*handler).showDriver}},
	{path: "drivers/{}/properties", methods: methods{"GET": (*handler).showProperties}},
	{path: "drivers/{}/raid/logical_disk_properties", methods: methods{"GET": (*handler).showLogicalDisks}},
	{path: "drivers/{}/vendor_passthru", methods: anyMethod((*handler).callDriver)},
	{path: "drivers/{}/vendor_passthru/methods", methods: methods{"GET": (*handler).listDriverMethods}},
	{path: "drivers/{}/vendor_passthru/{}", methods: anyMethod((*handler).callDriver)},
	{path: "conductors", since: minConductors, old: oldNotFound, methods: methods{"GET": (*handler).listConductors}},
	{path: "conductors/{}", since: minConductors, old: oldNotFound, methods: methods{"GET": (*handler).showConductor}},
	{path: "shards", since: minShards, old: oldRefused, methods: methods{"GET": (*handler).listShards}},
	{path: "lookup", since: minLookup, old: oldNotFound, methods: methods{"GET": (*handler).lookup}},
	{path: "heartbeat/{}", since: minLookup, old: oldNotFound, methods: methods{"POST": (*handler).heartbeat}},
	{path: "events", since: minEvents, methods: methods{"POST": (*handler).takeEvents}},
}

var allocationRoutes = []route{
	{path: "allocations", since: minAllocations, old: oldRefused, methods: methods{
		"GET": listing{resource: allocationResource}.serve, "POST": (*handler).createAllocation,
	}},
	{path: "allocations/{}", since: minAllocations, old: oldRefused, methods: methods{
		"GET": allocationResource.show, "PATCH": (*handler).patchAllocation, "DELETE": (*handler).deleteAllocation,
	}},
}

// routes returns the routes of a resource.
func (x *resource) routes() []route {
	how := oldUnknown
	switch x.since {
	case minPortGroups:
		how = oldNotFound
	case minTemplates, minRunbooks:
		how = oldRefused
	}
	routes := []route{
		{path: x.path, methods: methods{"GET": listing{resource: x}.serve, "POST": x.create}},
		{path: x.path + "/{}", methods: methods{"GET": x.show, "PATCH": x.patch, "DELETE": x.remove}},
	}
	if x.detailed {
		routes = slices.Insert(routes, 1, route{path: x.path + "/detail", methods: methods{"GET": listing{resource: x, details: true}.serve}})
	}
	for i := range routes {
		routes[i].since, routes[i].old = x.since, how
		if how == oldNotFound && i > 0 {
			routes[i].old = oldUnknown
		}
	}
	return routes
}

// below returns a handler for the list of the resource's records below a parent.
func (x *resource) below(parent parent, details bool) serve {
	return listing{resource: x, parent: parent, details: details}.serve
}

func anyMethod(f serve) methods {
	return methods{"GET": f, "POST": f, "PUT": f, "PATCH": f, "DELETE": f}
}

// missing returns a handler for a path that lacks its last segment.
func missing(name string) serve {
	return func(*handler, *request) (answer, error) {
		return answer{}, invalid("Missing mandatory parameter: %s", name)
	}
}

// dispatch calls the route that matches the path segments.
func (h *handler) dispatch(r *request, path []string) (answer, error) {
	for _, candidate := range h.routes[path[0]] {
		params, matches := candidate.match(path)
		if !matches || r.version < candidate.since && candidate.old == oldIgnored {
			continue
		}
		if r.version < candidate.since {
			return answer{}, candidate.refuse(r, path[0])
		}
		serve, has := candidate.methods[r.Method]
		if !has {
			return answer{}, &fault{status: http.StatusMethodNotAllowed, bare: true, allow: candidate.allow}
		}
		r.params = params
		return serve(h, r)
	}
	return answer{}, errUnknown
}

// match reports whether a path matches, and returns the segments at the placeholders.
func (o *route) match(path []string) (params []string, matches bool) {
	if len(path) != len(o.segments) {
		return nil, false
	}
	for i, segment := range o.segments {
		switch {
		case segment == "{}" && path[i] != "":
			params = append(params, path[i])
		case segment != path[i]:
			return nil, false
		}
	}
	return params, true
}

// refuse returns the fault for a request whose version is too old for the route.
func (o *route) refuse(r *request, name string) error {
	switch o.old {
	case oldNotFound:
		return errNotFound
	case oldRefused:
		subject := cmp.Or(o.name, strings.ReplaceAll(name, "_", " "))
		f := &fault{status: http.StatusNotFound, bare: true, text: "The API version does not allow " + subject}
		if r.Method != http.MethodGet {
			f.status = http.StatusMethodNotAllowed
		}
		return f
	default:
		return errUnknown
	}
}

// volume answers GET /v1/volume and /v1/nodes/NODE/volume.
func (h *handler) volume(r *request) (answer, error) {
	path := "volume"
	if len(r.params) > 0 {
		if _, err := r.node(r.param(0)); err != nil {
			return answer{}, err
		}
		path = "nodes/" + r.param(0) + "/volume"
	}
	w := newWriter(512)
	w.open()
	w.key("links").links(r.base(), path+"/")
	w.key("connectors").links(r.base(), path+"/connectors")
	w.key("targets").links(r.base(), path+"/targets")
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// listChassisNodes answers GET /v1/chassis/CHASSIS/nodes.
func (h *handler) listChassisNodes(r *request) (answer, error) {
	a := r.queryArgs(slices.Concat(pageArgs, h.filterNames(), []string{"fields", "detail"})...)
	a.values["chassis_uuid"] = r.param(0)
	return r.listNodes(a, "nodes")
}

// listChassisNodesDetail answers GET /v1/chassis/CHASSIS/nodes/detail.
func (h *handler) listChassisNodesDetail(r *request) (answer, error) {
	a := r.queryArgs(slices.Concat(pageArgs, h.filterNames())...)
	a.values["chassis_uuid"] = r.param(0)
	return r.listNodes(a, "nodes/detail")
}
