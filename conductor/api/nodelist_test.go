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
	require.Equal(t, []string{child}, uuids("&parent_node="+parent))
	require.Equal(t, []any{child}, s.do("GET", "/v1/nodes/parent/children", "latest", "").json()["children"])
	require.Equal(t, "Unable to apply the requested parent_node 'nope'. Requested value was invalid.",
		s.do("POST", "/v1/nodes", "latest", `{"driver": "fake-hardware", "parent_node": "nope"}`).fault())
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
