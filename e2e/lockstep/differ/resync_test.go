// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/states"
)

// newSide serves a list of ports, of which it deletes those that the requests name. All other lists are empty.
func newSide(t *testing.T, ports records) *client {
	list := func(w http.ResponseWriter, of records) {
		require.NoError(t, json.NewEncoder(w).Encode(map[string]any{"objects": slices.AppendSeq([]map[string]any{}, maps.Values(of))}))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { list(w, nil) })
	mux.HandleFunc("GET /v1/ports/detail", func(w http.ResponseWriter, _ *http.Request) { list(w, ports) })
	mux.HandleFunc("DELETE /v1/ports/{id}", func(_ http.ResponseWriter, r *http.Request) { delete(ports, r.PathValue("id")) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return newClient(server.URL, states.Antelope)
}

func TestARecordThatDiffersIsRemovedFromTheSidesThatHaveIt(t *testing.T) {
	const path, ofIronic, ofIronstate = "/v1/ports", "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
	port := func(id, address string) records { return records{id: {"uuid": id, "address": address}} }
	for name, now := range map[string]collection{
		"record only in Ironic":      {port(ofIronic, "a"), records{}},
		"record only in ironstate":   {records{}, port(ofIronstate, "a")},
		"record.address: «a» -> «b»": {port(ofIronic, "a"), port(ofIronstate, "b")},
	} {
		ironic, ironstate := shownRecord(now.ironic[ofIronic]), shownRecord(now.ironstate[ofIronstate])
		w := round{
			sides: &sides{ironic: &lockstep.Ironic{}, ironicAPI: newSide(t, now.ironic), ironstateAPI: newSide(t, now.ironstate)},
			uuids: uuids{made: map[string]string{ofIronic: ofIronstate, ofIronstate: ofIronic}}, last: map[string]collection{},
		}
		require.Equal(t, differences{[]string{name}, ironic, ironstate}, w.compareCollection(t.Context(), path))
		require.False(t, w.broken, name)
		require.Equal(t, collection{records{}, records{}}, w.last[path], name)
	}
}
