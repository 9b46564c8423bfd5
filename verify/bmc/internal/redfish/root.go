// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// Root is the path of a Redfish service's root (DSP0266).
const Root = "/redfish/v1/"

// ReadRoot reads the service root, which needs no credentials, and finds the collections of
// systems and sessions. A Client reads it before all else.
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

	// DSP0266 requires the sessions in Links; otherwise the session service has them at their usual path.
	links := make(Object)
	if err := root.Get("Links", &links); err != nil {
		return nil, err
	}
	sessions, err := links.Link("Sessions")
	if err != nil {
		return nil, err
	}
	if sessions == "" {
		service, err := root.Link("SessionService")
		if service == "" || err != nil {
			return a, err
		}
		sessions = service + "/Sessions"
	}
	c.sessions, err = c.Follow(a.Request.Path, sessions)
	return a, err
}
