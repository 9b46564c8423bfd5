// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/states"
)

// lowest is a source of the lowest random numbers: the first value is picked, and every chance comes true.
type lowest struct{}

func (lowest) Uint64() uint64 { return 1 << 34 } // 0 itself is drawn again

// highest is a source of the highest ones.
type highest struct{}

func (highest) Uint64() uint64 { return 1<<64 - 1 }

func TestTemplates(t *testing.T) {
	for text, want := range map[string][2]string{ // by the lowest and the highest random numbers
		`[null, true, 1.50, "a"]`:              {`[null,true,1.50,"a"]`, `[null,true,1.50,"a"]`},
		`{"pick": [1, {"of": ["b", "c"]}]}`:    {`1`, `"CUSTOM_A"`},
		`{"of": ["{:7}", "x"]}`:                {`"7"`, `"CUSTOM_A"`},
		`{"a?15": 1, "b": {"c?99": []}}`:       {`{"a":1,"b":{"c":[]}}`, `{"b":{}}`},
		`{"pick": [{"2x": "a"}, "b"]}`:         {`"a"`, `"b"`},
		`{"pick": [{"1x": "a"}, {"9x": [2]}]}`: {`"a"`, `[2]`},
		`{"a|b": 1, "2x": 2}`:                  {`{"2x":2,"a":1}`, `{"2x":2,"b":1}`},
		`["{extension}", "{driver}"]`:          {`[".json","fake-hardware"]`, `[".nonsense","ünï"]`},
		`{"pick": [1], "b": 2}`:                {`{"b":2,"pick":[1]}`, `{"b":2,"pick":[1]}`},
		`"node-{:?4}, {:2+?4+i}"`:              {`"node-0, 5"`, `"node-3, 8"`},
		`"{n:?4} {c:1}"`:                       {`"` + nodeUUID(0) + ` ` + uuid('c', 1) + `"`, `"` + nodeUUID(3) + ` ` + uuid('c', 1) + `"`},
		`["{mac:i}", "{MAC:i+10}", "{i}"]`:     {`["52:54:00:00:00:03","52:54:00:00:00:0D",3]`, `["52:54:00:00:00:03","52:54:00:00:00:0D",3]`},
		`["{trait}", "{}", "{a b}:"]`:          {`["CUSTOM_A","{}","{a b}:"]`, `["CUSTOM_GPU_1","{}","{a b}:"]`},
	} {
		template := mustTemplate(text)
		for n, source := range []rand.Source{lowest{}, highest{}} {
			g := newGenerator(states.Latest(), 1, 1)
			g.Rand, g.index = rand.New(source), 3
			got, err := json.Marshal(g.eval(template))
			require.NoError(t, err)
			require.Equal(t, want[n], string(got), text)
		}
	}
	for _, malformed := range []string{``, `{`, `[1`, `[1}`, `{"a": }`, `{"a?x": 1}`, `{"a?": 1}`, `1 2`, `{"of": 1}`, `{"pick": {}}`} {
		require.Panics(t, func() { mustTemplate(malformed) }, malformed)
	}
}

func TestEachNameInTheDataIsKnown(t *testing.T) {
	comment, name := regexp.MustCompile(`(?m)^#.*$`), regexp.MustCompile(`{[^{}"\s]+}`)
	for _, found := range name.FindAllString(comment.ReplaceAllString(fieldsText+requestsText+string(valuesText), ""), -1) {
		if placeholder.FindString(found) == found {
			continue
		}
		called := strings.Trim(found, "{}")
		_, isValue := values.Values[called]
		require.True(t, isValue || functions[called] != nil, "neither a function nor a value is called %s", found)
	}
}

func TestAValueOfAnotherTypeIsRefusedByItsName(t *testing.T) {
	g := newGenerator(states.Latest(), 1, 1)
	g.index = 3
	require.Equal(t, 3, named[int](g, "i"))
	require.PanicsWithValue(t, "differ: {i} is 3, a int: want a string", func() { named[string](g, "i") })
	require.PanicsWithValue(t, "differ: [1] is [1], a []interface {}: want a int", func() { evalAs[int](g, mustTemplate("[1]")) })
	require.PanicsWithValue(t, `differ: neither a function nor a template of values.json is called "nodes"`, func() { g.named("nodes") })
}

// TestEachFieldOfNodesIsInTheTable fails for a field that would never be compared with Ironic's.
func TestEachFieldOfNodesIsInTheTable(t *testing.T) {
	ironic := conductortest.New(t, conductortest.Config{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ironic.URL+"/v1/nodes/"+ironic.Add(conductor.Node{}).UUID, nil)
	require.NoError(t, err)
	r.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	shown := map[string]any{}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&shown))
	known := append(newGenerator(states.Latest(), 1, 1).fieldsOf("/v1/nodes"), "links", "ports", "portgroups", "states", "volume")
	require.ElementsMatch(t, known, slices.Collect(maps.Keys(shown)), "e2e/lockstep/differ/fields.txt has all but the links")
}

func TestTheFieldsOfEachKindOfObjectsAreInTheTable(t *testing.T) {
	require.Len(t, tables, len(kinds))
	for _, k := range kinds {
		path := k.path
		require.NotNil(t, tables[path].object.value, path)
		g := newGenerator(states.Antelope, 1, 1)
		before := g.fieldsOf(path)
		require.Subset(t, before, []string{"uuid", "created_at", "updated_at"}, path)
		g.series = states.Latest()
		later := g.fieldsOf(path)
		require.Equal(t, before, later[:len(before)], path)
		set := map[string]bool{}
		for range 2000 {
			name, value := g.valueOf(path)
			_, err := json.Marshal(value)
			require.NoError(t, err)
			set[name] = true
		}
		all := slices.Clone(tables[path].later)
		for _, s := range tables[path].shares {
			all = append(all, s.of...)
		}
		for _, f := range all {
			require.Equal(t, f.value != nil, set[f.name], "%s of %s is set", f.name, path)
			require.True(t, f.since == 0 || f.since > states.Antelope.MaxAPIVersion(), "%s of %s", f.name, path)
		}
	}
	for _, malformed := range []string{"x name []", "/v1/nodes\n1 name [", "1.0 name []", "/v1/nodes\nobject"} {
		require.Panics(t, func() { parseTables(malformed) }, malformed)
	}
}

func TestRequestsOfTheTable(t *testing.T) {
	all := parseRequests(`# a comment
first
3 GET (/v1|/v2)/{n:1}/x?a=(b|c)
1 @second

second
1 {"pick": ["PUT", "POST"]} (/v1|
  /v2)/{driver} ?{"d": "e"} 99% {"a":
  [1, 2]}
`)
	for n, want := range [][]string{
		{"GET /v1/{}/x /v1/" + nodeUUID(1) + "/x?a=b ", "GET /v2/{}/x /v2/" + nodeUUID(1) + "/x?a=c "},
		{`PUT /v1/{} /v1/fake-hardware?d=e {"a":[1,2]}`, `POST /v2/{} /v2/%C3%BCn%C3%AF?d=e `},
	} {
		for i, source := range []rand.Source{lowest{}, highest{}} {
			g := newGenerator(states.Latest(), 1, 1)
			g.Rand = rand.New(source)
			r := all["first"][n].make(g)
			require.Equal(t, want[i], fmt.Sprintf("%s %s %s %s", r.Method, r.Pattern, r.Path, r.Body))
		}
	}
	for name, group := range groups {
		for _, c := range group {
			g := newGenerator(states.Latest(), 1, 1)
			for range 20 {
				require.NotEmpty(t, c.make(g).Path, name)
			}
		}
	}
	for _, malformed := range []string{"a\n1 GET /x {", "a\n1 GET /x ?{", "a\n1 {} /x 5% ]", "a\n1 @/v1/x"} {
		require.Panics(t, func() { parseRequests(malformed) }, malformed)
	}
}

func TestTheDataOfWideRequestsIsComplete(t *testing.T) {
	for state, words := range values.Forward {
		require.NotEmpty(t, words.from, state)
		for _, word := range words.from {
			_, err := states.ParseVerb(string(word.value.(text)))
			require.NoError(t, err, "%v in %v", word, state)
		}
	}
	require.Panics(t, func() { parseValues([]byte(`{"forward": {"nowhere": []}}`)) })
	require.Panics(t, func() { parseCompared([]byte(`{"sets": "("}`)) })
}

func TestADifferenceIsIntendedInItsSeries(t *testing.T) {
	const parent = "PATCH /v1/nodes/{}: 200 body.parent_node: «UUID» -> null"
	for series := range states.AllSeries() {
		k := intended(parent, series)
		require.Equal(t, series >= states.Epoxy && series <= states.Gazpacho, k != nil, series)
		if k != nil {
			require.Equal(t, "a node as its own parent", k.Name)
		}
	}
	const seen = "GET /v1/nodes: 500 -> 400: fault «x» -> fault «y»"
	require.Equal(t, "a Python exception", intended(seen, states.Antelope).Name)
	root := "DELETE /: 500 -> 200: fault «RootController.index() got an unexpected keyword argument 'Q'» -> accepted"
	require.Equal(t, "a Python exception at the root", intended(root, states.Antelope).Name)
	require.Equal(t, "a Python exception on a GET", intended("HEAD /v1 {query}: 500 -> 200: «» -> accepted", states.Latest()).Name)
	require.Nil(t, intended("GET /v1/nodes: 200 body.name: null -> absent", states.Latest()))
	const service = "PUT /v1/nodes/{}/states/provision: record."
	require.Equal(t, "a service that hangs", intended(service+"provision_state: «servicing» -> «service failed»", states.Latest()).Name)
	const ordered = service +
		"last_error: «Cannot clean node UUID: clean step {'Q': {}, 'Q': 'Q', 'Q': 'Q'} requires booting a ramdisk» -> " +
		"«Cannot clean node UUID: clean step {'Q': 'Q', 'Q': 'Q', 'Q': {}} requires booting a ramdisk»"
	require.Equal(t, "the order of keys", intended(ordered, states.Gazpacho).Name)
	require.Nil(t, intended(service+"driver_internal_info.service_disable_ramdisk: false -> null", states.Latest()))

	plain := parseKnown("# b\n\na\n/x /\nwhy\n")
	require.Equal(t, []Intended{{Name: "a", Reason: "why", Pattern: regexp.MustCompile("x ")}}, plain)
	ranged := parseKnown("a\nseries yoga - 2023.2\n/x/\nwhy\n\nb\nseries yoga -\n/x/\nwhy")
	require.Equal(t, []states.Series{states.Yoga, states.Bobcat, states.Yoga, states.NoSeries},
		[]states.Series{ranged[0].From, ranged[0].To, ranged[1].From, ranged[1].To})
	for _, malformed := range []string{"a\nx\nwhy", "a\n/\nwhy", "a\n/(/\nwhy", "a\nseries x -\n/x/\nwhy", "a\nseries yoga - x\n/x/\nwhy"} {
		require.Panics(t, func() { parseKnown(malformed) }, malformed)
	}
}
