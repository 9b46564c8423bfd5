package api

import "net/http"

// events are the accepted events of a network service. They have no effect. Source:
// ironic/api/controllers/v1/event.py.
var events = []string{"network.bind_port", "network.unbind_port", "network.delete_port"}

// eventsSchema describes the body of a request with events, and eventSchema one of them.
var (
	eventsSchema = &schema{types: []string{"object"}, closed: true, required: []string{"events"}, properties: []property{
		{"events", &schema{types: []string{"array"}, minItems: 1, items: &schema{
			types: []string{"object"}, required: []string{"event"},
			properties: []property{{"event", &schema{types: textType, enum: events}}},
		}}},
	}}
	eventSchema = &schema{
		types: []string{"object"}, closed: true, required: []string{"event", "port_id", "mac_address", "status"},
		properties: []property{
			{"event", textSchema}, {"port_id", textSchema}, {"mac_address", textSchema}, {"status", textSchema},
			{"device_id", &schema{types: textOrNull}}, {"binding:host_id", &schema{types: textOrNull}},
			{"binding:vnic_type", &schema{types: textOrNull}},
		},
	}
)

// takeEvents answers POST /v1/events.
func takeEvents(r *request) (answer, error) {
	body, err := r.decode(maxBody)
	if err != nil {
		return answer{}, err
	}
	object, _ := body.(map[string]any)
	if err := r.onlyBody(object); err != nil {
		return answer{}, err
	}
	if err := eventsSchema.validate("evts", body); err != nil {
		return answer{}, err
	}
	for _, item := range object["events"].([]any) {
		if err := eventSchema.validate("evts", item); err != nil {
			return answer{}, err
		}
		a := &args{values: item.(map[string]any)}
		a.uuid("port_id")
		a.mac("mac_address")
		a.uuid("device_id")
		a.uuid("binding:host_id")
		if a.err != nil {
			return answer{}, a.err
		}
	}
	return answer{status: http.StatusNoContent}, r.accept(nil)
}
