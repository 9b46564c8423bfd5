// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"

	"github.com/ironstate/ironstate/verify"
)

// service is a client of a BMC's Redfish service, within the limits of a Config. It
// checks everything that it reads.
type service struct {
	*exchanger
	scrub *scrubber

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
	s := &service{exchanger: newExchanger(c, host), scrub: &scrubber{user: c.User}}
	s.scrub.add(c.Password)
	return s
}

// begin resets the limits for the next operation.
func (s *service) begin() {
	s.budget.set(s.config.MaxBytes, s.config.MaxRequests)
	s.lost = nil
}

// readRoot reads the service root, which needs no credentials.
func (s *service) readRoot(ctx context.Context) (*answer, error) {
	root, a, err := s.get(ctx, serviceRoot)
	if err != nil {
		return nil, err
	}
	systems, err := root.link("Systems")
	if err != nil {
		return nil, err
	}
	if systems == "" {
		return nil, unsupported("the service has no systems")
	}
	if s.systems, err = s.follow(a.path, systems); err != nil {
		return nil, err
	}
	return a, s.readSessions(root, a.path)
}

// readSessions finds the collection of sessions in the service root. DSP0266 requires
// it in Links; otherwise the session service has it at its usual path.
func (s *service) readSessions(root object, from string) error {
	links := make(object)
	if err := root.get("Links", &links); err != nil {
		return err
	}
	sessions, err := links.link("Sessions")
	if err != nil {
		return err
	}
	if sessions == "" {
		at, err := root.link("SessionService")
		if at == "" || err != nil {
			return err
		}
		sessions = at + "/Sessions"
	}
	s.sessions, err = s.follow(from, sessions)
	return err
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

// systemID returns the last element of a path, for comparison with Config.SystemID.
func systemID(link string) string {
	if u, err := url.Parse(link); err == nil {
		link = u.Path
	}
	return path.Base(link)
}

// findSystem finds the path of the system that the Config selects.
func (s *service) findSystem(ctx context.Context) error {
	if s.system != "" {
		return nil
	}
	members, err := s.members(ctx, s.systems)
	if err != nil {
		return err
	}
	switch {
	case s.config.SystemID != "":
		for _, member := range members {
			if systemID(member) == s.config.SystemID {
				s.system = member
				return nil
			}
		}
		return unsupported(fmt.Sprintf("none of the BMC's systems has the ID %q", s.config.SystemID))
	case s.config.SystemName != "":
		return s.findByName(ctx, members)
	case len(members) != 1:
		return unsupported(fmt.Sprintf("the BMC has %d systems, and neither SystemID nor SystemName says which is meant", len(members)))
	}
	s.system = members[0]
	return nil
}

// findByName reads systems until one has the name. It skips systems that cannot be
// read, such as that of an empty slot.
func (s *service) findByName(ctx context.Context, members []string) error {
	var passed error
	for _, member := range members {
		system, a, err := s.get(ctx, member)
		if err != nil {
			if a == nil || s.refused || ctx.Err() != nil || errors.Is(err, errBytes) {
				return err
			}
			passed = err
			continue
		}
		var name string
		if system.get("Name", &name) == nil && name == s.config.SystemName {
			s.system = member
			return nil
		}
	}
	if passed != nil {
		return passed
	}
	return unsupported(fmt.Sprintf("none of the BMC's systems has the name %q", s.config.SystemName))
}

// members returns the paths of a collection's members, each once, from all its pages.
// It returns those that it has found beside an error, which is the first.
func (s *service) members(ctx context.Context, collection string) (members []string, failed error) {
	seen := make(map[string]bool)
	pages := make(map[string]bool)
	for next := collection; next != "" && !pages[next]; {
		pages[next] = true
		page, a, err := s.get(ctx, next)
		if err != nil {
			return members, cmp.Or(failed, err)
		}
		var links []json.RawMessage
		if err := page.get("Members", &links); err != nil {
			return members, cmp.Or(failed, err)
		}
		for _, raw := range links {
			if len(members) == s.config.MaxMembers {
				return members, cmp.Or(failed, error(fail(verify.Protocol, errMembers)))
			}
			var link odataLink
			if json.Unmarshal(raw, &link) != nil {
				link.ID = ""
			}
			member, err := s.follow(a.path, link.ID)
			switch {
			case err != nil:
				failed = cmp.Or(failed, err)
			case !seen[member]:
				seen[member] = true
				members = append(members, member)
			}
		}
		next = ""
		if err = page.get("Members@odata.nextLink", &next); err == nil && next != "" {
			next, err = s.follow(a.path, next)
		}
		if err != nil {
			return members, cmp.Or(failed, err)
		}
	}
	return members, failed
}

// readSystem reads the system that the Config selects.
func (s *service) readSystem(ctx context.Context) (*system, error) {
	if err := s.findSystem(ctx); err != nil {
		return nil, err
	}
	o, a, err := s.get(ctx, s.system)
	if err != nil {
		return nil, err
	}
	return &system{object: o, answer: a}, nil
}
