package api

import (
	"maps"
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// chassisNodes returns the controller of the nodes of a chassis.
func chassisNodes() *controller {
	chassis := []string{"chassis_uuid"}
	return &controller{actions: actions{
		all:      {serve: nodeListing{ofChassis: true}.serve, idents: chassis},
		"detail": {custom: http.MethodGet, serve: nodeListing{ofChassis: true, details: true}.serve, idents: chassis},
		one:      forbidden, "delete": forbidden,
		"post":  {plain: true, optional: 9, serve: forbidden.serve},
		"patch": {idents: nodeIdent, args: []string{"reset_interfaces"}, serve: forbidNodePatch},
	}}
}

// forbidNodePatch answers PATCH /v1/chassis/CHASSIS/nodes.
func forbidNodePatch(r *request) (answer, error) {
	a := r.queryArgs("reset_interfaces")
	if a.boolean("reset_interfaces"); a.err != nil {
		return answer{}, a.err
	}
	return forbidden.serve(r)
}

// nodeController returns the controller of /v1/nodes.
func nodeController(s *service) *controller {
	writes := nodeWrites{created: s.nodeSchema(true), patched: s.nodeSchema(false)}
	put := func(f serve, more ...string) action {
		return action{custom: http.MethodPut, serve: f, idents: nodeIdent, args: more}
	}
	get := func(f serve) action { return action{serve: f, idents: nodeIdent} }
	parts := map[string]part{
		"vifs": {since: since.VIFs, controller: &controller{actions: actions{
			all: {plain: true, serve: listVIFs}, "post": {plain: true, serve: attachVIF}, "delete": {serve: detachVIF, idents: []string{"vif_id"}},
		}}},
		"traits": {since: since.Traits, ignored: true, controller: &controller{actions: actions{
			all: {serve: listTraits}, "put": {plain: true, serve: setTraits, optional: 1}, "delete": {serve: setTraits, optional: 1},
		}}},
		"bios": {since: since.BIOS, controller: &controller{actions: actions{
			all: {serve: listBIOS}, one: {plain: true, serve: showBIOS, idents: []string{"setting_name"}},
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
	maps.Copy(parts, belowNode())
	maps.DeleteFunc(parts, func(_ string, p part) bool { return p.since > s.highest })
	return &controller{
		actions: actions{
			all: {serve: nodeListing{}.serve}, "post": {plain: true, serve: writes.create, body: "node"},
			one:        {serve: showNode, idents: nodeIdent, args: []string{"fields"}},
			"patch":    {body: "patch", serve: writes.patch, idents: nodeIdent, args: []string{"reset_interfaces"}},
			"delete":   {serve: deleteNode, idents: nodeIdent, optional: 9},
			"detail":   {custom: http.MethodGet, serve: nodeListing{details: true}.serve, args: []string{"chassis_uuid", "instance_uuid"}},
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
				"inject_nmi": {actions: actions{"put": {serve: injectNMI, since: since.InjectNMI, idents: nodeIdent}}},
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
