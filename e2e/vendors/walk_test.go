// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// walked walks over resources by their paths.
func walked(t *testing.T, b bounds, resources map[string]object) (*walk, error) {
	w := &walk{bounds: b, get: func(_ context.Context, path string) (object, int64, error) {
		o, ok := resources[path]
		if !ok {
			return nil, 10, errors.New("status 404")
		}
		return maps.Clone(o), 100, nil
	}}
	return w, w.run(t.Context())
}

// linksTo returns an object with links.
func linksTo(paths ...string) object {
	var list []any
	for _, path := range paths {
		list = append(list, object{"@odata.id": path})
	}
	return object{"Links": list}
}

func paths(w *walk) []string { return slices.Sorted(maps.Keys(w.found)) }

func TestEveryLinkIsFollowedOnce(t *testing.T) {
	w, err := walked(t, defaultBounds, map[string]object{
		root: {
			"A":       object{"@odata.id": root + "/A/"},
			"Again":   []any{object{"@odata.id": "/redfish/V1/a#/Parts/3"}},
			"Action":  object{"target": root + "/A/Actions/Reset", "@Redfish.ActionInfo": root + "/Info"},
			"File":    object{"Uri": root + "/Registries/en"},
			"Other":   object{"href": root + "/Other"},
			"Bios":    object{"Uri": "/registries/Bios.1.0.0.json"},
			"Outside": object{"@odata.id": "/registries/Other"},
			"Host":    object{"Uri": "//192.0.2.1/a"},
		},
		root + "/A":                   linksTo(root, root+"/B", root+"/gone"),
		root + "/B":                   linksTo(root + "/A"),
		root + "/Info":                {},
		root + "/Registries/en":       {},
		"/registries/Bios.1.0.0.json": {}, "/registries/Other": {}, "//192.0.2.1/a": {},
	})
	require.NoError(t, err)
	require.Equal(t, []string{root, root + "/A", root + "/B", root + "/Info", root + "/Registries/en",
		"/registries/Bios.1.0.0.json"}, paths(w))
	require.Equal(t, []string{root + "/gone: status 404"}, w.unread)
}

func TestALinkThatIsNoFolderIsNotFollowed(t *testing.T) {
	for _, link := range []string{
		"", "/", "/redfish", "/redfish/v1x", "https://192.0.2.1/redfish/v1/A", "//192.0.2.1/redfish/v1/A", root + "/A/../../../etc",
		root + "/%2e%2e/A", root + "/A%2fB",
		root + "/A%5cB", root + "/A%00", root + "/A?a=b", root + "//A", root + "/%zz", root + "/index.json",
		root + "/" + strings.Repeat("a", 201), root + strings.Repeat("/a", 31),
		root + "/JsonSchemas/Chassis", root + "/SchemaStore/en/Chassis.json",
	} {
		w, err := walked(t, defaultBounds, map[string]object{root: linksTo(link), link: {}})
		require.NoError(t, err)
		require.Equal(t, []string{root}, paths(w), link)
	}
}

func TestThePagesOfACollectionAreOneResource(t *testing.T) {
	member := func(name string) any { return object{"@odata.id": root + "/C/" + name} }
	page := func(next string, members ...any) object {
		return object{"Members": members, "Members@odata.nextLink": next}
	}
	w, err := walked(t, defaultBounds, map[string]object{
		root:                linksTo(root + "/C"),
		root + "/C":         page(root+"/C?$skip=1", member("1")),
		root + "/C?$skip=1": page(root+"/C?$skip=2", member("2")),
		root + "/C?$skip=2": page(root+"/C?$skip=2", member("3")), // it would never end
		root + "/C/1":       {}, root + "/C/2": {}, root + "/C/3": {},
	})
	require.NoError(t, err)
	require.Equal(t, object{"Members": []any{member("1"), member("2"), member("3")}}, w.found[root+"/C"])
	require.Len(t, w.found, 5)

	w, err = walked(t, defaultBounds, map[string]object{root: linksTo(root + "/C"), root + "/C": page("https://192.0.2.1/x", member("1"))})
	require.NoError(t, err)
	require.Equal(t, object{"Members": []any{member("1")}}, w.found[root+"/C"])
}

func TestWhatHasHappenedIsNotRecorded(t *testing.T) {
	for _, test := range []struct{ path, schema string }{
		{root + "/Managers/1/LogServices/Sel/Entries", ""}, {root + "/Managers/1/Logs/Lclog", "#LogEntryCollection.LogEntryCollection"},
		{root + "/SessionService/Sessions", ""}, {root + "/EventService/Subscriptions", "#EventDestinationCollection.EventDestinationCollection"},
		{root + "/TaskService/Tasks", ""}, {root + "/Managers/1/Oem/Dell/Jobs", "#DellJobCollection.DellJobCollection"},
	} {
		w, err := walked(t, defaultBounds, map[string]object{
			root: linksTo(test.path, test.path+"/7"),
			test.path: {"@odata.type": test.schema, "Name": "N", "Secret": "s",
				"Members": []any{object{"@odata.id": test.path + "/7"}, object{"@odata.id": root + "/X"}}},
			test.path + "/7": {"@odata.type": "#LogEntry.v1_0_0.LogEntry", "Message": "door opened"},
			root + "/X":      {},
		})
		require.NoError(t, err)
		require.Equal(t, []string{root, test.path}, paths(w))
		require.Equal(t, object{"@odata.id": nil, "@odata.type": test.schema, "Name": "N", "Members": []any{}, "Members@odata.count": 0},
			w.found[test.path])
	}
}

func TestAWalkIsBounded(t *testing.T) {
	endless := map[string]object{}
	for i := range 50 {
		endless[root+strings.Repeat("/a", i)] = linksTo(root + strings.Repeat("/a", i+1))
	}
	w, err := walked(t, bounds{resources: 100, links: 3, size: 1 << 20, failures: 9}, endless)
	require.NoError(t, err)
	require.Len(t, w.found, 4)
	require.Equal(t, []string{root + "/a/a/a/a: more than 3 links away"}, w.unread)

	_, err = walked(t, bounds{resources: 3, links: 40, size: 1 << 20, failures: 9}, endless)
	require.EqualError(t, err, "the BMC has more than 3 resources")

	_, err = walked(t, bounds{resources: 100, links: 40, size: 500, failures: 2}, map[string]object{
		root: linksTo(root+"/1", root+"/2", root+"/3", root+"/4", root+"/5", root+"/6"), root + "/1": {}, root + "/2": {},
		root + "/3": {}, root + "/4": {}, root + "/5": {}, root + "/6": {},
	})
	require.EqualError(t, err, "2 requests in a row have failed, the last: all resources together have more than 500 bytes")

	_, err = walked(t, bounds{resources: 100, links: 40, size: 1 << 20, failures: 2},
		map[string]object{root: linksTo(root+"/1", root+"/2", root+"/3"), root + "/2": {}})
	require.NoError(t, err, "not in a row")

	_, err = walked(t, defaultBounds, nil)
	require.EqualError(t, err, "read the service root: status 404")

	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := &walk{bounds: defaultBounds, get: func(context.Context, string) (object, int64, error) {
		cancel(errors.New("stopped"))
		return object{}, 0, nil
	}}
	require.EqualError(t, interrupted.run(ctx), "stopped")
}

func TestAWalkSaysHowFarItIs(t *testing.T) {
	var said []string
	w := &walk{
		bounds: defaultBounds,
		get:    func(context.Context, string) (object, int64, error) { return linksTo(root+"/1", root+"/2"), 100, nil },
		progress: func(w *walk, path string) {
			said = append(said, fmt.Sprintf("%d read, %d known, %d bytes, now %s", len(w.found), len(w.waiting), w.size, path))
		},
	}
	require.NoError(t, w.run(t.Context()))
	require.Equal(t, []string{"0 read, 0 known, 0 bytes, now /redfish/v1", "1 read, 1 known, 100 bytes, now /redfish/v1/1",
		"2 read, 0 known, 200 bytes, now /redfish/v1/2"}, said)
}
