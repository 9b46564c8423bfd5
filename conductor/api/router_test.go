// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// Ironic 39.0.0 gives these answers.
func TestTheQueryIsReadAsByIronicsWebFramework(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	require.Equal(t, "Unexpected arguments: x", s.do("GET", "/v1/nodes?limit=1;x=1", "latest", "").fault())
	require.Equal(t, "Unexpected arguments: %zz", s.do("GET", "/v1/nodes?%zz", "latest", "").fault())
	for _, query := range []string{"limit=1;sort_key=uuid", "owner=a%3Bb", "owner=100%"} {
		require.Equal(t, http.StatusOK, s.do("GET", "/v1/nodes?"+query, "latest", "").status, query)
	}
}

// Ironic's HTTP server leaves it as it is since 2025.2, so that it is a part of an identifier, which no record can
// have.
func TestAnEscapedSlashIsNoSeparatorSince2025_2(t *testing.T) {
	for series, want := range map[states.Series][]int{states.Epoxy: {200, 200, 404, 404}, states.Flamingo: {400, 400, 400, 400}} {
		s := start(t, series, api.Config{})
		s.create(`{"driver": "fake-hardware", "name": "n"}`)
		for i, path := range []string{"n%2Fstates", "n%2f", "a%2Fb", "n/states%2Fx"} {
			require.Equal(t, want[i], s.do("GET", "/v1/nodes/"+path, "latest", "").status, "%v: %s", series, path)
		}
		require.Equal(t, "n", s.do("GET", "/v1/nodes/%6e", "latest", "").json()["name"])
	}
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n.json"}`)
	last := s.do("PUT", "/v1/nodes/n/maintenance/x%2Fn.json", "1.60", `{}`)
	require.Equal(t, http.StatusNotFound, last.status, "the last segment is no name")
	for path, text := range map[string]string{
		"b/traits": "runbook traits", "b/traits/x": "runbook traits", "b%2Ftraits": "runbooks", "traits": "runbooks", "b/x/traits": "runbooks",
	} {
		answer := s.do("GET", "/v1/runbooks/"+path, "1.91", "")
		require.Equal(t, http.StatusNotFound, answer.status, path)
		require.Contains(t, string(answer.body), "The API version does not allow "+text+`\"`, path)
	}
	require.Contains(t, s.do("GET", "/v1/runbooks/b/traits.json", "1.90", "").body, "runbook traits")
}

// A program in front of the API may have changed the path alone.
func TestAnEncodedPathThatIsOfAnotherPathIsNotRead(t *testing.T) {
	s := start(t, states.Flamingo, api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n1"}`)
	r := request("GET", "/baremetal/v1/nodes/n%31", "latest", nil)
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/baremetal")
	require.Equal(t, "/baremetal/v1/nodes/n%31", r.URL.RawPath)
	require.Equal(t, "n1", s.send(r).json()["name"])
}

func TestHEADOfTheVersionIsAnsweredSince2024_2(t *testing.T) {
	for series, status := range map[states.Series]int{states.Caracal: 405, states.Dalmatian: 200, states.Latest(): 200} {
		s := start(t, series, api.Config{})
		for _, path := range []string{"/v1", "/v1/"} {
			require.Equal(t, status, s.do("HEAD", path, "latest", "").status, "%v %s", series, path)
			require.Equal(t, http.StatusMethodNotAllowed, s.do("POST", path, "latest", "").status)
		}
	}
}

// The statuses, the Allow headers and whether an answer has the headers of versions and request
// are the same as from a live Ironic 21.4.4, except for the paths on which it fails by a Python exception.
func TestPathsAndMethodsAreRoutedAsInIronic(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	for _, c := range []struct {
		request string
		status  int
		headers bool
		allow   string // "-" stands for no header
	}{
		{"GET /v1/nodes", 200, true, "-"},
		{"GET /v1/nodes/", 200, true, "-"},
		{"GET /v1/nodes//", 400, true, "-"},
		{"GET /v1//nodes", 404, false, "-"}, // 500 in Ironic
		{"GET /v1/nodes.json", 200, true, "-"},
		{"GET /v1/nodes/n.json", 200, true, "-"},
		{"GET /v1/nodes/n.xml", 404, true, "-"},
		{"GET /nodes", 200, true, "-"},
		{"GET /v1/nonsense", 404, false, "-"},
		{"GET /v2/nodes", 404, false, "-"},
		{"GET /v1/nodes/a b", 400, false, "-"},
		{"GET /v1/nodes/ports/x", 404, false, "-"},
		{"GET /v1/nodes/n/management", 405, false, ""},
		{"GET /v1/nodes/n/maintenance", 405, false, "DELETE, PUT"},
		{"GET /v1/nodes/n/states/provision", 404, false, "-"}, // 500 in Ironic
		{"GET /v1/nodes/n/states/console", 200, true, "-"},
		{"GET /v1/nodes/states/n", 200, true, "-"},
		{"GET /v1/nodes/states/console/n", 200, true, "-"},
		{"PUT /v1/nodes/maintenance/n", 202, true, "-"},
		{"GET /v1/nodes/n/provision_state", 200, true, "-"},
		{"GET /v1/nodes/n/nonsense", 400, true, "-"},
		{"GET /v1/nodes/n/detail", 400, true, "-"},
		{"GET /v1/nodes/n/validate", 200, true, "-"},
		{"PUT /v1/nodes/n", 405, false, "DELETE, GET, PATCH, POST"},
		{"HEAD /v1/nodes", 405, false, "DELETE, GET, PATCH, POST"},
		{"OPTIONS /v1/nodes", 200, false, "-"},
		{"OPTIONS /v1", 200, false, "-"},
		{"PATCH /v1/nodes", 400, true, "-"},
		{"DELETE /v1/nodes", 400, true, "-"},
		{"DELETE /v1/nodes/n/states/provision", 405, false, "GET"},
		{"DELETE /v1/volume", 405, false, "GET"},
		{"GET /v1/nodes/n/ports", 200, true, "-"},
		{"POST /v1", 405, true, "-"},
		{"POST /v1/nodes/n", 400, true, "-"},
		{"PATCH /v1/ports/x/y", 400, true, "-"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		a := s.do(method, path, "1.82", "")
		require.Equal(t, c.status, a.status, "%s: %s", c.request, a.body)
		require.Equal(t, c.headers, a.header.Get("Openstack-Request-Id") != "", c.request)
		require.Equal(t, c.headers, a.header.Get("X-OpenStack-Ironic-API-Version") != "", c.request)
		require.Equal(t, c.headers, a.header.Get("X-OpenStack-Ironic-API-Maximum-Version") != "", c.request)
		allow := "-"
		if values := a.header.Values("Allow"); values != nil {
			allow = values[0]
		}
		require.Equal(t, c.allow, allow, c.request)
	}
}

func TestOldVersionsHaveNoNewPaths(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	for _, c := range []struct {
		request, version string
		status           int
		allow            string
	}{
		{"PUT /v1/nodes/n/traits/CUSTOM_A", "1.36", 405, "DELETE, GET, PATCH, POST"},
		{"DELETE /v1/nodes/n/traits", "1.36", 404, "-"},
		{"GET /v1/allocations", "1.51", 404, "-"},
		{"POST /v1/allocations", "1.51", 405, "-"},
		{"GET /v1/nodes/n/vifs", "1.27", 404, "-"},
		{"GET /v1/portgroups", "1.22", 404, "-"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		a := s.do(method, path, c.version, "")
		require.Equal(t, c.status, a.status, "%s: %s", c.request, a.body)
		allow := "-"
		if values := a.header.Values("Allow"); values != nil {
			allow = values[0]
		}
		require.Equal(t, c.allow, allow, c.request)
	}
}

func TestAcceptWithoutJSONIsRefused(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	for accept, status := range map[string]int{
		"": 200, "*/*": 200, "application/*": 200, "application/json": 200, "text/html, */*;q=0.1": 200, "nonsense": 200,
		"application/json;q=0": 200, "text/html": 406, "application/xml": 406, "*/*;q=0": 406, "application/*;q=0, */*": 406,
	} {
		r := request("GET", "/v1/nodes", "1.82", strings.NewReader(""))
		r.Header.Set("Accept", accept)
		require.Equal(t, status, s.send(r).status, accept)
	}
	for accept, text := range map[string]string{
		"application/xml": "406 Not Acceptable\n\nThe resource could not be generated that was acceptable to your browser (content " +
			"of type application/xml. \n\n ",
		"text/html": "<html>\n <head>\n  <title>406 Not Acceptable</title>\n </head>\n <body>\n  <h1>406 Not Acceptable</h1>\n  " +
			"The resource could not be generated that was acceptable to your browser\n(content of type text/html. <br /><br />\n\n </body>\n</html>",
	} {
		r := request("GET", "/v1/nodes", "1.82", strings.NewReader(""))
		r.Header.Set("Accept", accept)
		require.Equal(t, map[string]any{"error_message": text}, s.send(r).json())
	}
}

func TestABodyThatIsNotDeclaredAsJSONHasNoEffect(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "", "APPLICATION/JSON"} {
		r := request("PUT", "/v1/nodes/n/states/power", "1.82", strings.NewReader(`{"target": "power on"}`))
		r.Header.Set("Content-Type", kind)
		require.Equal(t, http.StatusBadRequest, s.send(r).status, kind)
	}
	require.Nil(t, s.do("GET", "/v1/nodes/n", "1.82", "").json()["target_power_state"])
	require.Nil(t, s.do("GET", "/v1/nodes/n", "1.82", "").json()["power_state"])
	r := request("PUT", "/v1/nodes/n/states/power", "1.82", strings.NewReader(`{"target": "power on"}`))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	require.Equal(t, http.StatusAccepted, s.send(r).status)
}

func TestAPOSTWithoutAContentTypeIsAFormSinceFlamingo(t *testing.T) {
	for _, test := range []struct {
		series states.Series
		kinds  []string
		status int
	}{
		{states.Epoxy, nil, http.StatusCreated},
		{states.Epoxy, []string{"text/plain"}, http.StatusCreated},
		{states.Epoxy, []string{""}, http.StatusBadRequest},
		{states.Flamingo, nil, http.StatusBadRequest},
		{states.Flamingo, []string{"text/plain"}, http.StatusCreated},
		{states.Latest(), nil, http.StatusBadRequest},
	} {
		s := start(t, test.series, api.Config{})
		r := request("POST", "/v1/chassis", "1.82", strings.NewReader(`{"description": "x"}`))
		r.Header["Content-Type"] = test.kinds
		if test.kinds == nil {
			r.Header.Del("Content-Type")
		}
		require.Equal(t, test.status, s.send(r).status, "%v: %q", test.series, test.kinds)
	}
}

func TestVersionsAreReadAsIronicReadsThem(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	const invalid = "Invalid value for X-OpenStack-Ironic-API-Version header"
	for version, fault := range map[string]string{
		"1.82": "", "1.01": "", " 1.82 ": "", "LATEST": "",
		"1": invalid, "1.": invalid, "x": invalid, "1.82.1": invalid,
		"1.83": "Version 1.83 was requested but the minor version is not supported by this service. The supported version range is: [1.1, 1.82].",
		"1.-1": "Version 1.-1 was requested but the minor version is not supported by this service. The supported version range is: [1.1, 1.82].",
		"0.1": "Mutually exclusive versions requested. Version 0.1 requested but not supported by this service. " +
			"The supported version range is: [1.1, 1.82].",
		"2.0001": "Mutually exclusive versions requested. Version 2.1 requested but not supported by this service. " +
			"The supported version range is: [1.1, 1.82].",
	} {
		a := s.do("GET", "/v1/nodes", version, "")
		if fault == "" {
			require.Equal(t, http.StatusOK, a.status, version)
			continue
		}
		require.Equal(t, http.StatusNotAcceptable, a.status, version)
		require.Equal(t, fault, a.fault(), version)
		require.Empty(t, a.header.Get("X-OpenStack-Ironic-API-Version"), version)
		require.Equal(t, fault != invalid, a.header.Get("X-OpenStack-Ironic-API-Minimum-Version") != "", version)
		require.Empty(t, a.header.Get("Openstack-Request-Id"), version)

		a = s.do("GET", "/v1", version, "")
		require.Equal(t, http.StatusNotAcceptable, a.status, version)
		require.Contains(t, a.body, "faultstring", version)
		require.NotEmpty(t, a.header.Get("Openstack-Request-Id"), version)
	}
}

func TestShardsOfNoNameAreNotNodesWithoutShard(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	s.create(`{"driver": "fake-hardware", "shard": ""}`)
	s.create(`{"driver": "fake-hardware"}`)
	s.create(`{"driver": "fake-hardware", "shard": "b"}`)
	s.create(`{"driver": "fake-hardware", "shard": "b"}`)
	require.JSONEq(t, `{"shards": [{"name": "b", "count": 2}, {"name": "None", "count": 1}, {"name": "", "count": 1}]}`,
		s.do("GET", "/v1/shards", "1.82", "").body)
}

// The body is an argument that further segments and the query may name, and its keys hide parameters of the query.
// Ironic 39.0.0 gives these answers.
func TestABodyIsAnArgument(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	for _, c := range []struct {
		method, path, body, fault string
	}{
		{"POST", "n/vifs?id=x", `{"id": "a"}`, ""},
		{"POST", "n/vifs?vif=x", `{"id": "a"}`, ""},
		{"POST", "n/vifs?foo=x", `{"id": "a"}`, "Unexpected arguments: foo"},
		{"POST", "n/vifs?a=b", `[1]`, "Unexpected arguments: a"},
		{"POST", "n/vifs/a/b?id=x", `{"id": "a"}`, "Schema error for vif: 'a' is not of type 'object'"},
		{"PUT", "n/states/raid?logical_disks=1", `{"logical_disks": [{"size_gb": 1, "raid_level": "1"}]}`, ""},
		{"PUT", "n/states/raid?target_raid_config=1", `{}`, ""},
		{"PUT", "states/raid?node_ident=n", `{}`, ""},
		{"PUT", "states/raid?node_ident=n", `{"node_ident": "n"}`, "Missing mandatory parameter: node_ident"},
		{"PUT", "states/raid?x=1&node_ident=n", `{"x": 1}`, "RAID config validation error: 'logical_disks' is a required property"},
		{"PUT", "n/states/raid?node_ident=n", `5`, "Expected types <class 'dict'> for target_raid_config: 5"},
		{"PUT", "n/states/raid?node_ident=n", `null`, "Expected types <class 'dict'> for target_raid_config: None"},
		{"PUT", "n/states/raid?node_ident=n", `{}`, "The path and the query both have the argument node_ident"},
		{"PUT", "n/states/raid/x?node_ident=n", `{}`, "Expected types <class 'dict'> for target_raid_config: x"},
		{"PUT", "a%20b/states/raid?node_ident=n", `{}`, "Expected UUID or name for node_ident: a b"},
		{"PUT", "states/raid?x=1", `{}`, "Unexpected arguments: x"},
		{"PUT", "states/raid?x=1", `{"x": 1}`, "Missing mandatory parameter: node_ident"},
		{"PUT", "n/states/raid?x=1", `[1]`, "Unexpected arguments: x"},
		{"PUT", "n/states/raid/a?x=1", `{"x": 1}`, "Expected types <class 'dict'> for target_raid_config: a"},
		{"PUT", "a%20b/states/raid?x=1", `{}`, "Unexpected arguments: x"},
		{"PUT", "a%20b/states/raid/x", `{}`, "Expected UUID or name for node_ident: a b"},
		{"PUT", "n/traits/CUSTOM_A?body=1", ``, ""},
		{"PUT", "n/traits?traits=1", `{"traits": ["CUSTOM_A"]}`, ""},
		{"PUT", "n/traits/CUSTOM_A?trait=1", ``, "The path and the query both have the argument trait"},
		{"PUT", "n/traits/CUSTOM_A/b", ``, "Schema error for body: 'b' is not of type 'object'"},
		{"PUT", "n/traits/CUSTOM_A/b?foo=1", ``, "Unexpected arguments: foo"},
		{"PUT", "n/traits/A/b", ``, "Schema error for trait: 'A' is not valid under any of the given schemas. " +
			"Possible root cause: 'A' does not match '^CUSTOM_[A-Z0-9_]+$'"},
		{"PUT", "../runbooks/x/traits/CUSTOM_A/b", ``, "Schema error for body: 'b' is not of type 'object'"},
	} {
		got := s.do(c.method, "/v1/nodes/"+c.path, "latest", c.body)
		if c.fault == "" {
			got.must(http.StatusNoContent)
			continue
		}
		require.Equal(t, c.fault, got.fault(), "%s %s %s", c.method, c.path, c.body)
		require.Equal(t, http.StatusBadRequest, got.status, "%s %s %s", c.method, c.path, c.body)
	}
	const disk = `{"logical_disks": [{"size_gb": 1, "raid_level": "1"}]}`
	s.do("PUT", "/v1/nodes/states/raid?node_ident=n", "latest", disk).must(http.StatusNoContent)
	require.Len(t, s.do("GET", "/v1/nodes/n/states", "latest", "").must(http.StatusOK)["target_raid_config"], 1)
}
