// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

// restTimeout bounds how long work on an object may take. Nothing tells that work which hangs on one side does not end:
// only such a difference takes this long.
const restTimeout = 5 * time.Minute

// records are the objects of one kind, by UUID.
type records map[string]map[string]any

// working are the provision states in which a conductor works, in any series.
var working = states.Latest().Table().Stuck()

// atRest reports whether a conductor works on no object.
func (r records) atRest() bool {
	for _, o := range r {
		if o["reservation"] != nil || o["target_power_state"] != nil || o["state"] == "allocating" {
			return false
		}
		name, _ := o["provision_state"].(string)
		if state, err := states.Parse(name); err == nil && working.Has(state) {
			return false
		}
	}
	return true
}

// listing returns the request that lists the objects of a kind in full, in the newest version of a series.
func listing(path string, series states.Series) Request {
	k := kindAt(path)
	r := newRequest(http.MethodGet, path)
	r.Path += k.full
	if k.children && series >= states.Bobcat {
		r.Path += "&include_children=true"
	}
	r.Header = http.Header{}
	r.Header.Set(versionHeader, series.MaxAPIVersion().String())
	return r
}

// rest waits until one side works on no object of a kind, and returns the objects. It
// returns what it has at the timeout.
func rest(ctx context.Context, c *client, path string) records {
	deadline := time.Now().Add(restTimeout)
	return try.Get(sleep.Until(ctx, 4*time.Millisecond, func() (records, bool, error) {
		found := parseRecords(c.send(ctx, listing(path, c.series)))
		return found, found.atRest() || time.Now().After(deadline), nil
	}))
}

func parseRecords(answer Answer) records {
	var body map[string][]map[string]any
	if err := json.Unmarshal(answer.Body, &body); answer.Status != http.StatusOK || err != nil {
		try.Failf("differ: list of records: %v", answer)
	}
	found := records{}
	for _, list := range body {
		for _, object := range list {
			id, _ := object["uuid"].(string)
			found[id] = object
		}
	}
	return found
}

// collection has the records of one kind on both sides.
type collection struct{ ironic, ironstate records }

// rest returns a collection as soon as no side works on it.
func (s *sides) rest(ctx context.Context, path string) collection {
	return collection{rest(ctx, s.ironicAPI, path), rest(ctx, s.ironstateAPI, path)}
}

// compareRecords compares the records of both sides, and whether they have changed since
// the comparison before. It returns a text for each class of difference, and the UUIDs of the
// records of Ironic that differ.
func (u *uuids) compareRecords(before, now collection) (found, differing []string) {
	ironstate := records{} // by the UUIDs of Ironic
	for id, object := range now.ironstate {
		if made := u.made[id]; made != "" && now.ironic[made] != nil {
			id = made
		}
		ironstate[id] = object
	}
	for _, id := range slices.Sorted(maps.Keys(now.ironic)) {
		if ironstate[id] == nil {
			found, differing = append(found, "record only in Ironic"), append(differing, id)
			continue
		}
		texts := u.compareValues("record", now.ironic[id], ironstate[id])
		if changed(before.ironic[id], now.ironic[id]) != changed(u.counterpart(before.ironstate, id), ironstate[id]) && len(texts) == 0 {
			texts = append(texts, fmt.Sprintf("record.updated_at changed: %v -> %v",
				changed(before.ironic[id], now.ironic[id]), changed(u.counterpart(before.ironstate, id), ironstate[id])))
		}
		if len(texts) > 0 {
			found, differing = append(found, texts...), append(differing, id)
		}
		delete(ironstate, id)
	}
	for _, id := range slices.Sorted(maps.Keys(ironstate)) {
		if now.ironic[id] == nil {
			found, differing = append(found, "record only in ironstate"), append(differing, id)
		}
	}
	return unique(found), differing
}

func (u *uuids) counterpart(ironstate records, id string) map[string]any {
	if object := ironstate[id]; object != nil {
		return object
	}
	return ironstate[u.made[id]]
}

// changed reports whether an object has another updated_at than before.
func changed(before, now map[string]any) bool {
	return before != nil && before["updated_at"] != now["updated_at"]
}
