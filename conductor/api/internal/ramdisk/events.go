// SPDX-License-Identifier: Apache-2.0

package ramdisk

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/states"
)

// events are the accepted events of a network service. They have no effect. Source:
// ironic/api/controllers/v1/event.py.
var events = []string{"network.bind_port", "network.unbind_port", "network.delete_port"}

// eventsSchema describes the body of a request with events, and eventSchema one of them. Since 2026.2
// recentEventsSchema describes all.
var (
	eventsSchema = &schema.Schema{Types: []string{"object"}, Closed: true, Required: []string{"events"}, Properties: []schema.Property{
		{Name: "events", Schema: &schema.Schema{Types: []string{"array"}, MinItems: 1, Items: &schema.Schema{
			Types: []string{"object"}, Required: []string{"event"},
			Properties: []schema.Property{{Name: "event", Schema: &schema.Schema{Types: schema.TextType, Enum: events}}},
		}}},
	}}
	eventSchema = &schema.Schema{
		Types: []string{"object"}, Closed: true, Required: []string{"event", "port_id", "mac_address", "status"},
		Properties: []schema.Property{
			{Name: "event", Schema: schema.Text},
			{Name: "port_id", Schema: schema.Text},
			{Name: "mac_address", Schema: schema.Text},
			{Name: "status", Schema: schema.Text},
			{Name: "device_id", Schema: &schema.Schema{Types: schema.TextOrNull}},
			{Name: "binding:host_id", Schema: &schema.Schema{Types: schema.TextOrNull}},
			{Name: "binding:vnic_type", Schema: &schema.Schema{Types: schema.TextOrNull}},
		},
	}
	uuidFormat         = &schema.Format{Name: "uuid", Is: rest.IsUUID}
	macFormat          = &schema.Format{Name: "mac-address", Is: rest.IsMAC}
	recentEventsSchema = &schema.Schema{
		Types: []string{"object"}, Closed: true, Required: []string{"events"}, First: true, Recent: true, Properties: []schema.Property{
			{Name: "events", Schema: &schema.Schema{Types: []string{"array"}, MinItems: 1, Items: &schema.Schema{
				Types: []string{"object"}, Closed: true, Required: eventSchema.Required,
				Properties: []schema.Property{
					{Name: "event", Schema: &schema.Schema{Types: schema.TextType, Enum: events}},
					{Name: "port_id", Schema: &schema.Schema{Types: schema.TextType, Format: uuidFormat}},
					{Name: "mac_address", Schema: &schema.Schema{Types: schema.TextType, Format: macFormat}},
					{Name: "status", Schema: schema.Text},
					{Name: "device_id", Schema: &schema.Schema{Types: schema.TextOrNull, Format: uuidFormat}},
					{Name: "binding:host_id", Schema: &schema.Schema{Types: schema.TextOrNull, Format: uuidFormat}},
					{Name: "binding:vnic_type", Schema: &schema.Schema{Types: schema.TextOrNull}},
				},
			}}},
		},
	}
)

// Events returns the controller of /v1/events. Before the version with events, the path exists for a POST alone, which
// is refused after its body has been checked. Since 2026.2 it exists in all versions.
func Events(s *rest.Service) *rest.Controller {
	post := rest.Action{NoArgs: true, Body: "evts", Serve: receive, Since: since.Events}
	if s.Series >= states.Hibiscus {
		post = rest.Action{Serve: receiveBySchema, Since: since.Events}
	}
	return &rest.Controller{
		Actions: rest.Actions{"post": post},
		Admit: func(r *rest.Request) error {
			if r.Method != http.MethodPost && r.Version < since.Events && r.Series < states.Hibiscus {
				return fault.UnknownPath
			}
			return nil
		},
	}
}

// receiveBySchema answers POST /v1/events by the schema of 2026.2, which comes after the version and before the query.
//
// Source: ironic/api/schemas/v1/event.py.
func receiveBySchema(r *rest.Request) (rest.Answer, error) {
	if err := r.CheckArgs(nil); err != nil {
		return rest.Answer{}, err
	}
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return rest.Answer{}, err
	}
	if err := recentEventsSchema.Validate("evts", body); err != nil {
		return rest.Answer{}, err
	}
	return rest.NoContent, r.QueryArgs().Err
}

// receive answers POST /v1/events before 2026.2.
func receive(r *rest.Request) (rest.Answer, error) {
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return rest.Answer{}, err
	}
	object, _ := body.(map[string]any)
	if err := r.CheckQuery(object); err != nil {
		return rest.Answer{}, err
	}
	all := *eventsSchema
	all.Recent = r.Series >= states.Gazpacho
	if err := all.Validate("evts", body); err != nil {
		return rest.Answer{}, err
	}
	for _, item := range object["events"].([]any) {
		if err := eventSchema.Validate("evts", item); err != nil {
			return rest.Answer{}, err
		}
		a := &rest.Args{Values: item.(map[string]any)}
		a.UUID("port_id")
		a.MAC("mac_address")
		a.UUID("device_id")
		a.UUID("binding:host_id")
		if a.Err != nil {
			return rest.Answer{}, a.Err
		}
	}
	return rest.NoContent, r.CheckArgs(nil)
}
