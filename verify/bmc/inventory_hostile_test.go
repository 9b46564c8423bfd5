// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// badAnswers returns answers to a GET of the n-th resource that are wrong, but are answers. With the race detector it
// returns every sixth one, so that six resources in a row meet all of them.
func badAnswers(n int) []bmctest.Effect {
	link := func(to string) map[string]any { return map[string]any{"@odata.id": to} }
	all := []bmctest.Effect{
		bmctest.Status(http.StatusNotFound), bmctest.Status(http.StatusInternalServerError), bmctest.Status(http.StatusNotImplemented),
		bmctest.Body("null"), bmctest.Body("[]"), bmctest.Body(`"text"`), bmctest.Body("{}"), bmctest.Body(`{"Id":"1","id":"2","ID":null}`),
		bmctest.Body(strings.Repeat(`{"Links":`, 40) + "1" + strings.Repeat("}", 40)),
		bmctest.Body(`{"Values":[` + strings.Repeat("1,", 25_000) + "1]}"),
		bmctest.BadJSON(), bmctest.TruncatedJSON(), bmctest.HTMLPage(), bmctest.RedirectLoop(),
		bmctest.RedirectTo("https://another-bmc.invalid/redfish/v1/"),
		bmctest.Property("@odata.id", "/redfish/v1/Systems/9"),
		bmctest.Property("Members", nil), bmctest.Property("Members", 1), bmctest.Property("Members", []any{nil, 1, "x", link("")}),
		bmctest.Property("Members", []any{link("@other.invalid/x"), link("//other.invalid/x"), link("https://other.invalid/x")}),
		bmctest.Property("Members@odata.nextLink", "@other.invalid/x"), bmctest.Property("Members@odata.nextLink", 1),
		nextPageIsItself(), otherTypes(),
	}
	if !raced {
		return all
	}
	var some []bmctest.Effect
	for i := n % 6; i < len(all); i += 6 {
		some = append(some, all[i])
	}
	return some
}

// nextPageIsItself makes every collection its own next page.
func nextPageIsItself() bmctest.Effect {
	return changeObject("nextPageIsItself()", func(o map[string]any) { o["Members@odata.nextLink"] = o["@odata.id"] })
}

// otherTypes gives each property of a resource but its path a value of another type.
func otherTypes() bmctest.Effect {
	return changeObject("otherTypes()", func(o map[string]any) {
		for name, value := range o {
			switch value.(type) {
			case string:
				if name != "@odata.id" {
					o[name] = 7
				}
			case []any:
				o[name] = map[string]any{"x": 1}
			default:
				o[name] = fmt.Sprint(value)
			}
		}
	})
}

func changeObject(name string, change func(map[string]any)) bmctest.Effect {
	return bmctest.Change(name, func(_ http.Header, body []byte) []byte {
		var o map[string]any
		if json.Unmarshal(body, &o) != nil {
			return body
		}
		change(o)
		changed, _ := json.Marshal(o)
		return changed
	})
}

// without clears the part of an inventory that is read from the resources below a path.
func without(i bmc.Inventory, path string) bmc.Inventory {
	switch part, _, _ := strings.Cut(strings.TrimPrefix(path, systemPath+"/"), "/"); part {
	case "Memory":
		i.Memory = bmc.Memory{}
	case "Processors":
		i.CPU = bmc.CPU{}
	case "EthernetInterfaces":
		i.Interfaces = nil
	case "Storage":
		i.Disks, i.StorageControllers, i.LocalGB = nil, nil, 0
	}
	return i
}

// A bad answer to a request for any resource of a machine leaves the parts that come from
// other resources as they are, ends neither the process nor the inspection, and leads to no
// other host.
func TestABadResourceLosesNoPartOfAnother(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	noSummary := bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("MemorySummary")}
	start := func(t *testing.T) (*bmctest.Redfish, *bmc.Driver, bmc.Inventory) {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) {
			c.Systems[0].Hardware = bmctest.Hardware{Processors: 1, DIMMs: 1}
		})
		server.AddFault(noSummary)
		d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
		whole, err := d.Inspect(t.Context(), "node")
		require.NoError(t, err)
		return server, d, whole
	}
	server, _, _ := start(t)
	var paths []string
	for _, r := range server.Requests() {
		if strings.HasPrefix(r.Path, systemPath+"/") {
			paths = append(paths, r.Path)
		}
	}
	require.Len(t, paths, 12, "the collections, their members, and the drives")

	for i, path := range paths {
		t.Run(strings.TrimPrefix(path, systemPath+"/"), func(t *testing.T) {
			t.Parallel()
			server, d, whole := start(t)
			for _, do := range badAnswers(i) {
				require.NoError(t, server.ClearFaults())
				server.AddFault(noSummary)
				server.AddFault(bmctest.Fault{On: path, Do: do})
				got, err := d.Inspect(t.Context(), "node")
				require.Equal(t, without(whole, path), without(got, path), "%s: %v", do, err)
				if strings.HasSuffix(path, "/Drives/1") {
					require.Contains(t, got.Disks, whole.Disks[1], "%s: %v", do, err)
				}
			}
			require.Less(t, len(server.Requests()), 600, "all together")
			for _, r := range server.Requests() {
				require.True(t, strings.HasPrefix(r.Path, "/redfish/v1/"), r.Path)
			}
			require.NoError(t, d.Close(t.Context()))
			require.Empty(t, server.Sessions())
		})
	}
}
