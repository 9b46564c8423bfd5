// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestChildrenAreLeftOutOfLists(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	parent := s.create(`{"driver": "fake-hardware", "name": "parent"}`)
	child := s.create(`{"driver": "fake-hardware", "parent_node": "parent"}`)
	uuids := func(query string) (list []string) {
		for _, n := range s.do("GET", "/v1/nodes?fields=uuid"+query, "latest", "").must(http.StatusOK)["nodes"].([]any) {
			list = append(list, n.(map[string]any)["uuid"].(string))
		}
		return list
	}
	require.Equal(t, []string{parent}, uuids(""))
	require.Equal(t, []string{parent, child}, uuids("&include_children=true"))
	require.Equal(t, []string{parent}, uuids("&include_children=false"))
	require.Equal(t, []string{child}, uuids("&parent_node="+parent))
	require.Empty(t, uuids("&parent_node="), "the text is no null")
	for query, want := range map[string]int{
		"": 1, "?include_children=": 1, "?include_children=false": 2, "?parent_node=": 0, "?parent_node=" + parent: 1,
	} {
		require.Len(t, s.do("GET", "/v1/nodes/detail"+query, "1.5", "").must(http.StatusOK)["nodes"], want, query)
	}
	require.Contains(t, s.do("GET", "/v1/nodes?include_children=x", "1.82", "").fault(), "Invalid include_children: Unrecognized value 'x'")
	require.Equal(t, []any{child}, s.do("GET", "/v1/nodes/parent/children", "latest", "").json()["children"])
	require.Equal(t, "Unexpected arguments: limit", s.do("GET", "/v1/nodes/parent/children?limit=1", "latest", "").fault())
	require.Equal(t, "Unable to apply the requested parent_node 'nope'. Requested value was invalid.",
		s.do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware", "parent_node": "nope"}`).fault())
	empty := s.create(`{"driver": "fake-hardware", "parent_node": ""}`)
	require.Equal(t, []string{parent}, uuids(""), "an empty parent is no null")
	require.Equal(t, []string{empty}, uuids("&parent_node="))
	require.Equal(t, []string{parent, child, empty}, uuids("&include_children=true"))
}

func TestAParentThatIsTheNodeItselfIsStoredAsItIsNamedSince2025_2(t *testing.T) {
	t.Parallel()
	for series, want := range map[states.Series]string{states.Epoxy: "", states.Flamingo: "n", states.Latest(): "n"} {
		s := start(t, series, api.Config{})
		uuid := s.create(`{"driver": "fake-hardware", "name": "n"}`)
		own := `{"op": "add", "path": "/parent_node", "value": "n"}`
		for patch, want := range map[string]any{
			own: cmp.Or(want, uuid),
			own + `, {"op": "add", "path": "/parent_node", "value": "` + uuid + `"}`: uuid,
		} {
			require.Equal(t, want, s.do("PATCH", "/v1/nodes/n", "latest", "["+patch+"]").must(http.StatusOK)["parent_node"], "%v: %s", series, patch)
		}
		require.Empty(t, s.do("GET", "/v1/nodes", "latest", "").must(http.StatusOK)["nodes"], "a node with a parent")
		s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "remove", "path": "/parent_node"}]`).must(http.StatusOK)
		removed := s.do("PATCH", "/v1/nodes/n", "latest", "["+own+`, {"op": "remove", "path": "/parent_node"}]`).must(http.StatusOK)
		require.Equal(t, series >= states.Flamingo, removed["parent_node"] == nil, series)
	}
}

func TestPagesFollowEachOther(t *testing.T) {
	s := start(t, states.Latest(), api.Config{MaxLimit: 3})
	for _, name := range strings.Split("dbeacgf", "") {
		s.create(`{"driver": "fake-hardware", "name": "` + name + `", "resource_class": "x"}`)
	}
	for query, want := range map[string]string{
		"limit=2":                              "dbeacgf",
		"":                                     "dbeacgf",
		"limit=100":                            "dbeacgf",
		"limit=2&sort_dir=desc":                "fgcaebd",
		"limit=3&sort_key=name":                "abcdefg",
		"limit=1&sort_key=name&sort_dir=desc":  "gfedcba",
		"limit=2&fields=name&resource_class=x": "dbeacgf",
	} {
		path, got := "/v1/nodes?"+query, ""
		for path != "" {
			page := s.do("GET", path, "latest", "").must(http.StatusOK)
			for _, n := range page["nodes"].([]any) {
				got += n.(map[string]any)["name"].(string)
			}
			next, _ := page["next"].(string)
			path = strings.TrimPrefix(next, "http://HOST")
		}
		require.Equal(t, want, got, query)
	}
}

func TestNodesAreSortedByTheValuesThatAreShown(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	for _, body := range []string{
		`{"driver": "fake-hardware", "name": "a", "retired_reason": "", "deploy_interface": "fake"}`,
		`{"driver": "fake-hardware", "name": "b"}`,
		`{"driver": "fake-hardware", "name": "c", "deploy_interface": "direct"}`,
	} {
		s.create(body)
	}
	for key, want := range map[string]string{"retired_reason": "bca", "deploy_interface": "cab"} {
		got := ""
		for _, n := range s.do("GET", "/v1/nodes?sort_key="+key, "latest", "").must(http.StatusOK)["nodes"].([]any) {
			got += n.(map[string]any)["name"].(string)
		}
		require.Equal(t, want, got, key)
	}
}

// filtered returns the names of the nodes in a list.
func (s *server) filtered(query string) (names string) {
	s.t.Helper()
	for _, name := range s.do("GET", "/v1/nodes?fields=name&"+query, "latest", "").values("nodes", "name") {
		names += name.(string)
	}
	return names
}

func TestAFilterPassesTheNodesWithItsValue(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	chassis := s.do("POST", "/v1/chassis", "latest", `{}`).must(http.StatusCreated)["uuid"].(string)
	s.have(&conductor.Node{ProvisionState: states.Available, Name: "a", InstanceUUID: absentUUID, ResourceClass: "x", Maintenance: true})
	s.have(&conductor.Node{ProvisionState: states.Available, Name: "b", ChassisUUID: chassis, ResourceClass: "y"})
	parent := s.have(&conductor.Node{ProvisionState: states.Available, Name: "c", ResourceClass: "x"})
	s.have(&conductor.Node{ProvisionState: states.Available, Name: "d", ResourceClass: "x", ParentNode: parent})
	for query, want := range map[string]string{
		"conductor=testhost":                                   "abc",
		"conductor=other":                                      "",
		"conductor=":                                           "abc",
		"instance_uuid=" + absentUUID:                          "a",
		"chassis_uuid=" + chassis:                              "b",
		"maintenance=true":                                     "a",
		"sort_key=name&sort_dir=desc":                          "cba",
		"sort_key=name&include_children=true":                  "abcd",
		"sort_key=name&resource_class=x":                       "ac",
		"sort_key=name&resource_class=x&parent_node=" + parent: "d",
		"sort_key=name&resource_class=x&include_children=1":    "acd",
	} {
		require.Equal(t, want, s.filtered(query), query)
	}
	require.Equal(t, []any{"b"}, s.do("GET", "/v1/chassis/nodes?fields=name&chassis_uuid="+chassis, "latest", "").values("nodes", "name"))
	require.Equal(t, "The path and the query both have the argument chassis_uuid",
		s.do("GET", "/v1/chassis/"+chassis+"/nodes?chassis_uuid="+chassis, "latest", "").fault())
	b, err := s.conductor.Node(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, "c", s.filtered("sort_key=name&resource_class=x&marker="+b.UUID), "the marker need not pass the filter")
	require.Equal(t, "Expected string for parent_node: ['a', 'b']",
		s.do("GET", "/v1/nodes?include_children=true&parent_node=a&parent_node=b", "latest", "").fault())
}

func TestAFilterHasTheValuesOfTheSeries(t *testing.T) {
	t.Parallel()
	for series, status := range map[states.Series]int{states.Bobcat - 1: http.StatusBadRequest, states.Bobcat: http.StatusOK} {
		s := start(t, series, api.Config{})
		for _, query := range []string{"provision_state=servicing", "fault=service%20failure"} {
			require.Equal(t, status, s.do("GET", "/v1/nodes?"+query, "latest", "").status, "%v %s", series, query)
		}
	}
}

// Source: get_all and detail in ironic/api/controllers/v1/node.py, whose arguments have their types checked before the
// version of any.
func TestTheTypesOfAListsArgumentsAreCheckedInIronicsOrder(t *testing.T) {
	t.Parallel()
	const integer, list, text, uuid, truth = "Expected an integer for ", "a list of ", "Expected string for ", "Expected UUID for ", "Invalid "
	arguments := []struct{ name, kind string }{
		{"chassis_uuid", uuid}, {"instance_uuid", uuid}, {"associated", truth}, {"maintenance", truth}, {"retired", truth},
		{"provision_state", text}, {"marker", uuid}, {"limit", integer}, {"sort_key", text}, {"sort_dir", text}, {"driver", text},
		{"fields", list}, {"resource_class", text}, {"fault", text}, {"conductor_group", text}, {"detail", truth}, {"conductor", text},
		{"owner", text}, {"description_contains", text}, {"lessee", text}, {"project", text}, {"shard", list}, {"sharded", truth},
		{"include_children", truth}, {"parent_node", text}, {"instance_name", text},
	}
	for series, lacking := range map[states.Series][]string{states.Bobcat: {"instance_name"}, states.Latest(): nil} {
		s := start(t, series, api.Config{})
		for path, lackingToo := range map[string][]string{
			"/v1/nodes?": nil, "/v1/nodes/detail?": {"fields", "detail", "include_children", "parent_node"},
		} {
			later := ""
			for _, a := range slices.Backward(arguments) {
				if slices.Contains(slices.Concat(lacking, lackingToo), a.name) || a.kind == list && series >= states.Caracal {
					continue
				}
				later = a.name + "=x&" + a.name + "=y&" + later
				want := strings.Replace(a.kind, list, text, 1) + a.name + ":"
				got := s.do("GET", path+later, "1.10", "")
				require.Equal(t, 400, got.status, "%v %s%s", series, path, later)
				require.True(t, strings.HasPrefix(got.fault(), want), "%v %s%s: %s", series, path, later, got.fault())
			}
		}
	}
}

func TestTheLinkToTheNextPageHasTheParametersOfThisOne(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	first := s.have(&conductor.Node{ProvisionState: states.Available, Name: "a", ResourceClass: "x y", Maintenance: true,
		InstanceUUID: absentUUID})
	s.have(&conductor.Node{ProvisionState: states.Available, Name: "b", ResourceClass: "x y", Maintenance: true})
	for _, c := range []struct{ path, query string }{
		{"?limit=1", "&fields=instance_uuid,maintenance,power_state,provision_state,uuid,name"},
		{"/detail?limit=1&maintenance=true", "&maintenance=True"},
		{"?detail=true&limit=1&maintenance=true&resource_class=x%20y", "&maintenance=True&detail=True&resource_class=x+y"},
		{"?fields=uuid&limit=1&associated=true&retired=false", "&associated=True&retired=false&fields=uuid"},
	} {
		folder, _, _ := strings.Cut(c.path, "?")
		want := "http://HOST/v1/nodes" + folder + "?sort_key=id&sort_dir=asc" + c.query + "&limit=1&marker=" + first
		require.Equal(t, want, s.do("GET", "/v1/nodes"+c.path, "latest", "").must(http.StatusOK)["next"], c.path)
	}
	one := s.do("GET", "/v1/nodes?limit=1&instance_uuid="+absentUUID, "latest", "").must(http.StatusOK)
	require.Nil(t, one["next"], "Ironic gives no link")
}
