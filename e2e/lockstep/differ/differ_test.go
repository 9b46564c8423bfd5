// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// seed of the requests in the tests. A longer run has its own, see cmd/apidiff.
const seed = 1

func TestASeedAndARoundDetermineTheRequests(t *testing.T) {
	requests := func(seed, round uint64) (all []string) {
		g := newGenerator(states.Antelope, seed, round)
		for _, r := range g.setup() {
			all = append(all, r.String())
		}
		for range roundLength {
			all = append(all, g.next().String())
		}
		return all
	}
	require.Equal(t, requests(1, 1), requests(1, 1))
	require.NotEqual(t, requests(1, 1), requests(1, 2))
	require.NotEqual(t, requests(1, 1), requests(2, 1))
}

func TestAnyRequestCanBeGenerated(t *testing.T) {
	for round := range uint64(300) {
		g := newGenerator(states.Antelope, seed, round)
		g.wide = int(round % 100)
		g.setup()
		for range roundLength {
			require.NotEmpty(t, g.next().Path)
		}
	}
}

func TestAnswersAreComparedExceptForTimesAndUUIDsOfTheServers(t *testing.T) {
	answer := func(status int, body, header string) Answer {
		return Answer{status, http.Header{"Location": {header}}, []byte(body)}
	}
	const (
		first  = "11111111-1111-1111-1111-111111111111"
		second = "22222222-2222-2222-2222-222222222222"
		third  = "33333333-3333-3333-3333-333333333333"
	)
	fault := func(text string) string { return `{"error_message": "{\"faultstring\": \"` + text + `\"}"}` }
	for _, c := range []struct {
		name              string
		ironic, ironstate Answer
		differences       []string
	}{
		{"order of keys", answer(200, `{"a": 1, "b": 2}`, ""), answer(200, `{"b":2,"a":1}`, ""), nil},
		{"times", answer(200, `{"a": "2026-11-22T13:27:10.458699+00:00"}`, ""), answer(200, `{"a":"2026-01-01T00:00:00+00:00"}`, ""), nil},
		{"a time and null", answer(200, `{"a": "2026-11-22T13:27:10.458699+00:00"}`, ""), answer(200, `{"a":null}`, ""),
			[]string{"200 body.a: «N-N-NTN:N:N.N+N:N» -> null"}},
		{"the servers' UUIDs", answer(200, `["`+first+`", "/`+first+`"]`, first), answer(200, `["`+second+`", "/`+second+`"]`, second), nil},
		{"another UUID", answer(200, `["`+first+`", "`+first+`"]`, ""), answer(200, `["`+second+`", "`+third+`"]`, ""),
			[]string{"200 body[]: «UUID» -> «UUID»"}},
		{"a chosen UUID", answer(200, `["`+nodeUUID(0)+`"]`, ""), answer(200, `["`+first+`"]`, ""), []string{"200 body[]: «UUID» -> «UUID»"}},
		{"status", answer(400, fault("Node 7 is 'x'"), ""), answer(202, ``, ""), []string{"400 -> 202: fault «Node N is 'Q'» -> accepted"}},
		{"text", answer(400, fault("Node 7"), ""), answer(400, fault("Node 8"), ""), []string{"400 body: fault «Node N» -> fault «Node N»"}},
		{"order of a set", answer(400, fault(`Field(s) \\\"b, a\\\" are not valid`), ""),
			answer(400, fault(`Field(s) \\\"a, b\\\" are not valid`), ""), nil},
		{"other names", answer(400, fault("Unexpected arguments: b, a"), ""), answer(400, fault("Unexpected arguments: a, c"), ""),
			[]string{"400 body: fault «Unexpected arguments: b, a» -> fault «Unexpected arguments: a, c»"}},
		{"order of printed keys", answer(400, fault("no {'a': 1, 'b': 2}"), ""), answer(400, fault("no {'b': 2, 'a': 1}"), ""),
			[]string{"400 body in another order: fault «no {'Q': N, 'Q': N}»"}},
		{"a printed value", answer(400, fault("no {'a': 1, 'b': 2}"), ""), answer(400, fault("no {'b': 1, 'a': 1}"), ""),
			[]string{"400 body: fault «no {'Q': N, 'Q': N}» -> fault «no {'Q': N, 'Q': N}»"}},
		{"order of items", answer(200, `{"l": [{"a": 1}, {"a": 2}]}`, ""), answer(200, `{"l": [{"a": 2}, {"a": 1}]}`, ""),
			[]string{"200 body.l: in another order"}},
		{"an item", answer(200, `{"l": [{"a": 1}, {"a": 2}]}`, ""), answer(200, `{"l": [{"a": 2}, {"a": 3}]}`, ""),
			[]string{"200 body.l[].a: number -> number"}},
		{"header", answer(204, ``, "x"), answer(204, ``, "y"), []string{"204 headers: Location «x» -> «y»"}},
		{"length", answer(200, `{"l": [1]}`, ""), answer(200, `{"l": []}`, ""), []string{"200 body.l: 1 items -> 0 items"}},
		{"a field", answer(200, `{"l": [{"a": null}]}`, ""), answer(200, `{"l": [{}]}`, ""), []string{"200 body.l[].a: null -> absent"}},
	} {
		u := uuids{fixed: fixedUUIDs(), made: map[string]string{}}
		require.Equal(t, c.differences, u.compareAnswers(c.ironic, c.ironstate), c.name)
	}
}

func TestRecordsAreComparedWithTheirChanges(t *testing.T) {
	at := func(id, updated string) records { return records{id: {"uuid": id, "updated_at": updated}} }
	const early, late = "2026-11-22T13:27:10.000001+00:00", "2026-11-22T13:27:11.000001+00:00"
	u := uuids{fixed: fixedUUIDs(), made: map[string]string{}}
	id := nodeUUID(0)
	for _, c := range []struct {
		name        string
		before, now collection
		found       []string
	}{
		{"unchanged", collection{at(id, early), at(id, early)}, collection{at(id, early), at(id, early)}, nil},
		{"both changed", collection{at(id, early), at(id, early)}, collection{at(id, late), at(id, late)}, nil},
		{"Ironic's changed", collection{at(id, early), at(id, early)}, collection{at(id, late), at(id, early)},
			[]string{"record.updated_at changed: true -> false"}},
		{"only Ironic's", collection{}, collection{at(id, early), nil}, []string{"record only in Ironic"}},
		{"only ironstate's", collection{}, collection{nil, at(id, early)}, []string{"record only in ironstate"}},
	} {
		found, differing := u.compareRecords(c.before, c.now)
		require.Equal(t, c.found, found, c.name)
		require.Len(t, differing, len(c.found), c.name)
	}
}

func TestTheRequestsOfEachKindOfDifferenceAreCounted(t *testing.T) {
	antelope, epoxy := newResult(lockstep.Installation{Series: states.Antelope}), newResult(lockstep.Installation{Series: states.Epoxy})
	for _, names := range [][]string{
		nil,
		{"PATCH /v1/nodes/{}: 200 body.parent_node: «UUID» -> null", "PATCH /v1/nodes/{}: record.parent_node: «UUID» -> null"},
		{"GET /v1/nodes: 200 -> 400: accepted -> fault «x»", "GET /v1/nodes: 200 body.name: null -> absent"},
		{"GET /v1/nodes: 200 body.name: null -> absent"},
	} {
		antelope.add(1, names, Example{})
		epoxy.add(1, names, Example{})
	}
	epoxy.merge(antelope, 1)
	require.Equal(t, []int{3, 0, 1}, []int{antelope.Different, antelope.Listed, antelope.Statuses})
	require.Equal(t, []int{6, 1, 2}, []int{epoxy.Different, epoxy.Listed, epoxy.Statuses}, "the difference holds for some series")
}

func TestARefusalThatDiffersMayHaveLockedANodeOnOneSideOnly(t *testing.T) {
	w := round{sides: &sides{ironic: &lockstep.Ironic{}}, requests: 1}
	port := newRequest(http.MethodPatch, "/v1/ports/{}", nodeUUID(0))
	node := newRequest(http.MethodPatch, "/v1/nodes/{}", nodeUUID(0))
	require.Empty(t, w.touched(port, true, false))
	require.Equal(t, []string{nodesPath}, w.touched(port, true, true))
	require.Equal(t, []string{nodesPath}, w.touched(node, true, false))
	require.Equal(t, []string{nodesPath, "/v1/ports"}, w.touched(port, false, false))
}

func TestARunEndsWithItsContext(t *testing.T) {
	needs.Time(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run{Seed: seed, Requests: 1}.Do(ctx)
	needs.Installed(t, !errors.Is(err, lockstep.ErrNotInstalled), "Ironic")
	require.ErrorIs(t, err, context.Canceled)
}
