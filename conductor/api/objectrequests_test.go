// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// post creates a record at the highest version and returns its path.
func (s *server) post(path, body string) string {
	s.t.Helper()
	return path + "/" + s.do("POST", path, "latest", body).must(http.StatusCreated)["uuid"].(string)
}

func TestNumbersAreSortedByTheirValues(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.have(&conductor.Node{ProvisionState: states.Manageable, Power: states.PowerOff})
	for _, index := range []string{"-1", "10", "9007199254740991", "-2", "9", "0"} {
		s.post("/v1/volume/targets", `{"node_uuid": "`+node+`", "volume_type": "iscsi", "volume_id": "v`+index+`", "boot_index": `+index+`}`)
	}
	require.Equal(t, []any{"v-2", "v-1", "v0", "v9", "v10", "v9007199254740991"},
		s.do("GET", "/v1/volume/targets?sort_key=boot_index&fields=volume_id", "latest", "").values("targets", "volume_id"))
}

func TestPortsAndPortGroupsAreFilteredByTheirNodes(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	for _, n := range []*conductor.Node{{Name: "a", Shard: "One"}, {Name: "b", Shard: "two", ConductorGroup: "x"}} {
		n.ProvisionState = states.Manageable
		uuid := s.have(n)
		s.post("/v1/ports", `{"node_uuid": "`+uuid+`", "address": "52:54:00:00:00:0`+n.Name+`", `+
			`"description": "The `+n.Name+`-th Port", "name": "`+n.Name+`"}`)
		s.post("/v1/portgroups", `{"node_uuid": "`+uuid+`", "name": "`+n.Name+`"}`)
	}
	for query, want := range map[string]string{
		"":                             "a b",
		"?shard=one":                   "a",
		"?shard=One,TWO":               "a b",
		"?shard=three":                 "",
		"?conductor_groups=x":          "b",
		"?conductor_groups=y":          "",
		"?node=a":                      "a",
		"?conductor_groups=":           "a b",
		"?sort_key=uuid&node=a":        "a",
		"?sort_key=name&sort_dir=desc": "b a",
	} {
		for _, list := range []string{"ports", "portgroups"} {
			with := query + "?"
			if query != "" {
				with = query + "&"
			}
			var got []string
			for _, name := range s.do("GET", "/v1/"+list+with+"fields=name", "latest", "").values(list, "name") {
				got = append(got, name.(string))
			}
			require.Equal(t, want, strings.Join(got, " "), "%s%s", list, query)
		}
	}
	require.Equal(t, "Operation not permitted.", s.do("GET", "/v1/ports?node=b&shard=one", "latest", "").fault())
	s.post("/v1/ports", `{"node_ident": "a", "address": "52:54:00:00:00:0c", "name": "c"}`)
	for part, found := range map[string]int{
		"TH+PORT": 2, "the+a": 1, "c-th": 0, "_": 2, "the%25port": 2, "a_th": 1, "": 3, "x&address=52:54:00:00:00:0a": 1,
	} {
		require.Len(t, s.do("GET", "/v1/ports?description_contains="+part, "latest", "").must(http.StatusOK)["ports"], found, part)
	}
	require.Len(t, s.do("GET", "/v1/portgroups/a/ports", "latest", "").must(http.StatusOK)["ports"], 0)
	require.Len(t, s.do("GET", "/v1/ports?shard=a&shard=b", "latest", "").must(http.StatusOK)["ports"], 0)
	for query, fault := range map[string]string{
		"?node_uuid=a": "Expected UUID for node_uuid: a",
		"?node=a%20b":  "Expected UUID or name for node: a b",
		"?description_contains=a&description_contains=b": "Expected string for description_contains: ['a', 'b']",
	} {
		require.Equal(t, fault, s.do("GET", "/v1/ports"+query, "latest", "").fault(), query)
	}
}

func TestFiltersOfAListThatExcludeEachOther(t *testing.T) {
	t.Parallel()
	s, old := start(t, states.Latest(), api.Config{}), start(t, states.Flamingo, api.Config{})
	for _, s := range []*server{s, old} {
		s.post("/v1/portgroups", `{"name": "g", "node_uuid": "`+s.create(`{"driver": "fake-hardware", "name": "n"}`)+`"}`)
	}
	const alone, one = "Filtering by conductor_groups cannot be combined with node_ident, portgroup_ident, or node address filters.",
		"Filtering by node, address, or shard simultaneously is not supported."
	mac := "52:54:00:00:00:01"
	for path, want := range map[string]string{
		"ports?conductor_groups=x&node=n":                  alone,
		"ports?conductor_groups=x&node_uuid=" + absentUUID: alone,
		"ports?conductor_groups=x&portgroup=g":             alone,
		"ports?conductor_groups=x&address=" + mac:          alone,
		"nodes/n/ports?conductor_groups=x":                 alone,
		"portgroups/g/ports?conductor_groups=x":            alone,
		"ports?conductor_groups=&node=n":                   "",
		"ports?conductor_groups=x&shard=x":                 "",
		"portgroups?conductor_groups=x&node=n":             one,
		"portgroups?shard=x&address=" + mac:                one,
		"nodes/n/portgroups?address=" + mac:                one,
		"portgroups?conductor_groups=&shard=&node=n":       "",
	} {
		a := s.do("GET", "/v1/"+path, "latest", "")
		if want == "" {
			require.Equal(t, http.StatusOK, a.status, path)
			continue
		}
		require.Equal(t, want, a.fault(), path)
	}
	require.Equal(t, http.StatusOK, old.do("GET", "/v1/portgroups?node=n&address="+mac, "latest", "").status, "there the first filter applies")
}

// Ironic removes the fields of later versions from single port groups alone, and before 2026.1 from none.
func TestAListOfPortGroupsHasTheFieldsOfLaterVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		series        states.Series
		version       string
		alone, listed []string
	}{
		{states.Latest(), "1.25", nil, []string{"mode", "properties", "physical_network", "category", "dynamic_portgroup"}},
		{states.Latest(), "1.103", []string{"mode", "properties", "physical_network", "category"},
			[]string{"mode", "properties", "physical_network", "category", "dynamic_portgroup"}},
		{states.Gazpacho, "1.25", nil, []string{"mode", "properties", "physical_network", "category", "dynamic_portgroup"}},
		{states.Flamingo, "1.25", []string{"mode", "properties"}, []string{"mode", "properties"}},
	} {
		s := start(t, c.series, api.Config{})
		group := s.post("/v1/portgroups", `{"node_uuid": "`+s.create(`{"driver": "fake-hardware"}`)+`"}`)
		late := func(o any) (have []string) {
			for _, name := range []string{"mode", "properties", "physical_network", "category", "dynamic_portgroup"} {
				if _, has := o.(map[string]any)[name]; has {
					have = append(have, name)
				}
			}
			return have
		}
		require.Equal(t, c.alone, late(s.do("GET", group, c.version, "").must(http.StatusOK)), "%v %s", c.series, c.version)
		list := s.do("GET", "/v1/portgroups/detail", c.version, "").must(http.StatusOK)["portgroups"].([]any)
		require.Equal(t, c.listed, late(list[0]), "%v %s", c.series, c.version)

		named := s.do("PATCH", group, "latest", `[{"op": "add", "path": "/category", "value": "storage"},
			{"op": "add", "path": "/physical_network", "value": "blue"}]`)
		if c.series == states.Flamingo {
			require.Equal(t, http.StatusBadRequest, named.status, named.body)
			continue
		}
		require.Equal(t, "storage", named.must(http.StatusOK)["category"])
		require.Equal(t, "blue", named.json()["physical_network"])
		require.Equal(t, "storage", s.do("GET", group, "latest", "").json()["category"])
	}
}

func TestRequestsForObjectsAreAllowedSinceTheirVersion(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	uuid := s.have(&conductor.Node{Name: "n", ProvisionState: states.Manageable})
	active := s.have(&conductor.Node{ProvisionState: states.Active})
	port := s.post("/v1/ports", `{"node_uuid": "`+uuid+`", "address": "52:54:00:00:00:01", "local_link_connection": {"port_id": "p", `+
		`"hostname": "h", "network_type": "managed"}}`)
	group := s.post("/v1/portgroups", `{"node_uuid": "`+uuid+`"}`)
	s.post("/v1/allocations", `{"resource_class": "x", "name": "al"}`)
	s.waitAllocation("al")
	const steps = `"steps": [{"interface": "bios", "step": "apply", "args": {}, "order": 1}]`
	for _, c := range []struct {
		method, path string
		since        states.APIVersion
		body         string
		before, now  int
	}{
		{"GET", "/v1/ports?fields=uuid", 8, "", 406, 200},
		{"GET", port + "?fields=uuid", 8, "", 406, 200},
		{"GET", "/v1/ports?fields=physical_network", 34, "", 406, 200},
		{"GET", port + "?fields=physical_network", 34, "", 406, 200},
		{"GET", "/v1/ports?sort_key=physical_network", 34, "", 406, 200},
		{"GET", "/v1/ports?node=n", 5, "", 406, 200},
		{"GET", "/v1/ports?description_contains=x", 97, "", 200, 200},
		{"GET", "/v1/portgroups?conductor_groups=x", 99, "", 200, 200},
		{"POST", "/v1/runbooks", 112, `{"name": "CUSTOM_D", "description": "d", ` + steps + `}`, 400, 201},
		{"PATCH", "/v1/runbooks/CUSTOM_D", 112, `[{"op": "add", "path": "/description", "value": "d"}]`, 400, 200},
		{"PATCH", port, 34, `[{"op": "add", "path": "/physical_network", "value": "p"}]`, 406, 200},
		{"PATCH", port, 64, `[{"op": "remove", "path": "/local_link_connection/network_type"}]`, 406, 200},
		{"PATCH", group, 26, `[{"op": "replace", "path": "/mode", "value": "802.3ad"}]`, 406, 200},
		{"PATCH", "/v1/allocations/al", 57, `[{"op": "replace", "path": "/name", "value": "al"}]`, 405, 200},
		{"POST", "/v1/allocations", 58, `{"node": "` + active + `"}`, 400, 201},
		{"POST", "/v1/ports", 34, `{"node_uuid": "` + uuid + `", "address": "52:54:00:00:00:02", "physical_network": "p"}`, 406, 201},
		{"POST", "/v1/ports", 64,
			`{"node_uuid": "` + uuid + `", "address": "52:54:00:00:00:03", "local_link_connection": {"network_type": "unmanaged"}}`, 406, 201},
		{"POST", "/v1/ports", 90, `{"node_uuid": "` + uuid + `", "address": "52:54:00:00:00:04", ` +
			`"local_link_connection": {"port_id": "p", "vtep-logical-switch": "l", "vtep-physical-switch": "q"}}`, 406, 201},
		{"POST", "/v1/ports", 94, `{"node_ident": "n", "address": "52:54:00:00:00:05"}`, 406, 201},
		{"POST", "/v1/runbooks", 112, `{"name": "free", ` + steps + `}`, 400, 201},
	} {
		old := s.do(c.method, c.path, (c.since - 1).String(), c.body)
		require.Equal(t, c.before, old.status, "%s %s at %v: %s", c.method, c.path, c.since-1, old.body)
		now := s.do(c.method, c.path, c.since.String(), c.body)
		require.Equal(t, c.now, now.status, "%s %s at %v: %s", c.method, c.path, c.since, now.body)
	}
}

func TestASeriesHasTheFieldsOfItsLastVersion(t *testing.T) {
	t.Parallel()
	s := start(t, states.Pike, api.Config{}) // ends with 1.34, the first version with physical_network
	uuid := s.create(`{"driver": "fake-hardware"}`)
	port := s.post("/v1/ports", `{"node_uuid": "`+uuid+`", "address": "52:54:00:00:00:01", "physical_network": "p"}`)
	require.Equal(t, "p", s.do("GET", port+"?fields=physical_network", "latest", "").must(http.StatusOK)["physical_network"])
	require.Equal(t, []any{"p"}, s.do("GET", "/v1/ports?fields=physical_network", "latest", "").values("ports", "physical_network"))
	const patch = `[{"op": "replace", "path": "/physical_network", "value": "q"}]`
	require.Equal(t, "q", s.do("PATCH", port, "latest", patch).must(http.StatusOK)["physical_network"])
	for _, path := range []string{
		port + "?fields=physical_network", "/v1/ports?fields=physical_network", "/v1/ports?sort_key=physical_network",
	} {
		require.Equal(t, "Request not acceptable.", s.do("GET", path, "1.33", "").fault(), path)
	}
	require.Equal(t, "Request not acceptable.", s.do("PATCH", port, "1.33", patch).fault())

	const vtep = `"local_link_connection": {"port_id": "p", "vtep-logical-switch": "l", "vtep-physical-switch": "q"}}`
	const half = `"local_link_connection": {"port_id": "p", "switch_id": "52:54:00:00:00:09", "vtep-physical-switch": "q"}}`
	const step = `{"name": "CUSTOM_A", "steps": [{"interface": "firmware", "step": "update", "args": {}, "priority": 1}]}`
	for series, c := range map[states.Series]struct{ link, firmware int }{
		states.Antelope: {400, 400},
		states.Bobcat:   {400, 201},
		states.Caracal:  {201, 201},
		states.Flamingo: {201, 201},
		states.Gazpacho: {406, 201},
	} {
		s := start(t, series, api.Config{})
		uuid := s.create(`{"driver": "fake-hardware"}`)
		require.Equal(t, c.link, s.do("POST", "/v1/ports", "latest",
			`{"node_uuid": "`+uuid+`", "address": "52:54:00:00:00:01", `+vtep).status, series)
		require.Equal(t, 400, s.do("POST", "/v1/ports", "latest",
			`{"node_uuid": "`+uuid+`", "address": "52:54:00:00:00:02", `+half).status, series)
		require.Equal(t, c.firmware, s.do("POST", "/v1/deploy_templates", "latest", step).status, series)
	}
}

func TestAPatchOfAPortMayNameTheKeyOfItsNode(t *testing.T) {
	t.Parallel()
	for series, want := range map[states.Series]string{
		states.Dalmatian: "Cannot patch /node_ident. Only the following can be updated: ",
		states.Epoxy:     "Adding a new attribute (/node_ident) to the root of the resource is not allowed",
	} {
		s := start(t, series, api.Config{})
		port := s.post("/v1/ports", `{"node_uuid": "`+s.create(`{"driver": "fake-hardware"}`)+`", "address": "52:54:00:00:00:01"}`)
		a := s.do("PATCH", port, "latest", `[{"op": "add", "path": "/node_ident", "value": "n"}]`)
		require.Contains(t, a.fault(), want, series)
	}
}

func TestAPatchMayNameTheNewNodeSince2026_2(t *testing.T) {
	t.Parallel()
	for series, byName := range map[states.Series]bool{states.Gazpacho: false, states.Latest(): true} {
		s := start(t, series, api.Config{})
		node := s.create(`{"driver": "fake-hardware"}`)
		other := s.create(`{"driver": "fake-hardware", "name": "other"}`)
		for _, record := range []string{
			s.post("/v1/ports", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:01"}`),
			s.post("/v1/portgroups", `{"node_uuid": "`+node+`"}`),
		} {
			move := func(to string) reply {
				return s.do("PATCH", record, "latest", `[{"op": "replace", "path": "/node_uuid", "value": "`+to+`"}]`)
			}
			if !byName {
				require.Equal(t, "Expected a UUID or int but received other.", move("other").fault())
				continue
			}
			require.Equal(t, "Unable to apply the requested node_uuid 'nosuch'. Requested value was invalid.", move("nosuch").fault())
			require.Equal(t, other, move("other").must(http.StatusOK)["node_uuid"])
			require.Equal(t, other, move("other").must(http.StatusOK)["node_uuid"])
		}
	}
}

func TestAllocationsAreNotSortedByTheFieldOfTheirRequest(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	require.Equal(t, `The sort_key value "node" is an invalid field for sorting`,
		s.do("GET", "/v1/allocations?sort_key=node", "latest", "").fault())
}

func TestATemplateWithTwoEqualStepsIsRefusedInTheWordsOfTheSeries(t *testing.T) {
	t.Parallel()
	const step = `{"interface": "bios", "step": "a", "args": {}, "priority": 1}`
	for series, word := range map[states.Series]string{states.Caracal: "deploy template", states.Dalmatian: "template"} {
		s := start(t, series, api.Config{})
		a := s.do("POST", "/v1/deploy_templates", "latest", `{"name": "CUSTOM_A", "steps": [`+step+`, `+step+`]}`)
		require.Equal(t, "Deploy template invalid: Duplicate deploy steps. A "+word+
			" cannot have multiple deploy steps with the same interface and step. Duplicates: interface: bios, step: a.", a.fault())
	}
}

func TestANewPortTakesTheLockOfItsNodeBefore20232(t *testing.T) {
	t.Parallel()
	for series, locked := range map[states.Series]bool{states.Antelope: true, states.Bobcat: false} {
		s := start(t, series, api.Config{})
		node := s.create(`{"driver": "fake-hardware"}`)
		s.post("/v1/ports", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:01"}`)
		require.Equal(t, locked, s.do("GET", "/v1/nodes/"+node, "latest", "").json()["updated_at"] != nil, series)
	}
}

func TestVersionsWithoutVTEPSwitchesShowAnEmptyLink(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	uuid := s.create(`{"driver": "fake-hardware"}`)
	link := map[string]any{"port_id": "p", "vtep-logical-switch": "l", "vtep-physical-switch": "q"}
	const body = `"local_link_connection": {"port_id": "p", "vtep-logical-switch": "l", "vtep-physical-switch": "q"}}`
	create := func(version string) reply {
		return s.do("POST", "/v1/ports", version, `{"node_uuid": "`+uuid+`", "address": "52:54:00:00:00:01", `+body)
	}
	require.Equal(t, "Request not acceptable.", create("1.89").fault())
	require.Equal(t, "Request not acceptable.", create("1.105").fault())
	port := "/v1/ports/" + create("1.104").must(http.StatusCreated)["uuid"].(string)
	for version, want := range map[string]map[string]any{"1.89": {}, "1.90": link, "1.104": link, "1.105": {}, "latest": {}} {
		require.Equal(t, want, s.do("GET", port, version, "").must(http.StatusOK)["local_link_connection"], version)
		shown := s.do("GET", "/v1/ports?fields=local_link_connection", version, "").values("ports", "local_link_connection")
		require.Equal(t, []any{want}, shown, version)
	}
	part := func(key string) map[string]any { // as a patch leaves it, whose result Ironic does not check so closely
		_, err := s.conductor.UpdateObject(t.Context(), conductor.KindPort, strings.TrimPrefix(port, "/v1/ports/"),
			func(o conductor.Object) error {
				o.(*conductor.Port).LocalLinkConnection = map[string]any{key: "x"}
				return nil
			})
		require.NoError(t, err)
		return s.do("GET", port, "latest", "").must(http.StatusOK)["local_link_connection"].(map[string]any)
	}
	require.Empty(t, part("vtep-logical-switch"))
	require.Empty(t, part("vtep-physical-switch"))
	require.NotEmpty(t, part("port_id"))
}

func TestANewPortNamesItsNodeByUUIDOrName(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.create(`{"driver": "fake-hardware", "name": "n"}`)
	for i, ident := range []string{node, "n"} {
		port := s.do("POST", "/v1/ports", "latest",
			`{"node_ident": "`+ident+`", "address": "52:54:00:00:00:0`+string(rune('0'+i))+`"}`).must(http.StatusCreated)
		require.Equal(t, node, port["node_uuid"])
	}
	for ident, want := range map[string]string{
		"a b":  "Expected UUID or name for node_ident: a b",
		"none": "Node none could not be found.",
	} {
		require.Equal(t, want, s.do("POST", "/v1/ports", "latest", `{"node_ident": "`+ident+`", "address": "52:54:00:00:00:09"}`).fault())
	}
}

func TestASwitchIsAMACAddressOrADatapath(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	port := s.post("/v1/ports", `{"node_uuid": "`+s.create(`{"driver": "fake-hardware"}`)+`", "address": "52:54:00:00:00:01"}`)
	for id, want := range map[string]string{
		"52:54:00:AA:00:01": "52:54:00:aa:00:01",
		"00AAbbCC00112233":  "00aabbcc00112233",
		"00aabbcc0011223":   "",
		"00aabbcc001122334": "",
		"00aabbcc0011223g":  "",
	} {
		a := s.do("PATCH", port, "latest",
			`[{"op": "replace", "path": "/local_link_connection", "value": {"port_id": "p", "switch_id": "`+id+`"}}]`)
		if want == "" {
			require.Equal(t, "Expected a MAC address or OpenFlow datapath ID but received "+id+".", a.fault())
			continue
		}
		require.Equal(t, map[string]any{"port_id": "p", "switch_id": want}, a.must(http.StatusOK)["local_link_connection"])
	}
}

func TestANewSmartNICHasAPortAndAHost(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.create(`{"driver": "fake-hardware"}`)
	for i, c := range []struct {
		smart, link string
		status      int
	}{
		{"true", `{}`, 201},
		{"true", `{"port_id": "p", "hostname": "h"}`, 201},
		{"true", `{"port_id": "p", "switch_id": "52:54:00:00:00:01"}`, 400},
		{"true", `{"network_type": "unmanaged"}`, 400},
		{"false", `{"port_id": "p", "switch_id": "52:54:00:00:00:01"}`, 201},
		{"null", `{"port_id": "p", "switch_id": "52:54:00:00:00:01"}`, 201},
	} {
		address := "52:54:00:00:00:0" + string(rune('0'+i))
		a := s.do("POST", "/v1/ports", "latest",
			`{"node_uuid": "`+node+`", "address": "`+address+`", "is_smartnic": `+c.smart+`, "local_link_connection": `+c.link+`}`)
		require.Equal(t, c.status, a.status, "%s %s: %s", c.smart, c.link, a.body)
	}
	port := s.post("/v1/ports",
		`{"node_uuid": "`+node+`", "address": "52:54:00:00:01:00", "local_link_connection": {"port_id": "p", "switch_id": "52:54:00:00:00:01"}}`)
	s.do("PATCH", port, "latest", `[{"op": "add", "path": "/is_smartnic", "value": true}]`).must(http.StatusOK)
}

func TestAGroupWithoutStandalonePortsGetsNoNewPortThatBoots(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.create(`{"driver": "fake-hardware"}`)
	for i, c := range []struct {
		standalone, pxe string
		status          int
	}{
		{"false", "true", 409}, {"false", "null", 409}, {"false", "false", 201}, {"true", "true", 201}, {"null", "true", 201},
	} {
		number := string(rune('0' + i))
		group := strings.TrimPrefix(s.post("/v1/portgroups", `{"node_uuid": "`+node+`", "standalone_ports_supported": `+c.standalone+`}`),
			"/v1/portgroups/")
		a := s.do("POST", "/v1/ports", "latest",
			`{"node_uuid": "`+node+`", "address": "52:54:00:00:00:0`+number+`", "portgroup_uuid": "`+group+`", "pxe_enabled": `+c.pxe+`}`)
		require.Equal(t, c.status, a.status, "%+v: %s", c, a.body)
		port := s.post("/v1/ports", `{"node_uuid": "`+node+`", "address": "52:54:00:00:01:0`+number+`"}`)
		s.do("PATCH", port, "latest", `[{"op": "add", "path": "/portgroup_uuid", "value": "`+group+`"}]`).must(http.StatusOK)
	}
}

func TestThePortsOfAnActiveNodeKeepTheirAddressAndConnection(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.have(&conductor.Node{ProvisionState: states.Active, InstanceUUID: absentUUID})
	port := s.post("/v1/ports", `{"node_uuid": "`+node+`", "address": "52:54:00:00:00:01"}`)
	for field, want := range map[string]string{
		`/address", "value": "52:54:00:00:00:02"`: "Cannot update hardware address for port " + port[len("/v1/ports/"):] + " as node " +
			node + " is active or has instance UUID assigned",
		`/pxe_enabled", "value": false`: "Port " + port[len("/v1/ports/"):] + " can not have any connectivity attributes " +
			"(local_link_connection, physical_network, portgroup_id, pxe_enabled) updated unless node " + node +
			" is in a enroll, inspecting, inspect wait, manageable state or in maintenance mode. The current state is active.",
	} {
		require.Equal(t, want, s.do("PATCH", port, "latest", `[{"op": "replace", "path": "`+field+`}]`).fault())
	}
	s.do("PATCH", port, "latest", `[{"op": "add", "path": "/extra/a", "value": 1}]`).must(http.StatusOK)
}
