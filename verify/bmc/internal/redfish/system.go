// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"fmt"
	"net/http"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// System returns the path of the system that the Config selects. It reads the collection of
// systems until it has found the path.
func (c *Client) System(ctx context.Context) (path string, err error) {
	if c.system == "" {
		c.system, err = c.findSystem(ctx)
	}
	return c.system, err
}

func (c *Client) findSystem(ctx context.Context) (path string, err error) {
	members, err := c.Members(ctx, c.systems)
	if err != nil {
		return "", err
	}
	switch {
	case c.config.SystemID != "":
		for _, member := range members {
			if ResourceID(member) == c.config.SystemID {
				return member, nil
			}
		}
		return "", failure.Unsupportedf("none of the BMC's systems has the ID %q", c.config.SystemID)
	case c.config.SystemName != "":
		return c.findByName(ctx, members)
	case len(members) == 1:
		return members[0], nil
	}
	return c.findHost(ctx, members)
}

// findHost returns the only system that can be booted and reset: a machine may have others beside it, such as the board
// of its GPUs.
func (c *Client) findHost(ctx context.Context, members []string) (string, error) {
	var hosts []string
	for _, member := range members {
		system, a, err := c.Get(ctx, member)
		switch {
		case err == nil:
		case c.Ended() != nil:
			return "", err
		case !a.isNoHost():
			return "", unread(member, err)
		}
		var boot struct {
			Target *string `json:"BootSourceOverrideTarget"`
		}
		var actions struct {
			Reset struct{ Target string } `json:"#ComputerSystem.Reset"`
		}
		_, _ = system.Get("Boot", &boot), system.Get("Actions", &actions) // a system whose properties have other types is no host
		if boot.Target != nil && actions.Reset.Target != "" {
			hosts = append(hosts, member)
		}
	}
	if len(hosts) == 1 {
		return hosts[0], nil
	}
	var ids []string
	for _, member := range members {
		ids = append(ids, ResourceID(member))
	}
	return "", failure.Unsupportedf("the BMC has %d systems, and neither SystemID nor SystemName says which is meant: "+
		"of %q, %d can be booted and reset",
		len(members), ids, len(hosts))
}

// isNoHost reports whether a system that cannot be read is another one than the user's machine: it is not there, the
// user may not read it, or it is a board without power. Any other may be the machine that is meant.
func (a *Answer) isNoHost() bool {
	return a.absent() || a.Status == http.StatusForbidden || a.Status == http.StatusGone ||
		a.Status == http.StatusServiceUnavailable && a.Says(unpowered)
}

// unread returns the error of a system that may be the one that is meant, and cannot be read.
func unread(member string, err error) error {
	unread := failure.Of(err)
	unread.Text = fmt.Sprintf("the BMC has several systems, neither SystemID nor SystemName says which is meant, and %q cannot be read: %s",
		ResourceID(member), unread.Text)
	return unread
}

// findByName reads systems until one has the name. It skips systems that cannot be
// read, such as the system of an empty slot.
func (c *Client) findByName(ctx context.Context, members []string) (path string, err error) {
	var passed error
	for _, member := range members {
		system, _, err := c.Get(ctx, member)
		if err != nil {
			if c.Ended() != nil || ctx.Err() != nil {
				return "", err
			}
			passed = err
			continue
		}
		if system.Text("Name") == c.config.SystemName {
			return member, nil
		}
	}
	if passed != nil {
		return "", passed
	}
	return "", failure.Unsupportedf("none of the BMC's systems has the name %q", c.config.SystemName)
}
