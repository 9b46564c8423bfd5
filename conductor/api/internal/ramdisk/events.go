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

// eventName describes the accepted events of a network service. They have no effect.
//
// Source: ironic/api/controllers/v1/event.py.
var eventName = &schema.Schema{
	Types: schema.TextType, Enum: []string{"network.bind_port", "network.unbind_port", "network.delete_port"},
}

// eventsSchema describes the body of a request with events.
func eventsSchema(event *schema.Schema) *schema.Schema {
	return &schema.Schema{Types: []string{"object"}, Closed: true, Required: []string{"events"}, Properties: []schema.Property{
		{Name: "events", Schema: &schema.Schema{Types: []string{"array"}, MinItems: 1, Items: event}},
	}}
}

// eventSchema describes an event, whose name, UUIDs and MAC address the schema itself checks since 2026.2.
func eventSchema(name *schema.Schema, uuid, mac *schema.Format) *schema.Schema {
	return &schema.Schema{
		Types: []string{"object"}, Closed: true, Required: []string{"event", "port_id", "mac_address", "status"},
		Properties: []schema.Property{
			{Name: "event", Schema: name},
			{Name: "port_id", Schema: &schema.Schema{Types: schema.TextType, Format: uuid}},
			{Name: "mac_address", Schema: &schema.Schema{Types: schema.TextType, Format: mac}},
			{Name: "status", Schema: schema.Text},
			{Name: "device_id", Schema: &schema.Schema{Types: schema.TextOrNull, Format: uuid}},
			{Name: "binding:host_id", Schema: &schema.Schema{Types: schema.TextOrNull, Format: uuid}},
			{Name: "binding:vnic_type", Schema: &schema.Schema{Types: schema.TextOrNull}},
		},
	}
}

// Events returns the controller of /v1/events. Before the version with events, the path exists for a POST alone, which
// is refused after its body has been checked. Since 2026.2 it exists in all versions.
func Events(s *rest.Service) *rest.Controller {
	post := rest.Action{NoArgs: true, Body: "evts", Serve: receive, Since: since.Events}
	if s.Series >= states.Hibiscus {
		post = rest.Action{Body: "evts", Optional: rest.AnyNumber, Serve: receiveBySchema, Since: since.Events}
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

// receiveBySchema answers POST /v1/events by the schema of 2026.2, which comes after the version and before the query
// and further segments of the path.
//
// Source: ironic/api/schemas/v1/event.py.
var receiveBySchema = checks{inVersion, bodyDecodes(rest.MaxBody), eventsInSchema, noSegments, noParameters}.Then(newRequest, received)

// receive answers POST /v1/events before 2026.2.
var receive = checks{bodyDecodes(rest.MaxBody), eventsNamed, eventsValid, inVersion}.Then(newRequest, received)

func received(*request) (rest.Answer, error) { return rest.NoContent, nil }

// eventsInSchema refuses a body that does not satisfy the schema of 2026.2.
func eventsInSchema(q *request) error {
	valid := eventsSchema(eventSchema(
		eventName, &schema.Format{Name: "uuid", Is: rest.IsUUID}, &schema.Format{Name: "mac-address", Is: rest.IsMAC},
	))
	valid.First, valid.Recent = true, true
	return valid.Validate("evts", q.body)
}

// noSegments refuses further segments of the path.
func noSegments(q *request) error {
	if len(q.Params) > 0 {
		return fault.UnknownPath
	}
	return nil
}

// noParameters refuses a query.
func noParameters(q *request) error { return q.QueryArgs().Err }

// eventsNamed refuses a body other than a list of events with known names.
func eventsNamed(q *request) error {
	valid := eventsSchema(&schema.Schema{
		Types: []string{"object"}, Required: []string{"event"}, Properties: []schema.Property{{Name: "event", Schema: eventName}},
	})
	valid.Recent = q.Series >= states.Gazpacho
	return valid.Validate("evts", q.body)
}

// eventsValid refuses the first event that is not valid.
func eventsValid(q *request) error {
	event := eventSchema(schema.Text, nil, nil)
	for _, item := range q.body.(map[string]any)["events"].([]any) {
		if err := event.Validate("evts", item); err != nil {
			return err
		}
		a := &rest.Args{Values: item.(map[string]any)}
		a.UUID("port_id")
		a.MAC("mac_address")
		a.UUID("device_id")
		a.UUID("binding:host_id")
		if a.Err != nil {
			return a.Err
		}
	}
	return nil
}
