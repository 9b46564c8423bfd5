// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// Root is the path of a Redfish service's root (DSP0266).
const Root = "/redfish/v1/"

// ReadRoot reads the service root, which needs no credentials. A Client reads it before all else.
func (c *Client) ReadRoot(ctx context.Context) (*Answer, error) {
	root, a, err := c.Get(ctx, Root)
	if err != nil {
		return nil, err
	}
	systems, err := root.Link("Systems")
	if err != nil {
		return nil, err
	}
	if systems == "" {
		return nil, failure.Unsupportedf("the service has no systems")
	}
	if c.systems, err = c.Follow(a.Request.Path, systems); err != nil {
		return nil, err
	}
	return a, c.readSessions(root, a.Request.Path)
}

// readSessions finds the collection of sessions in the service root. DSP0266 requires
// it in Links; otherwise the session service has it at its usual path.
func (c *Client) readSessions(root Object, from string) error {
	links := make(Object)
	if err := root.Get("Links", &links); err != nil {
		return err
	}
	sessions, err := links.Link("Sessions")
	if err != nil {
		return err
	}
	if sessions == "" {
		at, err := root.Link("SessionService")
		if at == "" || err != nil {
			return err
		}
		sessions = at + "/Sessions"
	}
	c.sessions, err = c.Follow(from, sessions)
	return err
}
