// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
)

func TestACollectionsMembersComeFromAllPages(t *testing.T) {
	const one, two, three, four = `{"@odata.id": "/c/1"}`, `{"@odata.id": "/c/2"}`, `{"@odata.id": "/c/3"}`, `{"@odata.id": "/c/4"}`
	const other = `{"@odata.id": "https://other/"}`
	list := func(members ...string) string { return `"Members": [` + strings.Join(members, ", ") + `]` }
	const next = `, "Members@odata.nextLink": `
	for name, test := range map[string]struct {
		first, second string // the properties of two pages, /c and /c?p=2; absent if empty
		want          []string
		err           string // empty for none
	}{
		"one page":              {list(one, two), "", []string{"/c/1", "/c/2"}, ""},
		"no member":             {list(), "", nil, ""},
		"no list":               {`"Name": "none"`, "", nil, ""},
		"a member twice":        {list(one, two, one), "", []string{"/c/1", "/c/2"}, ""},
		"two pages":             {list(one) + next + `"?p=2"`, list(two, one), []string{"/c/1", "/c/2"}, ""},
		"pages in a circle":     {list(one) + next + `"?p=2"`, list(two) + next + `"/c"`, []string{"/c/1", "/c/2"}, ""},
		"a page after itself":   {list(one) + next + `"/c"`, "", []string{"/c/1"}, ""},
		"an empty next page":    {list(one) + next + `""`, "", []string{"/c/1"}, ""},
		"a page elsewhere":      {list(one) + next + `"https://other/"`, "", []string{"/c/1"}, "another host"},
		"a page that is none":   {list(one) + next + `7`, "", []string{"/c/1"}, "the property Members@odata.nextLink"},
		"an absent page":        {list(one) + next + `"?p=2"`, "", []string{"/c/1"}, "GET /c?p=2: 404"},
		"no collection":         {"", "", nil, "GET /c: 404"},
		"a list that is none":   {`"Members": 7`, "", nil, "the property Members"},
		"a member elsewhere":    {list(other, one), "", []string{"/c/1"}, "another host"},
		"members that are none": {list("null", "{}", one), "", []string{"/c/1"}, "malformed"},
		"a member of no type":   {list("7", one), "", []string{"/c/1"}, "malformed"},
		"as many as permitted":  {list(one, one, two), "", []string{"/c/1", "/c/2"}, ""},
		"more than permitted":   {list(one, two, three, four), "", []string{"/c/1", "/c/2", "/c/3"}, "more members than the limit"},

		// Of several errors the first is returned.
		"elsewhere, then an absent page":      {list(other) + next + `"?p=2"`, "", nil, "another host"},
		"elsewhere, then a list that is none": {list(other) + next + `"?p=2"`, `"Members": 7`, nil, "another host"},
		"elsewhere, then a page that is none": {list(other) + next + `7`, "", nil, "another host"},
		"elsewhere, then malformed":           {list(other, "null"), "", nil, "another host"},
		"elsewhere, then too many":            {list(other, one, two, three, four), "", []string{"/c/1", "/c/2", "/c/3"}, "another host"},
	} {
		t.Run(name, func(t *testing.T) {
			pages := map[string]string{}
			for path, properties := range map[string]string{"/c": test.first, "/c?p=2": test.second} {
				if properties != "" {
					pages[path] = "{" + properties + "}"
				}
			}
			c := start(t, resources(pages)).client(func(c *Config) { c.MaxMembers = 3 })
			defer c.Close(t.Context())
			got, err := c.Members(t.Context(), "/c")
			require.Equal(t, test.want, got)
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.err)
			require.Contains(t, []verify.Kind{verify.Protocol, verify.Unsupported}, kindOf(t, err))
		})
	}
	c := start(t, resources(nil)).client()
	got, err := c.Members(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestAResourceIsIdentifiedByTheEndOfItsPath(t *testing.T) {
	for link, want := range map[string]string{
		"/redfish/v1/Systems/1": "1", "/redfish/v1/Systems/1/": "1", "https://bmc/Systems/a%20b?page=1": "a b", "7": "7", "/Systems/%zz": "%zz",
	} {
		require.Equal(t, want, ResourceID(link))
	}
}
