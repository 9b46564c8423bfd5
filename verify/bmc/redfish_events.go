// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
)

// eventService returns the path of the collection of subscriptions and the types of events.
func (r *redfishConnection) eventService(ctx context.Context) (at string, types []string, err error) {
	events := r.root.link("EventService")
	if events == "" {
		return "", nil, failure.Unsupportedf("the BMC has no event service")
	}
	found, a, err := r.client.Get(ctx, events)
	if err != nil {
		return "", nil, err
	}
	link, err := found.Link("Subscriptions")
	switch {
	case err != nil:
		return "", nil, err
	case link == "":
		return "", nil, failure.Unsupportedf("the BMC's event service has no subscriptions")
	}
	if err := found.Get("EventTypesForSubscription", &types); err != nil {
		return "", nil, err
	}
	at, err = r.client.Follow(a.Request.Path, link)
	return at, types, err
}

// subscriptionPaths returns the paths of the subscriptions. It leaves out members of the collection whose links lead
// elsewhere: a BMC must not choose what [Driver.Unsubscribe] deletes.
func (r *redfishConnection) subscriptionPaths(ctx context.Context) ([]string, error) {
	at, _, err := r.eventService(ctx)
	if err != nil {
		return nil, err
	}
	paths, err := r.client.Members(ctx, at)
	return slices.DeleteFunc(paths, func(path string) bool { return !isMember(at, path) }), err
}

// isMember reports whether a path belongs to a member of the collection at another path.
func isMember(collection, path string) bool {
	member, found := strings.CutPrefix(path, strings.TrimSuffix(collection, "/")+"/")
	return found && strings.Trim(member, "/") != ""
}

// subscriptionPath returns the path of the subscription with an ID.
func (r *redfishConnection) subscriptionPath(ctx context.Context, id string) (string, error) {
	paths, err := r.subscriptionPaths(ctx)
	if i := slices.IndexFunc(paths, func(path string) bool { return redfish.ResourceID(path) == id }); i >= 0 {
		return paths[i], nil
	}
	if err != nil {
		return "", err
	}
	return "", noSubscription(id)
}

// noSubscription returns the error about a subscription that the BMC does not have.
func noSubscription(id string) error {
	return &failure.Error{Kind: verify.Unsupported, Text: fmt.Sprintf("%v: %q", ErrNoSubscription, id), Cause: ErrNoSubscription}
}

// subscribe makes a subscription. It returns its path, or the subscription itself if the answer has that instead.
func (r *redfishConnection) subscribe(ctx context.Context, s Subscription) (at string, made Subscription, err error) {
	collection, types, err := r.eventService(ctx)
	if err != nil {
		return "", made, err
	}
	for _, t := range s.EventTypes {
		if len(types) > 0 && !slices.Contains(types, t) {
			err = &failure.Error{Kind: verify.Misconfigured, Text: fmt.Sprintf("the BMC has no events of the type %q, but of %q", t, types)}
			return "", made, err
		}
	}
	s.ID = ""
	body, err := json.Marshal(s)
	if err != nil {
		return "", made, err
	}
	request := redfish.Request{Method: http.MethodPost, Path: collection, Body: body}
	a, err := r.client.Do(ctx, request)
	if refusesEventTypes(a) {
		request.Body, err = json.Marshal(struct {
			Subscription
			EventTypes []string `json:"EventTypes,omitempty"` // in place of the other
		}{Subscription: s})
		if err != nil {
			return "", made, err
		}
		a, err = r.client.Do(ctx, request)
	}
	if a == nil || a.Status/100 != 2 {
		return "", made, err
	}
	// The subscription is made, even if the answer's body is lacking.
	at, wrong := r.newSubscriptionPath(a)
	if at != "" {
		return at, made, nil
	}
	if err == nil {
		var o redfish.Object
		if o, err = a.Object(); err == nil {
			made, err = subscriptionOf(o)
		}
	}
	if err != nil && wrong != nil {
		err = wrong
	}
	return "", made, err
}

// refusesEventTypes reports whether a BMC has no types of events in its subscriptions, as an OpenBMC, and refuses them.
func refusesEventTypes(a *redfish.Answer) bool {
	return a != nil && a.Status == http.StatusBadRequest && a.Says("PropertyUnknown") && a.Says("EventTypes")
}

// newSubscriptionPath returns the path of a new subscription, "" if the answer does not have it. It is in the Location
// header (DSP0266), which may be a URL with a host name that only the BMC knows.
func (r *redfishConnection) newSubscriptionPath(a *redfish.Answer) (string, error) {
	location, err := url.Parse(a.Header.Get("Location"))
	if err != nil || location.Path == "" {
		return "", nil
	}
	path, err := r.client.Follow(a.Request.Path, location.EscapedPath())
	switch {
	case err != nil:
		return "", err
	case !isMember(a.Request.Path, path):
		return "", failure.Protocolf("the new subscription is at %q, which is outside the collection", path)
	}
	return path, nil
}

func (r *redfishConnection) readSubscription(ctx context.Context, path string) (found Subscription, err error) {
	o, a, err := r.client.Get(ctx, path)
	switch {
	case a != nil && a.Status == http.StatusNotFound:
		return found, noSubscription(redfish.ResourceID(path))
	case err != nil:
		return found, err
	}
	return subscriptionOf(o)
}

// subscriptionOf returns a subscription without its headers.
func subscriptionOf(o redfish.Object) (found Subscription, err error) {
	for name, value := range sorted.All(map[string]any{
		"Id":          &found.ID,
		"Destination": &found.Destination,
		"Protocol":    &found.Protocol,
		"Context":     &found.Context,
		"EventTypes":  &found.EventTypes,
	}) {
		if err := o.Get(name, value); err != nil {
			return Subscription{}, err
		}
	}
	if found.ID == "" {
		return Subscription{}, failure.Protocolf("the subscription has no ID")
	}
	return found, nil
}
