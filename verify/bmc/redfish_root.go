// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

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
		return nil, failure.Unsupportedf("the service has no systems")
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
