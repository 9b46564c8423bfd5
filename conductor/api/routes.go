package api

import (
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// actions are the actions of a controller by name.
type actions = map[string]action

// newRoot returns the controllers of the series by the first segment of their paths.
//
// Source: the controllers in ironic/api/controllers/v1.
func (s *service) newRoot() map[string]*controller {
	root := map[string]*controller{
		"nodes":   s.nodes(),
		"chassis": chassisResource.controller(),
		"ports":   portResource.controller(),
		"drivers": {
			actions: actions{
				all: {serve: listDrivers}, one: {serve: showDriver, idents: driverName, args: []string{"fields"}},
				"properties": {custom: http.MethodGet, plain: true, serve: showProperties, idents: driverName},
			},
			subs: map[string]*controller{
				"raid": {actions: actions{
					"logical_disk_properties": {custom: http.MethodGet, plain: true, serve: showLogicalDisks, idents: driverName},
				}},
				"vendor_passthru": {
					actions:  actions{"methods": {custom: http.MethodGet, plain: true, serve: listDriverMethods, idents: driverName}},
					fallback: &action{any: true, serve: callDriver, idents: driverName, optional: 1},
				},
			},
		},
		"portgroups": portGroupResource.controller(),
		"volume": {
			actions: actions{both: {serve: volume, since: since.Volumes, late: true}},
			lookup:  volumeParts(connectorResource.controller(), targetResource.controller()),
		},
		"lookup":    {actions: actions{all: {serve: lookup, since: since.Lookup, late: true}}},
		"heartbeat": {actions: actions{"post": {serve: heartbeat, since: since.Lookup, late: true, idents: nodeIdent}}},
		"conductors": {actions: actions{
			all: {serve: listConductors, since: since.Conductors, late: true},
			one: {serve: showConductor, since: since.Conductors, late: true, idents: []string{"hostname"}, args: []string{"fields"}},
		}},
		"events":           {actions: actions{"post": {plain: true, serve: takeEvents, since: since.Events, late: true}}},
		"allocations":      allocations(),
		"deploy_templates": templateResource.controller(),
		"shards": {
			admit: refuseBefore(since.Shards, "shards"),
			actions: actions{all: {serve: listShards}, one: {optional: 1, serve: func(*request) (answer, error) {
				return answer{}, notFound("The resource could not be found.")
			}}},
		},
		"runbooks": runbookResource.controller(),
	}
	root["chassis"].subs = map[string]*controller{"nodes": {actions: actions{
		all:      {serve: listChassisNodes, idents: []string{"chassis_uuid"}},
		"detail": {custom: http.MethodGet, serve: listChassisNodesDetail, idents: []string{"chassis_uuid"}},
		one:      forbidden, "delete": forbidden,
		"post":  {plain: true, optional: 9, serve: forbidden.serve},
		"patch": {idents: nodeIdent, args: []string{"reset_interfaces"}, serve: forbidNodePatch},
	}}}
	root["portgroups"].lookup = below("portgroup", since.PortGroups, map[string]part{
		"ports": {controller: portResource.controllerBelow(ofPortGroup), since: since.PortGroupsBelow},
	})
	root["deploy_templates"].admit = refuseBefore(since.DeployTemplates, "deploy templates")
	root["runbooks"].admit = refuseBefore(since.Runbooks, "runbooks")
	root["runbooks"].subs = map[string]*controller{"traits": {
		admit: refuseBefore(since.RunbookTraits, "runbook traits"),
		actions: actions{
			all:   {serve: listRunbookTraits, idents: runbookIdent},
			"put": {serve: setRunbookTraits, idents: runbookIdent, optional: 1}, "delete": {serve: setRunbookTraits, idents: runbookIdent, optional: 1},
		},
	}}
	for name, since := range map[string]states.APIVersion{"runbooks": since.Runbooks, "shards": since.Shards, "events": since.Events} {
		if since > s.highest {
			delete(root, name)
		}
	}
	return root
}

// The names of path segments.
var (
	nodeIdent    = []string{"node_ident"}
	driverName   = []string{"driver_name"}
	runbookIdent = []string{"runbook_ident"}
)

// forbidden is an action that a controller does not permit below another one.
var forbidden = action{optional: 9, serve: func(*request) (answer, error) {
	return answer{}, &fault{status: http.StatusForbidden, text: "Operation not permitted."}
}}

// forbidNodePatch answers PATCH /v1/chassis/CHASSIS/nodes.
func forbidNodePatch(r *request) (answer, error) {
	a := r.queryArgs("reset_interfaces")
	if a.boolean("reset_interfaces"); a.err != nil {
		return answer{}, a.err
	}
	return forbidden.serve(r)
}

// nodes returns the controller of /v1/nodes.
func (s *service) nodes() *controller {
	writes := nodeWrites{created: s.nodeSchema(true), patched: s.nodeSchema(false)}
	put := func(f serve, more ...string) action {
		return action{custom: http.MethodPut, serve: f, idents: nodeIdent, args: more}
	}
	get := func(f serve) action { return action{serve: f, idents: nodeIdent} }
	parts := map[string]part{
		"ports":      {controller: portResource.controllerBelow(ofNode)},
		"portgroups": {controller: portGroupResource.controllerBelow(ofNode), since: since.PortGroupsBelow},
		"vifs": {since: since.VIFs, controller: &controller{actions: actions{
			all: {plain: true, serve: listVIFs}, "post": {plain: true, serve: attachVIF}, "delete": {serve: detachVIF, idents: []string{"vif_id"}},
		}}},
		"volume": {controller: &controller{
			actions: actions{both: {serve: volume, since: since.Volumes, late: true}},
			lookup:  volumeParts(connectorResource.controllerBelow(ofNode), targetResource.controllerBelow(ofNode)),
		}},
		"traits": {since: since.Traits, ignored: true, controller: &controller{actions: actions{
			all: {serve: listTraits}, "put": {plain: true, serve: setTraits, optional: 1}, "delete": {serve: setTraits, optional: 1},
		}}},
		"bios": {since: since.BIOS, controller: &controller{actions: actions{
			all: {serve: listBIOS}, one: {plain: true, serve: showBIOS, idents: []string{"setting_name"}},
		}}},
		"allocation": {since: since.Allocations, controller: &controller{actions: actions{
			all: {serve: showNodeAllocation}, "delete": {serve: deleteNodeAllocation},
		}}},
		"history": {since: since.History, controller: &controller{actions: actions{
			all: {serve: listHistory}, one: {plain: true, serve: showHistory, idents: []string{"event"}},
		}}},
		"inventory": {since: since.Inventory, controller: &controller{actions: actions{both: {plain: true, serve: showInventory}}}},
		"children":  {since: since.Children, controller: &controller{actions: actions{all: {serve: listChildren}}}},
		"firmware":  {since: since.Firmware, controller: &controller{actions: actions{all: {serve: emptyList("firmware", "detail", "fields")}}}},
		"vmedia": {since: since.VirtualMedia, ignored: true, controller: &controller{actions: actions{
			all: {serve: showVmedia}, "post": {serve: attachVmedia}, "delete": {serve: detachVmedia, args: []string{"device_types"}},
		}}},
	}
	maps.DeleteFunc(parts, func(_ string, p part) bool { return p.since > s.highest })
	return &controller{
		actions: actions{
			all: {serve: listNodes}, "post": {plain: true, serve: writes.create, body: "node"},
			one:        {serve: showNode, idents: nodeIdent, args: []string{"fields"}},
			"patch":    {body: "patch", serve: writes.patch, idents: nodeIdent, args: []string{"reset_interfaces"}},
			"delete":   {serve: deleteNode, idents: nodeIdent, optional: 9},
			"detail":   {custom: http.MethodGet, serve: listNodesDetail, args: []string{"chassis_uuid", "instance_uuid"}},
			"validate": {custom: http.MethodGet, serve: validateNode, args: []string{"node", "node_uuid"}},
		},
		lookup: below("node", 0, parts),
		subs: map[string]*controller{
			"states": {
				actions: actions{
					both:        get(showStates),
					"provision": put(provision, "target", "configdrive"), "power": put(setPower, "target", "timeout"),
					"raid": {custom: http.MethodPut, plain: true, serve: setRAID, idents: nodeIdent}, "boot_mode": put(setBootMode, "target"), "secure_boot": put(setSecureBoot, "target"),
				},
				subs: map[string]*controller{"console": {actions: actions{
					both: get(showConsole), "put": {serve: setConsole, idents: nodeIdent, args: []string{"enabled"}},
				}}},
			},
			"maintenance": {actions: actions{
				"put":    {serve: setMaintenance, idents: nodeIdent, args: []string{"reason"}},
				"delete": {serve: clearMaintenance, idents: nodeIdent},
			}},
			"management": {subs: map[string]*controller{
				"boot_device": {actions: actions{
					both: get(showBootDevice), "put": {serve: setBootDevice, idents: nodeIdent, args: []string{"boot_device", "persistent"}},
					"supported": {custom: http.MethodGet, serve: listBootDevices, idents: nodeIdent},
				}},
				"inject_nmi": {actions: actions{"put": {serve: injectNMI, since: since.InjectNMI, late: true, idents: nodeIdent}}},
				"indicators": {actions: actions{
					all: get(listIndicators), one: {serve: showIndicator, idents: []string{"node_ident", "indicator"}},
					"put": {serve: setIndicator, idents: []string{"node_ident", "indicator"}, args: []string{"state"}},
				}},
			}},
			"vendor_passthru": {
				actions:  actions{"methods": {custom: http.MethodGet, serve: listVendorMethods, idents: nodeIdent}},
				fallback: &action{any: true, serve: callVendor, idents: nodeIdent, optional: 1},
			},
		},
	}
}

// allocations returns the controller of /v1/allocations.
func allocations() *controller {
	c := allocationResource.controller()
	c.admit = refuseBefore(since.Allocations, "allocations")
	for name, serve := range map[string]serve{"post": createAllocation, "delete": deleteAllocation} {
		a := c.actions[name]
		a.serve = serve
		c.actions[name] = a
	}
	return c
}

// controller returns the controller of a resource.
func (x *resource) controller() *controller {
	ident := []string{x.identName()}
	c := &controller{actions: actions{
		all:     {serve: listing{resource: x}.serve, since: x.since, late: true},
		one:     {serve: x.show, since: x.since, late: true, idents: ident, args: []string{"fields"}},
		"post":  {plain: true, body: x.schema, serve: x.create, since: x.since, late: true},
		"patch": {body: "patch", serve: x.patch, since: x.since, late: true, idents: ident}, "delete": {serve: x.remove, since: x.since, late: true, idents: ident},
	}}
	if x.detailed {
		c.actions["detail"] = action{custom: http.MethodGet, serve: listing{resource: x, details: true}.serve, since: x.since, late: true, args: x.parents()}
	}
	return c
}

// parents returns the first filters of the resource's list.
func (x *resource) parents() (names []string) {
	if x.early != nil {
		return x.early
	}
	for _, f := range x.filters {
		names = append(names, f.name)
	}
	return names
}

// controllerBelow returns the controller of the list of a resource below a parent. The
// parent's identifier is in the path.
func (x *resource) controllerBelow(of parent) *controller {
	forbidden := action{optional: 9, serve: x.forbid}
	c := &controller{actions: actions{
		all: {serve: listing{resource: x, parent: of}.serve},
		one: forbidden, "post": forbidden, "patch": forbidden, "delete": forbidden,
	}}
	if x.detailed {
		c.actions["detail"] = action{custom: http.MethodGet, serve: listing{resource: x, parent: of, details: true}.serve}
	}
	return c
}

// volumeParts returns the lookup of /v1/volume, and of the same below a node.
func volumeParts(connectors, targets *controller) func(*request, []string) (*controller, []string, error) {
	return func(r *request, segments []string) (*controller, []string, error) {
		if r.version < since.Volumes {
			return nil, nil, errUnknown
		}
		return map[string]*controller{"connectors": connectors, "targets": targets}[segments[0]], segments[1:], nil
	}
}

// volume answers GET /v1/volume and /v1/nodes/NODE/volume.
func volume(r *request) (answer, error) {
	if err := r.accept(r.queryArgs()); err != nil {
		return answer{}, err
	}
	path := "volume"
	if len(r.params) > 0 { // Ironic does not look for the node
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
func listChassisNodes(r *request) (answer, error) {
	a := r.queryArgs(slices.Concat(pageArgs, r.filterNames(), []string{"fields", "detail"})...)
	a.values["chassis_uuid"] = r.param(0)
	return r.listNodes(a, "nodes")
}

// listChassisNodesDetail answers GET /v1/chassis/CHASSIS/nodes/detail.
func listChassisNodesDetail(r *request) (answer, error) {
	a := r.queryArgs(slices.Concat(pageArgs, r.filterNames())...)
	a.values["chassis_uuid"] = r.param(0)
	return r.listNodes(a, "nodes/detail")
}
