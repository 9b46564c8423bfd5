// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// resync removes records that differ from both sides, and creates nodes again, so that
// later requests find the same on both. If that fails, the round ends.
func (rd *round) resync(ctx context.Context, path string, differing []string) error {
	for _, id := range differing {
		counterpart := id
		if made := rd.uuids.made[id]; made != "" && rd.last[path].ironstate[id] == nil { // else only ironstate has the record
			counterpart = made
		}
		for _, one := range []struct {
			c  *client
			id string
		}{{rd.sides.ironicAPI, id}, {rd.sides.ironstateAPI, counterpart}} {
			if err := remove(ctx, one.c, path, one.id); err != nil {
				return err
			}
			if path == nodesPath && rd.uuids.fixed[id] {
				r := newRequest(http.MethodPost, nodesPath).with(map[string]any{"driver": "fake-hardware", "uuid": id})
				if err := own(ctx, one.c, r); err != nil {
					return err
				}
			}
		}
	}
	for _, path := range rd.collections() {
		now, err := rd.sides.rest(ctx, path)
		if err != nil {
			return err
		}
		if found, _ := rd.uuids.compareRecords(collection{}, now); len(found) > 0 {
			rd.broken = true
		}
		rd.last[path] = now
	}
	return nil
}

// remove deletes a record from one side. A node is first put into maintenance, in which
// it can be deleted in every state.
func remove(ctx context.Context, c *client, path, id string) error {
	var all []Request
	if path == nodesPath {
		all = append(all,
			newRequest(http.MethodPut, path+"/{}/maintenance", id),
			newRequest(http.MethodPatch, path+"/{}", id).with([]any{map[string]any{"op": "replace", "path": "/protected", "value": false}}))
	}
	all = append(all, newRequest(http.MethodDelete, path+"/{}", id))
	for _, r := range all {
		if err := own(ctx, c, r); err != nil {
			return err
		}
	}
	return nil
}

// own sends a request of the resynchronisation, whose answer is not compared.
func own(ctx context.Context, c *client, r Request) error {
	r.Header = http.Header{"Content-Type": {"application/json"}}
	r.Header.Set(versionHeader, c.series.MaxAPIVersion().String())
	if _, err := c.send(ctx, r); err != nil {
		return fmt.Errorf("resynchronise: %w", err)
	}
	return nil
}

// shownRecord returns a record as text.
func shownRecord(r map[string]any) string {
	text, _ := json.Marshal(r) // it was JSON
	return string(text)
}
