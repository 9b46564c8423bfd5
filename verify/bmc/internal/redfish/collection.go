// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"path"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// Members returns the paths of a collection's members, each once, from all its pages.
// It returns those that it has found beside an error, which is the first.
func (c *Client) Members(ctx context.Context, collection string) (members []string, failed error) {
	seen := make(map[string]bool)
	pages := make(map[string]bool)
	for next := collection; next != "" && !pages[next]; {
		pages[next] = true
		page, a, err := c.Get(ctx, next)
		if err != nil {
			return members, cmp.Or(failed, err)
		}
		var links []json.RawMessage
		if err := page.Get("Members", &links); err != nil {
			return members, cmp.Or(failed, err)
		}
		for _, raw := range links {
			if len(members) == c.config.MaxMembers {
				return members, cmp.Or(failed, error(failure.New(verify.Protocol, errMembers)))
			}
			var link Link
			_ = json.Unmarshal(raw, &link) // Follow refuses a member that is no link
			member, err := c.Follow(a.Request.Path, link.ID)
			switch {
			case err != nil:
				failed = cmp.Or(failed, err)
			case !seen[member]:
				seen[member] = true
				members = append(members, member)
			}
		}
		var more string // without a next page, the loop ends at the page that it has read
		if err = page.Get("Members@odata.nextLink", &more); err == nil && more != "" {
			next, err = c.Follow(a.Request.Path, more)
		}
		if err != nil {
			return members, cmp.Or(failed, err)
		}
	}
	return members, failed
}

// ResourceID returns the last element of a link's path, which identifies the resource in its collection.
func ResourceID(link string) string {
	if u, err := url.Parse(link); err == nil {
		link = u.Path
	}
	return path.Base(link)
}
