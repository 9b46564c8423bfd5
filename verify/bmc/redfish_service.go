// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// service is a client of a BMC's Redfish service, within the limits of a Config. It
// checks everything that it reads.
type service struct {
	*exchanger
	scrub *failure.Scrubber

	root     resource // the service root, as the guard leaves it
	systems  string   // the path of the collection of systems
	sessions string   // the path of the collection of sessions; "" if there is none
	system   string   // the path of the system that the Config selects, once found

	basic   bool // HTTP Basic authentication is used
	tried   bool // credentials were sent
	refused bool // credentials were refused, and are not sent again
	session *session

	lost error // why a request has no answer, since begin
}

func newService(c Config, host string) *service {
	return &service{exchanger: newExchanger(c, host), scrub: failure.NewScrubber(c.User, c.Password)}
}

// begin resets the limits for the next operation.
func (s *service) begin() {
	s.budget.set(s.config.MaxBytes, s.config.MaxRequests)
	s.lost = nil
}

// get reads a resource. The answer is nil if there was none.
func (s *service) get(ctx context.Context, path string) (object, *answer, error) {
	a, err := s.ask(ctx, request{method: http.MethodGet, path: path})
	if err != nil {
		return nil, a, err
	}
	o, err := a.object()
	return o, a, err
}

// ask sends a request, with credentials if there are any, and returns an error if the
// answer is one.
func (s *service) ask(ctx context.Context, r request) (*answer, error) {
	if err := s.authorize(&r); err != nil {
		return nil, err
	}
	a, err := s.send(ctx, r)
	if a == nil {
		s.lost = err
	}
	if err != nil {
		return a, err
	}
	if err := a.refusal(); err != nil {
		s.refused = s.refused || a.status == http.StatusUnauthorized
		return a, err
	}
	return a, nil
}

// change sends a PATCH of a resource, on the condition that it is as it was read.
func (s *service) change(ctx context.Context, path string, read *answer, properties any) error {
	body, err := json.Marshal(properties)
	if err != nil {
		return err
	}
	header := make(http.Header)
	if tag := read.header.Get("ETag"); tag != "" {
		header.Set("If-Match", tag)
	}
	_, err = s.ask(ctx, request{method: http.MethodPatch, path: path, header: header, body: body})
	return err
}
