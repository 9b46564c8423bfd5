// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// The vendor passthru methods of the vendor interface "redfish".
const (
	createSubscription  = "create_subscription"
	deleteSubscription  = "delete_subscription"
	getSubscription     = "get_subscription"
	getAllSubscriptions = "get_all_subscriptions"
)

// vendorMethods are the methods of the vendor interface "redfish".
//
// Source: ironic/drivers/modules/redfish/vendor.py.
var vendorMethods = map[string]conductor.VendorMethod{
	createSubscription: {HTTPMethods: []string{http.MethodPost}, Exclusive: true,
		Description: "Subscribes to the events of the node's BMC. Destination, the URL to which the BMC sends them, is required."},
	deleteSubscription: {HTTPMethods: []string{http.MethodDelete}, Exclusive: true,
		Description: "Ends the subscription to events that has the required id."},
	getSubscription: {HTTPMethods: []string{http.MethodGet}, Exclusive: true,
		Description: "Returns the subscription to events that has the required id."},
	getAllSubscriptions: {HTTPMethods: []string{http.MethodGet}, Exclusive: true,
		Description: "Lists the subscriptions to events of the node's BMC."},
}

// redfishVendor is the vendor interface "redfish".
type redfishVendor struct{ *bmcs }

// VendorMethods implements [conductor.VendorPassthru].
func (redfishVendor) VendorMethods(*conductor.Node) map[string]conductor.VendorMethod {
	return maps.Clone(vendorMethods)
}

// CallVendor implements [conductor.VendorPassthru].
func (b redfishVendor) CallVendor(ctx context.Context, n *conductor.Node, method string, args map[string]any) (answer any, err error) {
	id, _ := args["id"].(string)
	var call func(*bmc.Driver) (any, error)
	switch {
	case method == createSubscription:
		wanted, err := subscriptionOf(args)
		if err != nil {
			return nil, err
		}
		call = func(d *bmc.Driver) (any, error) { return d.Subscribe(ctx, n.UUID, wanted) }
	case (method == deleteSubscription || method == getSubscription) && id == "":
		return nil, invalidf("id can't be None")
	case method == deleteSubscription:
		call = func(d *bmc.Driver) (any, error) { return nil, d.Unsubscribe(ctx, n.UUID, id) }
	case method == getSubscription:
		call = func(d *bmc.Driver) (any, error) { return d.Subscription(ctx, n.UUID, id) }
	case method == getAllSubscriptions:
		call = func(d *bmc.Driver) (any, error) {
			ids, err := d.Subscriptions(ctx, n.UUID)
			return map[string]any{"Members": members(ids), "Members@odata.count": len(ids)}, err
		}
	default:
		return nil, noMethod(method)
	}
	err = b.do(n, func(d *bmc.Driver) (err error) {
		answer, err = call(d)
		return err
	})
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(err, bmc.ErrNoSubscription):
		return nil, &conductor.Error{Reason: conductor.NotFound, Text: err.Error(), Err: err}
	case errors.Is(err, verify.Misconfigured):
		return nil, &conductor.Error{Reason: conductor.Invalid, Text: err.Error(), Err: err}
	}
	return nil, err
}

// subscriptionOf checks the arguments of create_subscription and fills in Ironic's defaults.
func subscriptionOf(args map[string]any) (bmc.Subscription, error) {
	s := bmc.Subscription{Protocol: "Redfish", EventTypes: []string{"Alert"}}
	for _, field := range []struct {
		name, kind string
		value      *string
	}{{"Context", "a valid string", &s.Context}, {"Protocol", "a string", &s.Protocol}} {
		value, given := args[field.name]
		text, ok := value.(string)
		switch {
		case !given:
		case !ok:
			return s, invalidf("%s %s is not %s", field.name, pyrepr.Of(value), field.kind)
		default:
			*field.value = text
		}
	}
	if value := args["EventTypes"]; value != nil {
		list, ok := value.([]any)
		s.EventTypes = nil
		for _, element := range list {
			t, isText := element.(string)
			ok = ok && isText
			s.EventTypes = append(s.EventTypes, t)
		}
		if !ok {
			return s, invalidf("EventTypes %s is not a valid value: want a list of types", pyrepr.Of(value))
		}
	}
	if value := args["HttpHeaders"]; value != nil {
		list, ok := value.([]any)
		for _, element := range list {
			header, isObject := element.(map[string]any)
			ok = ok && isObject
			texts := map[string]string{}
			for name, value := range header {
				text, isText := value.(string)
				ok = ok && isText
				texts[name] = text
			}
			s.Headers = append(s.Headers, texts)
		}
		if !ok {
			return s, invalidf("HttpHeaders is not a list of headers") // they may contain secrets
		}
	}
	destination, ok := args["Destination"].(string)
	if !ok {
		destination = pyrepr.Of(args["Destination"])
	}
	if at, err := url.Parse(destination); err != nil || at.Scheme == "" || at.Host == "" {
		return s, invalidf("Destination %s is not a valid URI", destination)
	}
	s.Destination = destination
	return s, nil
}

// members returns the members of a collection of subscriptions. Ironic shows the collection as the BMC sends it.
func members(ids []string) []map[string]string {
	list := []map[string]string{}
	for _, id := range ids {
		list = append(list, map[string]string{"Id": id})
	}
	return list
}
