// SPDX-License-Identifier: Apache-2.0

// Package nodes serves shards and the child resources of a node, such as its states, its history and its BIOS settings.
// The handlers of a child resource are in the file of its name; routes.go has the paths, and configdrive.go checks the
// config drive of a provision request. Package objects serves the nodes themselves.
//
// A handler reads the arguments or the body, finds the node, applies the rules for its state, and calls a method of
// [conductor.Conductor], in the order in which Ironic checks a request: the first fault is the answer. The package has
// no state of its own and reserves no node; the conductor does.
package nodes

import (
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// Controller returns the controller of /v1/nodes.
//
// Source: the controllers in ironic/api/controllers/v1/node.py.
func Controller(s *rest.Service) *rest.Controller {
	c := objects.Nodes(s)
	c.Actions["validate"] = rest.Action{Method: http.MethodGet, Serve: validate, Args: []string{"node", "node_uuid"}}
	c.Lookup = rest.Below("node", 0, parts(s))
	c.Subs = map[string]*rest.Controller{
		"states": statesController(),
		"maintenance": {Actions: rest.Actions{
			"put":    onNode(setMaintenance, "reason"),
			"delete": onNode(clearMaintenance),
		}},
		"management": managementController(),
		"vendor_passthru": {
			Actions:  rest.Actions{"methods": named(http.MethodGet, listVendorMethods)},
			Fallback: &rest.Action{AnyMethod: true, Serve: callVendor, Idents: rest.NodeIdent, Optional: 1},
		},
	}
	return c
}

// onNode returns an action whose path has the identifier of a node, and then the arguments.
func onNode(serve rest.Serve, args ...string) rest.Action {
	return rest.Action{Serve: serve, Idents: rest.NodeIdent, Args: args}
}

// named returns such an action that the path names, as in /v1/nodes/NODE/states/power.
func named(method string, serve rest.Serve, args ...string) rest.Action {
	a := onNode(serve, args...)
	a.Method = method
	return a
}

// statesController returns the controller of /v1/nodes/NODE/states.
func statesController() *rest.Controller {
	return &rest.Controller{
		Actions: rest.Actions{
			rest.Both:     onNode(showStates),
			"provision":   named(http.MethodPut, provision, "target", "configdrive"),
			"power":       named(http.MethodPut, setPower, "target", "timeout"),
			"raid":        {Method: http.MethodPut, Serve: setRAID, Idents: rest.NodeIdent, NoArgs: true},
			"boot_mode":   named(http.MethodPut, setBootMode, "target"),
			"secure_boot": named(http.MethodPut, setSecureBoot, "target"),
		},
		Subs: map[string]*rest.Controller{
			"console": {Actions: rest.Actions{rest.Both: onNode(showConsole), "put": onNode(setConsole, "enabled")}},
		},
	}
}

// managementController returns the controller of /v1/nodes/NODE/management.
func managementController() *rest.Controller {
	indicator := append(slices.Clone(rest.NodeIdent), "indicator")
	return &rest.Controller{Subs: map[string]*rest.Controller{
		"boot_device": {Actions: rest.Actions{
			rest.Both:   onNode(showBootDevice),
			"put":       onNode(setBootDevice, "boot_device", "persistent"),
			"supported": named(http.MethodGet, listBootDevices),
		}},
		"inject_nmi": {Actions: rest.Actions{
			"put": {Serve: injectNMI, Since: since.InjectNMI, Idents: rest.NodeIdent},
		}},
		"indicators": {Actions: rest.Actions{
			rest.All: onNode(listIndicators),
			rest.One: {Serve: showIndicator, Idents: indicator},
			"put":    {Serve: setIndicator, Idents: indicator, Args: []string{"state"}},
		}},
	}}
}

// parts returns the child resources whose names follow the identifier of a node, if the series has them.
func parts(s *rest.Service) map[string]rest.Part {
	parts := map[string]rest.Part{
		"vifs": part(since.VIFs, rest.Actions{
			rest.All: {Serve: listVIFs, NoArgs: true},
			"post":   {Serve: attachVIF, NoArgs: true},
			"delete": {Serve: detachVIF, Idents: []string{"vif_id"}},
		}),
		"traits": ignored(part(since.Traits, rest.Actions{
			rest.All: {Serve: listTraits},
			"put":    {Serve: setTraits, NoArgs: true, Optional: 1},
			"delete": {Serve: setTraits, Optional: 1},
		})),
		"bios": part(since.BIOS, rest.Actions{
			rest.All: {Serve: listBIOS},
			rest.One: {Serve: showBIOS, NoArgs: true, Idents: []string{"setting_name"}},
		}),
		"history": part(since.History, rest.Actions{
			rest.All: {Serve: listHistory},
			rest.One: {Serve: showHistory, NoArgs: true, Idents: []string{"event"}},
		}),
		"inventory": part(since.Inventory, rest.Actions{rest.Both: {Serve: showInventory, NoArgs: true}}),
		"children":  part(since.Children, rest.Actions{rest.All: {Serve: listChildren}}),
		"firmware":  part(since.Firmware, rest.Actions{rest.All: {Serve: listFirmware}}),
		"vmedia": part(since.VirtualMedia, rest.Actions{
			rest.All: {Serve: showVmedia},
			"post":   {Serve: attachVmedia, NoArgs: true, Body: "vmedia"},
			"delete": {Serve: detachVmedia, Args: []string{"device_types"}},
		}),
	}
	maps.Copy(parts, objects.BelowNode())
	maps.DeleteFunc(parts, func(_ string, p rest.Part) bool { return p.Since > s.Highest })
	return parts
}

// part returns a child resource since a version.
func part(since states.APIVersion, actions rest.Actions) rest.Part {
	return rest.Part{Since: since, Controller: &rest.Controller{Actions: actions}}
}

// ignored returns a part that requests with an older version do not find, see [rest.Part.Ignored].
func ignored(p rest.Part) rest.Part {
	p.Ignored = true
	return p
}
