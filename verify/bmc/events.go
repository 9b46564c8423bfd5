// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"errors"
	"net/http"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
)

// Subscription is a subscription to a BMC's events, which the BMC sends to its Destination over HTTP. The JSON names
// are Redfish's.
type Subscription struct {
	ID          string   `json:"Id,omitempty"`
	Destination string   `json:"Destination"`
	Protocol    string   `json:"Protocol"`
	Context     string   `json:"Context"`
	EventTypes  []string `json:"EventTypes"`
	// Headers are sent with each event. They may contain secrets; a BMC does not show them.
	Headers []map[string]string `json:"HttpHeaders,omitempty"`
}

// ErrNoSubscription is the error about a subscription that the BMC does not have. It is also of the kind
// [verify.Unsupported].
var ErrNoSubscription error = failure.Reason("the BMC has no such subscription")

// Subscribe makes a subscription to the events of a node's BMC and returns it as the BMC shows it. If the BMC has made
// it and then cannot show it, Subscribe returns s with its new ID and no error, so that the caller can end it.
//
// A BMC whose subscriptions have no types, such as an OpenBMC, sends all events.
//
// The error is of the kind [verify.Misconfigured] if the BMC has no events of one of the types, and of the kind
// [verify.Unsupported] if it has no events, and over IPMI.
//
// Source: create_subscription in ironic/drivers/modules/redfish/vendor.py; EventDestination of DSP8010.
func (d *Driver) Subscribe(ctx context.Context, id string, s Subscription) (made Subscription, err error) {
	at := "" // the path of the subscription once the BMC has made it, which is done once
	err = d.overRedfish(ctx, call{id: id, op: "subscribe to events"}, func(ctx context.Context, r *redfishConnection) (err error) {
		for _, header := range s.Headers {
			for _, value := range header {
				r.hide(value)
			}
		}
		if at == "" {
			if at, made, err = r.subscribe(ctx, s); err != nil || at == "" {
				return err
			}
		}
		made, err = r.readSubscription(ctx, at)
		return err
	})
	// Where a BMC says that it has no such subscription, 404, there is none that the caller could end.
	if err != nil && at != "" && !errors.Is(err, ErrNoSubscription) {
		made, err = s, nil
		made.ID, made.Headers = redfish.ResourceID(at), nil
	}
	return made, err
}

// Subscriptions returns the IDs of all subscriptions to the events of a node's BMC, also of those that others have
// made. It returns the errors of [Driver.Subscribe].
func (d *Driver) Subscriptions(ctx context.Context, id string) ([]string, error) {
	of := call{id: id, op: "list the subscriptions to events"}
	return fromBMC(ctx, d, of, func(ctx context.Context, r *redfishConnection) (ids []string, err error) {
		paths, err := r.subscriptionPaths(ctx)
		for _, path := range paths {
			ids = append(ids, redfish.ResourceID(path))
		}
		return ids, err
	})
}

// Subscription reads a subscription to the events of a node's BMC. The error matches [ErrNoSubscription] if there is
// none with the ID; it returns the errors of [Driver.Subscribe], too.
func (d *Driver) Subscription(ctx context.Context, id, subscription string) (Subscription, error) {
	of := call{id: id, op: "read a subscription to events"}
	return fromBMC(ctx, d, of, func(ctx context.Context, r *redfishConnection) (Subscription, error) {
		path, err := r.subscriptionPath(ctx, subscription)
		if err != nil {
			return Subscription{}, err
		}
		return r.readSubscription(ctx, path)
	})
}

// Unsubscribe ends a subscription to the events of a node's BMC. It returns the errors of [Driver.Subscription]. A
// subscription that is gone when it is to be deleted has ended: perhaps the answer to the first request was lost.
func (d *Driver) Unsubscribe(ctx context.Context, id, subscription string) error {
	return d.overRedfish(ctx, call{id: id, op: "end a subscription to events"}, func(ctx context.Context, r *redfishConnection) error {
		path, err := r.subscriptionPath(ctx, subscription)
		if err != nil {
			return err
		}
		a, err := r.client.Do(ctx, redfish.Request{Method: http.MethodDelete, Path: path})
		if a != nil && a.Status == http.StatusNotFound {
			return nil
		}
		return err
	})
}
