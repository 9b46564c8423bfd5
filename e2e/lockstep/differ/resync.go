// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/ironstate/ironstate/internal/try"
)

// resync removes records that differ from both sides, and creates nodes again, so that
// later requests find the same on both. If that fails, the round ends.
func (rd *round) resync(ctx context.Context, path string, differing []string) {
	for _, id := range differing {
		counterpart := id
		if made := rd.uuids.made[id]; made != "" && rd.last[path].ironstate[id] == nil { // else only ironstate has the record
			counterpart = made
		}
		for _, one := range []struct {
			c  *client
			id string
		}{{rd.sides.ironicAPI, id}, {rd.sides.ironstateAPI, counterpart}} {
			remove(ctx, one.c, path, one.id)
			if path == nodesPath && rd.uuids.fixed[id] {
				own(ctx, one.c, newRequest(http.MethodPost, nodesPath).with(map[string]any{"driver": "fake-hardware", "uuid": id}))
			}
		}
	}
	for _, path := range rd.collections() {
		now := rd.sides.rest(ctx, path)
		if found, _ := rd.uuids.compareRecords(collection{}, now); len(found) > 0 {
			rd.broken = true
		}
		rd.last[path] = now
	}
}

// remove deletes a record from one side. A node is first put into maintenance, in which
// it can be deleted in every state.
func remove(ctx context.Context, c *client, path, id string) {
	if path == nodesPath {
		own(ctx, c, newRequest(http.MethodPut, path+"/{}/maintenance", id))
		unprotect := map[string]any{"op": "replace", "path": "/protected", "value": false}
		own(ctx, c, newRequest(http.MethodPatch, path+"/{}", id).with([]any{unprotect}))
	}
	own(ctx, c, newRequest(http.MethodDelete, path+"/{}", id))
}

// own sends a request of the resynchronisation, whose answer is not compared.
func own(ctx context.Context, c *client, r Request) {
	r.Header = http.Header{"Content-Type": {"application/json"}}
	r.Header.Set(versionHeader, c.series.MaxAPIVersion().String())
	try.Within("resynchronise", func() { c.send(ctx, r) })
}

// shownRecord returns a record as text.
func shownRecord(r map[string]any) string {
	text, _ := json.Marshal(r) // it was JSON
	return string(text)
}
