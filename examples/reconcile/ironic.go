package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/apiversions"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/noauth"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// answerTimeout is how long one answer may take.
const answerTimeout = time.Minute

// ironic is a client of an Ironic, with gophercloud.
type ironic struct {
	root *gophercloud.ServiceClient // for the path with the API's versions
	v1   *gophercloud.ServiceClient
}

// newIronic accepts the endpoint with and without the last path element, v1.
func newIronic(endpoint string) (*ironic, error) {
	base := strings.TrimSuffix(strings.TrimRight(endpoint, "/"), "/v1")
	root, err := noauth.NewBareMetalNoAuth(noauth.EndpointOpts{IronicEndpoint: base})
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", endpoint, err)
	}
	v1, err := noauth.NewBareMetalNoAuth(noauth.EndpointOpts{IronicEndpoint: base + "/v1"})
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", endpoint, err)
	}
	root.HTTPClient = http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment},
		CheckRedirect: onlyGet,
		Timeout:       answerTimeout,
	}
	v1.ProviderClient = root.ProviderClient
	return &ironic{root: root, v1: v1}, nil
}

// onlyGet follows the redirects of a GET, such as from /v1 to /v1/. It does not follow
// those of other requests, so that no request for a state and no password goes to
// another server.
func onlyGet(r *http.Request, before []*http.Request) error {
	const most = 3
	if r.Method != http.MethodGet || len(before) > most {
		return http.ErrUseLastResponse
	}
	return nil
}

func (i *ironic) close() { i.root.HTTPClient.CloseIdleConnections() }

// negotiation is the negotiated API version, with the server's series and versions.
type negotiation struct {
	version     states.APIVersion
	table       *states.Table     // of the server's series
	first, last states.APIVersion // the server's
}

// negotiate finds the server's series by its highest version and, unless a version is
// requested, the highest version that both sides support.
func (i *ironic) negotiate(ctx context.Context, asked states.APIVersion) (negotiation, error) {
	const what = "ask for the API's versions"
	got, err := apiversions.Get(ctx, i.root, "v1").Extract()
	if err != nil {
		return negotiation{}, explain(what, err)
	}
	var n negotiation
	var errs [2]error
	n.first, errs[0] = states.ParseAPIVersion(got.MinVersion)
	n.last, errs[1] = states.ParseAPIVersion(got.Version)
	switch err := errors.Join(errs[:]...); {
	case err != nil:
		return negotiation{}, fmt.Errorf("%s: this is no Ironic: %w", what, err)
	case n.last == states.NoAPIVersion:
		return negotiation{}, fmt.Errorf("%s: this is no Ironic: it names none", what)
	}

	series, _ := n.last.Series()
	n.table = series.Table()
	n.version = asked
	if asked == states.NoAPIVersion {
		n.version = min(n.last, series.MaxAPIVersion())
	}
	if n.version < n.first || n.version > n.last {
		return negotiation{}, fmt.Errorf("the server speaks API %v to %v, not %v", n.first, n.last, n.version)
	}
	i.v1.Microversion = n.version.String()
	return n, nil
}

// node is a node as shown by Ironic.
type node struct {
	machine.Node
	reported          states.Reported // the state, possibly one of a newer Ironic
	facts             plan.Facts
	maintenanceReason string
}

func (i *ironic) node(ctx context.Context, name string) (node, error) {
	got, err := nodes.Get(ctx, i.v1, name).Extract()
	if err != nil {
		return node{}, explain("look at the node", err)
	}
	reported := states.ParseReported(got.ProvisionState)
	return node{
		Node: machine.Node{
			State:     reported.State,
			Target:    states.ParseReported(got.TargetProvisionState).State,
			LastError: got.LastError,
		},
		reported: reported,
		facts: plan.Facts{
			Maintenance:      got.Maintenance,
			Fault:            got.Fault,
			Protected:        got.Protected,
			Retired:          got.Retired,
			Associated:       got.InstanceUUID != "",
			Reserved:         got.Reservation != "",
			NoAutomatedClean: got.AutomatedClean != nil && !*got.AutomatedClean,
		},
		maintenanceReason: got.MaintenanceReason,
	}, nil
}

// send requests a provision state.
func (i *ironic) send(ctx context.Context, name string, body nodes.ProvisionStateOpts) error {
	err := nodes.ChangeProvisionState(ctx, i.v1, name, body).ExtractErr()
	return explain("send "+string(body.Target), err)
}
