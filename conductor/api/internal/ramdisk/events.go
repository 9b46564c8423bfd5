// SPDX-License-Identifier: Apache-2.0

package ramdisk

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// events are the accepted events of a network service. They have no effect. Source:
// ironic/api/controllers/v1/event.py.
var events = []string{"network.bind_port", "network.unbind_port", "network.delete_port"}

// eventsSchema describes the body of a request with events, and eventSchema one of them.
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
)

// Events returns the controller of /v1/events. Before the version with events, the path exists for a POST alone, which is
// refused after its body has been checked.
func Events() *rest.Controller {
	return &rest.Controller{
		Actions: rest.Actions{"post": {NoArgs: true, Serve: receive, Since: since.Events}},
		Admit: func(r *rest.Request) error {
			if r.Method != http.MethodPost && r.Version < since.Events {
				return fault.UnknownPath
			}
			return nil
		},
	}
}

// receive answers POST /v1/events.
func receive(r *rest.Request) (rest.Answer, error) {
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return rest.Answer{}, err
	}
	object, _ := body.(map[string]any)
	if err := r.CheckQuery(object); err != nil {
		return rest.Answer{}, err
	}
	if err := eventsSchema.Validate("evts", body); err != nil {
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
