// SPDX-License-Identifier: Apache-2.0

// Package nodes serves nodes, the nodes of a chassis, shards, and the child resources of a node, such as its
// states, its history and its BIOS settings.
package nodes

import (
	"errors"
	"maps"
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// OfChassis returns the controller of the nodes of a chassis.
func OfChassis(s *rest.Service) *rest.Controller {
	chassis, write := []string{"chassis_uuid"}, writes{created: schemaOf(s, true)}
	return &rest.Controller{Lookup: rest.Below("node", 0, nil), Actions: rest.Actions{
		rest.All: {Serve: listing{ofChassis: true}.serve, Idents: chassis},
		"detail": {Method: http.MethodGet, Serve: listing{ofChassis: true, details: true}.serve, Idents: chassis},
		rest.One: {Optional: 9, Serve: forbidShow},
		"delete": {Idents: rest.NodeIdent, Optional: 9, Serve: forbidDelete},
		"post":   {NoArgs: true, Body: "node", Serve: write.forbidCreate},
		"patch":  {Idents: rest.NodeIdent, Args: []string{"reset_interfaces"}, Body: "patch", Serve: forbidPatch},
	}}
}

// Ironic does not permit a request for one node below its chassis, but checks the arguments and the body before it says so.

// forbidShow answers GET /v1/chassis/CHASSIS/nodes/NODE.
func forbidShow(r *rest.Request) (rest.Answer, error) {
	if err := r.QueryArgs("fields", "node_ident").Err; err != nil {
		return rest.Answer{}, err
	}
	return rest.Answer{}, fault.NotPermitted
}

// forbidCreate answers POST /v1/chassis/CHASSIS/nodes.
func (s writes) forbidCreate(r *rest.Request) (rest.Answer, error) {
	if _, err := s.decode(r); err != nil {
		return rest.Answer{}, err
	}
	return rest.Answer{}, fault.NotPermitted
}

// forbidPatch answers PATCH /v1/chassis/CHASSIS/nodes.
func forbidPatch(r *rest.Request) (rest.Answer, error) {
	if _, _, err := decodePatch(r); err != nil && !errors.Is(err, patch.ErrNull) {
		return rest.Answer{}, err
	}
	return rest.Answer{}, fault.NotPermitted
}

// forbidDelete answers DELETE /v1/chassis/CHASSIS/nodes.
func forbidDelete(r *rest.Request) (rest.Answer, error) {
	if len(r.Params) > 1 {
		return rest.Answer{}, fault.NoSuchResource
	}
	return rest.Answer{}, fault.NotPermitted
}

// Controller returns the controller of /v1/nodes.
func Controller(s *rest.Service) *rest.Controller {
	write := writes{created: schemaOf(s, true), patched: schemaOf(s, false)}
	put := func(f rest.Serve, more ...string) rest.Action {
		return rest.Action{Method: http.MethodPut, Serve: f, Idents: rest.NodeIdent, Args: more}
	}
	get := func(f rest.Serve) rest.Action { return rest.Action{Serve: f, Idents: rest.NodeIdent} }
	parts := map[string]rest.Part{
		"vifs": {Since: since.VIFs, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {NoArgs: true, Serve: listVIFs}, "post": {NoArgs: true, Serve: attachVIF}, "delete": {Serve: detachVIF, Idents: []string{"vif_id"}},
		}}},
		"traits": {Since: since.Traits, Ignored: true, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {Serve: listTraits}, "put": {NoArgs: true, Serve: setTraits, Optional: 1}, "delete": {Serve: setTraits, Optional: 1},
		}}},
		"bios": {Since: since.BIOS, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {Serve: listBIOS}, rest.One: {NoArgs: true, Serve: showBIOS, Idents: []string{"setting_name"}},
		}}},
		"history": {Since: since.History, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {Serve: listHistory}, rest.One: {NoArgs: true, Serve: showHistory, Idents: []string{"event"}},
		}}},
		"inventory": {Since: since.Inventory, Controller: &rest.Controller{Actions: rest.Actions{rest.Both: {NoArgs: true, Serve: showInventory}}}},
		"children":  {Since: since.Children, Controller: &rest.Controller{Actions: rest.Actions{rest.All: {Serve: listChildren}}}},
		"firmware":  {Since: since.Firmware, Controller: &rest.Controller{Actions: rest.Actions{rest.All: {Serve: listFirmware}}}},
		"vmedia": {Since: since.VirtualMedia, Ignored: true, Controller: &rest.Controller{Actions: rest.Actions{
			rest.All: {Serve: showVmedia}, "post": {Serve: attachVmedia}, "delete": {Serve: detachVmedia, Args: []string{"device_types"}},
		}}},
	}
	maps.Copy(parts, objects.BelowNode())
	maps.DeleteFunc(parts, func(_ string, p rest.Part) bool { return p.Since > s.Highest })
	return &rest.Controller{
		Actions: rest.Actions{
			rest.All: {Serve: listing{}.serve}, "post": {NoArgs: true, Serve: write.create, Body: "node"},
			rest.One:   {Serve: show, Idents: rest.NodeIdent, Args: []string{"fields"}},
			"patch":    {Body: "patch", Serve: write.patch, Idents: rest.NodeIdent, Args: []string{"reset_interfaces"}},
			"delete":   {Serve: remove, Idents: rest.NodeIdent, Optional: 9},
			"detail":   {Method: http.MethodGet, Serve: listing{details: true}.serve, Args: []string{"chassis_uuid", "instance_uuid"}},
			"validate": {Method: http.MethodGet, Serve: validate, Args: []string{"node", "node_uuid"}},
		},
		Lookup: rest.Below("node", 0, parts),
		Subs: map[string]*rest.Controller{
			"states": {
				Actions: rest.Actions{
					rest.Both:   get(showStates),
					"provision": put(provision, "target", "configdrive"), "power": put(setPower, "target", "timeout"),
					"raid": {Method: http.MethodPut, NoArgs: true, Serve: setRAID, Idents: rest.NodeIdent}, "boot_mode": put(setBootMode, "target"), "secure_boot": put(setSecureBoot, "target"),
				},
				Subs: map[string]*rest.Controller{"console": {Actions: rest.Actions{
					rest.Both: get(showConsole), "put": {Serve: setConsole, Idents: rest.NodeIdent, Args: []string{"enabled"}},
				}}},
			},
			"maintenance": {Actions: rest.Actions{
				"put":    {Serve: setMaintenance, Idents: rest.NodeIdent, Args: []string{"reason"}},
				"delete": {Serve: clearMaintenance, Idents: rest.NodeIdent},
			}},
			"management": {Subs: map[string]*rest.Controller{
				"boot_device": {Actions: rest.Actions{
					rest.Both: get(showBootDevice), "put": {Serve: setBootDevice, Idents: rest.NodeIdent, Args: []string{"boot_device", "persistent"}},
					"supported": {Method: http.MethodGet, Serve: listBootDevices, Idents: rest.NodeIdent},
				}},
				"inject_nmi": {Actions: rest.Actions{"put": {Serve: injectNMI, Since: since.InjectNMI, Idents: rest.NodeIdent}}},
				"indicators": {Actions: rest.Actions{
					rest.All: get(listIndicators), rest.One: {Serve: showIndicator, Idents: []string{"node_ident", "indicator"}},
					"put": {Serve: setIndicator, Idents: []string{"node_ident", "indicator"}, Args: []string{"state"}},
				}},
			}},
			"vendor_passthru": {
				Actions:  rest.Actions{"methods": {Method: http.MethodGet, Serve: listVendorMethods, Idents: rest.NodeIdent}},
				Fallback: &rest.Action{AnyMethod: true, Serve: callVendor, Idents: rest.NodeIdent, Optional: 1},
			},
		},
	}
}
