// SPDX-License-Identifier: Apache-2.0

// Package nodes serves shards and the child resources of a node, such as its states, its history and its BIOS settings.
// The handlers of a child resource are in the file of its name; routes.go has the paths, and configdrive.go checks the
// config drive of a provision request. Package objects serves the nodes themselves.
//
// The [checks] of a request read the arguments or the body, find the node and apply the rules for its state, in the
// order of Ironic: the first fault is the answer. The handler then calls a method of [conductor.Conductor]. The package
// has no state of its own and reserves no node; the conductor does.
package nodes

import (
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/traits"
)

// Controller returns the controller of /v1/nodes.
//
// Source: the controllers in ironic/api/controllers/v1/node.py.
func Controller(s *rest.Service) *rest.Controller {
	c := objects.Nodes(s)
	c.Actions["validate"] = rest.Action{Method: http.MethodGet, Serve: validate, Args: []string{"node", "node_uuid"}}
	c.Lookup = rest.Below("node", 0, parts(s))
	c.Subs = map[string]*rest.Controller{
		"states": {
			Actions: rest.Actions{
				rest.Both:     {Serve: showStates, Idents: rest.NodeIdent},
				"provision":   {Serve: provision, Method: http.MethodPut, Idents: rest.NodeIdent, Args: provisionArgs(s)},
				"power":       {Serve: setPower, Method: http.MethodPut, Idents: rest.NodeIdent, Args: []string{"target", "timeout"}},
				"raid":        {Serve: setRAID, Method: http.MethodPut, Idents: rest.NodeIdent, NoArgs: true, Body: "target_raid_config"},
				"boot_mode":   {Serve: setBootMode, Method: http.MethodPut, Idents: rest.NodeIdent, Args: []string{"target"}},
				"secure_boot": {Serve: setSecureBoot, Method: http.MethodPut, Idents: rest.NodeIdent, Args: []string{"target"}},
			},
			Subs: map[string]*rest.Controller{"console": {Actions: rest.Actions{
				rest.Both: {Serve: showConsole, Idents: rest.NodeIdent},
				"put":     {Serve: setConsole, Idents: rest.NodeIdent, Args: []string{"enabled"}},
			}}},
		},
		"maintenance": {Actions: rest.Actions{
			"put":    {Serve: setMaintenance, Idents: rest.NodeIdent, Args: []string{"reason"}},
			"delete": {Serve: clearMaintenance, Idents: rest.NodeIdent},
		}},
		"management": {Subs: management},
		"vendor_passthru": {
			Actions: rest.Actions{
				"methods": {Serve: listVendorMethods, Method: http.MethodGet, Idents: rest.NodeIdent},
			},
			Fallback: &rest.Action{Serve: callVendor, AnyMethod: true, Idents: rest.NodeIdent, Args: []string{"method"}},
		},
	}
	return c
}

// management has the controllers below /v1/nodes/NODE/management.
var management = map[string]*rest.Controller{
	"boot_device": {Actions: rest.Actions{
		rest.Both:   {Serve: showBootDevice, Idents: rest.NodeIdent},
		"put":       {Serve: setBootDevice, Idents: rest.NodeIdent, Args: []string{"boot_device", "persistent"}},
		"supported": {Serve: listBootDevices, Method: http.MethodGet, Idents: rest.NodeIdent},
	}},
	"inject_nmi": {Actions: rest.Actions{
		"put": {Serve: injectNMI, Since: since.InjectNMI, Idents: rest.NodeIdent},
	}},
	"indicators": {Actions: rest.Actions{
		rest.All: {Serve: listIndicators, Idents: rest.NodeIdent},
		rest.One: {Serve: showIndicator, Idents: indicatorIdents},
		"put":    {Serve: setIndicator, Idents: indicatorIdents, Args: []string{"state"}},
	}},
}

var indicatorIdents = append(slices.Clone(rest.NodeIdent), "indicator")

// parts returns the child resources whose names follow the identifier of a node, if the series has them.
func parts(s *rest.Service) map[string]rest.Part {
	parts := map[string]rest.Part{
		"vifs": {Since: since.VIFs, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {Serve: listVIFs, NoArgs: true},
			"post":   {Serve: attachVIF, NoArgs: true, Body: "vif"},
			"delete": {Serve: detachVIF, Idents: []string{"vif_id"}},
		}}},
		"traits": {Since: since.Traits, Ignored: true, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {Serve: listTraits},
			"put":    {Serve: setTraits, NoArgs: true, Args: traits.Args, Body: "body"},
			"delete": {Serve: setTraits, Args: traits.Args},
		}}},
		"bios": {Since: since.BIOS, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {Serve: listBIOS},
			rest.One: {Serve: showBIOS, NoArgs: true, Idents: []string{"setting_name"}},
		}}},
		"history": {Since: since.History, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {Serve: listHistory},
			rest.One: {Serve: showHistory, NoArgs: true, Idents: []string{"event"}},
		}}},
		"inventory": {Since: since.Inventory, Controller: &rest.Controller{Actions: rest.Actions{
			rest.Both: {Serve: showInventory, NoArgs: true},
		}}},
		"children": {Since: since.Children, Controller: &rest.Controller{Actions: rest.Actions{rest.All: {Serve: listChildren, NoArgs: true}}}},
		"firmware": {Since: since.Firmware, Controller: &rest.Controller{Actions: rest.Actions{rest.All: {Serve: listFirmware}}}},
		"vmedia": {Since: since.VirtualMedia, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {Serve: showVmedia},
			"post":   {Serve: attachVmedia, NoArgs: true, Body: "vmedia"},
			"delete": {Serve: detachVmedia, Args: []string{"device_types"}},
		}}},
	}
	maps.Copy(parts, objects.BelowNode())
	maps.DeleteFunc(parts, func(_ string, p rest.Part) bool { return p.Since > s.Highest })
	return parts
}
