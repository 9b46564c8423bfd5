// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

const (
	eventServicePath  = rootPath + "/EventService"
	subscriptionsPath = eventServicePath + "/Subscriptions"
)

// maxSubscriptions is the number of subscriptions that a BMC keeps.
const maxSubscriptions = 20

// eventTypes are the types of events to which clients can subscribe.
var eventTypes = []string{"StatusChange", "ResourceUpdated", "ResourceAdded", "ResourceRemoved", "Alert"}

// subscription is a subscription to the BMC's events, with the properties that a client has sent. The BMC sends no
// events.
type subscription struct {
	id         string
	properties object
}

// events is the BMC's event service.
type events struct {
	subscriptions []*subscription
	made          int // subscriptions since the start
}

// Subscriptions returns the subscriptions to the BMC's events, each with the properties that its client has sent.
func (b *Redfish) Subscriptions() []map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]map[string]any, len(b.events.subscriptions))
	for i, s := range b.events.subscriptions {
		all[i] = maps.Clone(s.properties)
	}
	return all
}

func (e *events) service() object {
	return newResource(eventServicePath, "EventService.v1_10_0", "Event Service", object{
		"ServiceEnabled":            true,
		"EventTypesForSubscription": eventTypes,
		"Subscriptions":             link(subscriptionsPath),
		"Actions":                   object{}, // sushy, Ironic's client, requires it
	})
}

func (e *events) list() *resource {
	return &resource{
		get:  static(collection(subscriptionsPath, "EventDestinationCollection", "Event Subscriptions", pathsOf(e.subscriptions))),
		post: e.subscribe,
	}
}

// resource returns the resource of a subscription, nil if none has that ID.
func (e *events) resource(id string) *resource {
	i := slices.IndexFunc(e.subscriptions, func(s *subscription) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	s := e.subscriptions[i]
	return &resource{
		get: static(s.object()),
		del: func(*call) *reply {
			e.subscriptions = slices.DeleteFunc(e.subscriptions, func(other *subscription) bool { return other == s })
			return noContent()
		},
	}
}

// subscribe handles a POST to the collection of subscriptions.
func (e *events) subscribe(c *call) *reply {
	s := &subscription{properties: object{}}
	text := property[string](s.properties)
	all := setters{
		"Destination": text, "Protocol": text, "Context": text, "HttpHeaders": property[any](s.properties),
		"EventTypes": func(at member, raw json.RawMessage) *reply {
			var types []string // none for null
			if json.Unmarshal(raw, &types) != nil {
				return at.wrongType(raw)
			}
			for _, t := range types {
				if !slices.Contains(eventTypes, t) {
					return at.notInList(t)
				}
			}
			s.properties[at.name] = types
			return nil
		},
	}
	if refusal := all.set("", c.body); refusal != nil {
		return refusal
	}
	for _, name := range []string{"Destination", "Protocol"} {
		if s.properties[name] == nil {
			return member{name: name}.missing()
		}
	}
	if len(e.subscriptions) == maxSubscriptions {
		return problem(http.StatusServiceUnavailable, "Base.1.18.EventSubscriptionLimitExceeded",
			"The event subscription failed due to the number of simultaneous subscriptions exceeding the limit of the implementation.")
	}
	e.made++
	s.id = strconv.Itoa(e.made)
	e.subscriptions = append(e.subscriptions, s)
	r := show(http.StatusCreated, s.object())
	r.header.Set("Location", s.path())
	return r
}

func (s *subscription) path() string { return subscriptionsPath + "/" + s.id }

// object returns the resource. Clients cannot read the headers, which may be secret.
func (s *subscription) object() object {
	o := newResource(s.path(), "EventDestination.v1_13_0", "Event Subscription", s.properties)
	o["HttpHeaders"] = nil
	return o
}
