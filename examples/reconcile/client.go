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

// client asks an Ironic about one node.
type client struct {
	root *gophercloud.ServiceClient // where the versions are
	v1   *gophercloud.ServiceClient
	node string
	with arguments
}

// newClient takes the endpoint with and without its last part, v1.
func newClient(opts options) (*client, error) {
	base := strings.TrimSuffix(strings.TrimRight(opts.endpoint, "/"), "/v1")
	c := &client{node: opts.node, with: opts.with}
	for path, to := range map[string]**gophercloud.ServiceClient{"": &c.root, "/v1": &c.v1} {
		service, err := noauth.NewBareMetalNoAuth(noauth.EndpointOpts{IronicEndpoint: base + path})
		if err != nil {
			return nil, fmt.Errorf("endpoint %s: %w", opts.endpoint, err)
		}
		*to = service
	}
	c.root.HTTPClient = http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment},
		CheckRedirect: onlyLooks,
		Timeout:       answerTimeout,
	}
	c.v1.ProviderClient = c.root.ProviderClient
	return c, nil
}

// onlyLooks follows redirects, as from /v1 to /v1/, but takes no request for a
// state, and no password, to where another server points.
func onlyLooks(r *http.Request, before []*http.Request) error {
	const most = 3
	if r.Method != http.MethodGet || len(before) > most {
		return http.ErrUseLastResponse
	}
	return nil
}

func (c *client) close() { c.root.HTTPClient.CloseIdleConnections() }

// spoken is what both sides speak.
type spoken struct {
	version     states.APIVersion
	table       *states.Table
	first, last states.APIVersion // the server's
}

// negotiate finds the server's series by its highest version and, unless one is
// asked for, the highest version that both sides know.
func (c *client) negotiate(ctx context.Context, asked states.APIVersion) (spoken, error) {
	got, err := apiversions.Get(ctx, c.root, "v1").Extract()
	if err != nil {
		return spoken{}, explain("ask for the API's versions", err)
	}
	var s spoken
	var errs [2]error
	s.first, errs[0] = states.ParseAPIVersion(got.MinVersion)
	s.last, errs[1] = states.ParseAPIVersion(got.Version)
	switch err := errors.Join(errs[:]...); {
	case err != nil:
		return spoken{}, fmt.Errorf("ask for the API's versions: this is no Ironic: %w", err)
	case s.last == states.NoAPIVersion:
		return spoken{}, errors.New("ask for the API's versions: this is no Ironic: it names none")
	}

	series, _ := s.last.Series()
	s.table = series.Table()
	s.version = asked
	if asked == states.NoAPIVersion {
		s.version = min(s.last, series.MaxAPIVersion())
	}
	if s.version < s.first || s.version > s.last {
		return spoken{}, fmt.Errorf("the server speaks API %v to %v, not %v", s.first, s.last, s.version)
	}
	c.v1.Microversion = s.version.String()
	return s, nil
}

// seen is a node as Ironic shows it.
type seen struct {
	machine.Node
	facts  plan.Facts
	reason string // of the maintenance
	word   string // of the state, where it is one of a newer Ironic
}

// stateWord returns the word that Ironic has for the state.
func (s seen) stateWord() string {
	if s.State == states.UnknownState {
		return s.word
	}
	return s.State.String()
}

func (c *client) look(ctx context.Context) (seen, error) {
	got, err := nodes.Get(ctx, c.v1, c.node).Extract()
	if err != nil {
		return seen{}, explain("look at the node", err)
	}
	state, target := states.ParseReported(got.ProvisionState), states.ParseReported(got.TargetProvisionState)
	return seen{
		Node: machine.Node{State: state.State, Target: target.State, LastError: got.LastError},
		facts: plan.Facts{
			Maintenance:      got.Maintenance,
			Fault:            got.Fault,
			Protected:        got.Protected,
			Retired:          got.Retired,
			Associated:       got.InstanceUUID != "",
			Reserved:         got.Reservation != "",
			NoAutomatedClean: got.AutomatedClean != nil && !*got.AutomatedClean,
		},
		reason: got.MaintenanceReason,
		word:   state.Unknown,
	}, nil
}

// send asks for what a step says.
func (c *client) send(ctx context.Context, step plan.Step) error {
	err := nodes.ChangeProvisionState(ctx, c.v1, c.node, c.with.body(step)).ExtractErr()
	return explain("send "+step.Verb, err)
}
