// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// Root is the path of a Redfish service's root (DSP0266).
const Root = "/redfish/v1/"

// ReadRoot reads the service root, which needs no credentials, and finds the collections of
// systems and sessions. A Client reads it before all else.
func (c *Client) ReadRoot(ctx context.Context) (*Answer, error) {
	root, a, err := c.Get(ctx, Root)
	if err != nil {
		return nil, c.rootError(a, err)
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

// rootError returns the error of a failed read of the root, for which no credentials were sent. It matches errNoRoot
// also if the server asks for credentials, and if it redirects the request to elsewhere and has no Redfish there, as
// web servers do with paths that they do not know. a is the answer, nil if there was none.
//
// A BMC that asks for credentials for a moment lacks no function: only with an alternative is the error Unsupported.
func (c *Client) rootError(a *Answer, err error) error {
	kind := failure.KindOf(err)
	switch {
	case a == nil:
		return err
	case kind == verify.Credentials: // DSP0266 requires that the root be read without them
		if c.config.Alternative {
			kind = verify.Unsupported
		}
	case kind != verify.Protocol && kind != verify.Unsupported, a.atRoot() && a.Status/100 != 3:
		return err
	}
	return &failure.Error{Kind: kind, Text: errNoRoot.Error() + ": " + err.Error(), Cause: errNoRoot}
}
