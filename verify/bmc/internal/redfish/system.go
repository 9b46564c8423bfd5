// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"errors"

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
	case len(members) != 1:
		return "", failure.Unsupportedf("the BMC has %d systems, and neither SystemID nor SystemName says which is meant", len(members))
	}
	return members[0], nil
}

// findByName reads systems until one has the name. It skips systems that cannot be
// read, such as that of an empty slot.
func (c *Client) findByName(ctx context.Context, members []string) (path string, err error) {
	var passed error
	for _, member := range members {
		system, a, err := c.Get(ctx, member)
		if err != nil {
			if a == nil || c.refused || ctx.Err() != nil || errors.Is(err, errBytes) {
				return "", err
			}
			passed = err
			continue
		}
		var name string
		if system.Get("Name", &name) == nil && name == c.config.SystemName {
			return member, nil
		}
	}
	if passed != nil {
		return "", passed
	}
	return "", failure.Unsupportedf("none of the BMC's systems has the name %q", c.config.SystemName)
}
