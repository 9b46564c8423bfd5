// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const (
	systemsPath = "/redfish/v1/Systems"
	systemPath  = systemsPath + "/1"
)

// With gofish 0.20.0 alone each of these answers ends the process, in one of gofish's
// goroutines: gofish dereferences nil if a resource is null, and writes a map from two
// goroutines if a page or a member of a collection fails.
//
// SECURITY.md: No answer of a BMC ends the process.
func TestNoAnswerEndsTheProcess(t *testing.T) {
	t.Parallel()
	link := func(to string) map[string]any { return map[string]any{"@odata.id": to} }
	tests := map[string][]bmctest.Fault{
		"a system is null":         {{On: systemPath, Do: bmctest.Body("null")}},
		"a collection is null":     {{On: systemsPath, Do: bmctest.Body("null")}},
		"the root is null":         {{On: "/redfish/v1/", Do: bmctest.Body("null")}},
		"a system is a list":       {{On: systemPath, Do: bmctest.Body("[null]")}},
		"members are null":         {{On: systemsPath, Do: bmctest.Property("Members", []any{nil, nil})}},
		"a page is malformed":      {{On: systemsPath, Do: bmctest.Property("Members@odata.nextLink", ":%zz")}},
		"a page is not there":      {{On: systemsPath, Do: bmctest.Property("Members@odata.nextLink", "/redfish/v1/none")}},
		"a page is itself":         {{On: systemsPath, Do: bmctest.Property("Members@odata.nextLink", systemsPath)}},
		"members are malformed":    {{On: systemsPath, Do: bmctest.Property("Members", []any{link(":%zz"), link("%zz"), link(systemPath)})}},
		"members are other hosts'": {{On: systemsPath, Do: bmctest.Property("Members", []any{link("//evil.invalid/x"), link("@evil.invalid")})}},
		"members climb":            {{On: systemsPath, Do: bmctest.Property("Members", []any{link("/redfish/%2e%2e/x"), link("../../../x")})}},
		"members fail, a page too": {{On: systemsPath, Do: bmctest.Members(20)}, {On: systemPath, Do: bmctest.Body("null")}},
		"an action leads elsewhere": {{On: systemPath,
			Do: bmctest.Property("Actions", map[string]any{"#ComputerSystem.Reset": map[string]any{"target": "//evil.invalid/x"}})}},
	}
	for name, faults := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, systemName := range []string{"", "1", "none"} {
				server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Faults = faults })
				config := configOf(server)
				config.SystemName = systemName
				_ = verifyFaulty(t, server, func(c *bmc.Config) { c.SystemName = systemName })
				d := newDriver(t, 1, map[string]bmc.Config{"node": config})
				_ = d.SetPower(t.Context(), "node", states.PowerOff)
				require.NoError(t, d.Close(t.Context()))
				require.Empty(t, server.Sessions())
			}
		})
	}
}

func TestNothingGoesOnAfterTheCallerHasGivenUp(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: systemsPath, Do: bmctest.Members(40)})
	ctx, cancel := context.WithCancel(t.Context())
	server.AddFault(bmctest.Fault{On: systemsPath + "/none-4", If: func(*http.Request) bool { cancel(); return false }})
	config := configOf(server)
	config.SystemName = "1"
	_, err := newVerifier(t, config).Verify(ctx)
	require.ErrorIs(t, err, verify.Cancelled)
	require.Empty(t, server.Sessions())
	require.NoError(t, server.Close(), "each request that the BMC has got has ended")
	asked := server.Requests()
	require.Equal(t, http.MethodDelete, asked[len(asked)-1].Method, "the log-out is the last request")
	require.Equal(t, systemsPath+"/none-4", asked[len(asked)-2].Path)
}

func TestACollectionHasPages(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Systems = []bmctest.System{{ID: "1"}, {ID: "2", Power: "On"}}
	})
	server.AddFault(bmctest.Fault{On: systemsPath, Times: 1, Do: bmctest.Body(
		`{"Members": [{"@odata.id": "/redfish/v1/Systems/1"}], "Members@odata.nextLink": "/redfish/v1/Systems?page=2"}`)})
	server.AddFault(bmctest.Fault{On: systemsPath, Times: 1, Do: bmctest.Body(
		`{"Members": [{"@odata.id": "/redfish/v1/Systems/2"}]}`)})
	config := configOf(server)
	config.SystemID = "2"
	power, err := newVerifier(t, config).Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, states.PowerOn, power)
}

func TestASystemIsFoundByNameBesideBrokenOnes(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Systems = []bmctest.System{{ID: "1"}, {ID: "2"}, {ID: "3"}, {ID: "4", Name: "node", Power: "On"}}
	})
	for id, effect := range map[string]bmctest.Effect{
		"1": bmctest.Status(http.StatusNotFound), "2": bmctest.Body("null"), "3": bmctest.Property("Name", 1),
	} {
		server.AddFault(bmctest.Fault{On: systemsPath + "/" + id, Do: effect})
	}
	config := configOf(server)
	config.SystemName = "node"
	power, err := newVerifier(t, config).Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, states.PowerOn, power)
	require.Empty(t, server.Sessions())
}

// Old BMCs close the connection after each answer and do not say that they will.
func TestABMCMayCloseEachConnection(t *testing.T) {
	for range 20 {
		server := startRedfish(t)
		server.AddFault(bmctest.Fault{Do: bmctest.CloseAfter(1 << 20)})
		_, err := newVerifier(t, configOf(server)).Verify(t.Context())
		require.NoError(t, err)
		d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
		require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOff))
		require.NoError(t, d.SetPower(t.Context(), "node", states.PowerOn))
		require.NoError(t, d.Close(t.Context()))
		require.Equal(t, "On", server.Power("1"))
		require.Equal(t, 2, server.Logins().Attempts)
		require.Empty(t, server.Sessions())
	}
}

// SECURITY.md: The bytes, requests and time of an operation are bounded.
func TestLimitsAreKept(t *testing.T) {
	tests := map[string]struct {
		limits bmc.Config
		faults []bmctest.Fault
		text   string
	}{
		"requests": {limits: bmc.Config{MaxRequests: 3}, text: "more requests are needed than the limit"},
		"bytes":    {limits: bmc.Config{MaxBytes: 4000}, text: "the BMC sends more bytes than the limit"},
		"an answer": {limits: bmc.Config{MaxAnswerBytes: 100},
			text: "an answer is longer than the limit"},
		"members": {limits: bmc.Config{MaxMembers: 5}, faults: []bmctest.Fault{{On: systemsPath, Do: bmctest.Members(6)}},
			text: "the collection has more members than the limit"},
		"a header": {faults: []bmctest.Fault{
			{On: systemsPath, Do: bmctest.Raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("A", 100<<10) + "\r\n\r\n{}")}},
			text: "the header of an answer is longer than 64 KiB"},
		"bytes, decompressed": {
			limits: bmc.Config{MaxBytes: 5 << 20, MaxAnswerBytes: 2 << 20},
			faults: []bmctest.Fault{{On: systemsPath, Do: bmctest.Members(20)}, {Method: http.MethodGet, Skip: 1, Do: bmctest.GzipBomb(1 << 20)}},
			text:   "the BMC sends more bytes than the limit",
		},
		"many members": {faults: []bmctest.Fault{{On: systemsPath, Do: bmctest.Members(200)}},
			text: "more requests are needed than the limit"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Faults = test.faults })
			config := configOf(server)
			config.MaxBytes, config.MaxAnswerBytes = test.limits.MaxBytes, test.limits.MaxAnswerBytes
			config.MaxRequests, config.MaxMembers = test.limits.MaxRequests, test.limits.MaxMembers
			config.SystemName = "1"
			_, err := newVerifier(t, config).Verify(t.Context())
			require.ErrorIs(t, err, verify.Protocol)
			require.ErrorContains(t, err, test.text)
			require.Empty(t, server.Sessions(), "a log-out is beyond the limits")
			require.LessOrEqual(t, len(server.Requests()), 64+1)
		})
	}
}

// SECURITY.md: The bytes, requests and time of an operation are bounded.
func TestADriversCallsHaveTheLimitsEach(t *testing.T) {
	server := startRedfish(t)
	config := configOf(server)
	config.MaxRequests = 5
	d := newDriver(t, 1, map[string]bmc.Config{"node": config})
	for range 10 {
		_, err := d.PowerState(t.Context(), "node")
		require.NoError(t, err)
	}
	require.Equal(t, 1, server.Logins().Attempts)

	config.MaxRequests = 3
	d = newDriver(t, 0, map[string]bmc.Config{"node": config})
	_, err := d.Health(t.Context(), "node")
	require.ErrorIs(t, err, verify.Protocol, "only a call that reads many resources has other limits")
	_, err = d.Firmware(t.Context(), "node")
	require.NoError(t, err)
}

// floods has effects of BMCs that send as much as they can.
var floods = map[string]struct {
	faults []bmctest.Fault
	set    func(*bmc.Config)
}{
	"a gzip bomb": {
		faults: []bmctest.Fault{{On: systemPath, Do: bmctest.GzipBomb(1 << 30)}},
	},
	"1,000 members of 4 MiB": {
		faults: []bmctest.Fault{
			{On: systemsPath, Do: bmctest.Members(1000)},
			{Method: http.MethodGet, Skip: 1, Do: bmctest.LongBody(4 << 20)},
		},
		set: func(c *bmc.Config) { c.SystemName, c.MaxMembers, c.MaxRequests = "1", 2000, 2000 },
	},
	"59 errors of 1 MB": {
		faults: []bmctest.Fault{
			{On: systemsPath, Do: bmctest.Members(59)},
			{Method: http.MethodGet, Skip: 1, Do: bmctest.LongError(http.StatusInternalServerError, 1<<20)},
		},
		set: func(c *bmc.Config) { c.SystemName = "1" },
	},
	"members of 1 MB each": {
		faults: []bmctest.Fault{
			{On: systemsPath, Do: bmctest.Members(100)},
			{Method: http.MethodGet, Skip: 1, Do: bmctest.LongBody(1 << 20)},
		},
		set: func(c *bmc.Config) { c.SystemName = "1" },
	},
	"a system without end": {
		faults: []bmctest.Fault{{On: systemPath, Do: bmctest.EndlessBody()}},
	},
}

// floodsAtOnce are numbers of BMCs that send a flood at once.
func floodsAtOnce() []int {
	if raced {
		return []int{2}
	}
	return []int{1, 10}
}

func TestAFloodStaysWithinBounds(t *testing.T) {
	needs.Chance(t)
	const most = 64 << 20
	for name, flood := range floods {
		for _, atOnce := range floodsAtOnce() {
			t.Run(name, func(t *testing.T) {
				var servers []*bmctest.Redfish
				for range atOnce {
					servers = append(servers, startRedfish(t, func(c *bmctest.RedfishConfig) { c.Faults = flood.faults }))
				}
				peak := peakHeap(func() {
					var all sync.WaitGroup
					for _, server := range servers {
						all.Go(func() {
							config := configOf(server)
							config.Timeout = 5 * time.Minute // the memory is tested, not the time
							if flood.set != nil {
								flood.set(&config)
							}
							_, err := newVerifier(t, config).Verify(t.Context())
							assert.ErrorIs(t, err, verify.Protocol)
						})
					}
					all.Wait()
				})
				t.Logf("%d at once took %.1f MiB at the most", atOnce, float64(peak)/(1<<20))
				require.Less(t, peak, int64(most))
				for _, server := range servers {
					require.Empty(t, server.Sessions())
				}
			})
		}
	}
}

// peakHeap returns the maximum growth of the heap, garbage included, while a function
// runs, in bytes.
func peakHeap(f func()) int64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before, peak := heap(), int64(0)
	var over atomic.Bool
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		for !over.Load() {
			peak = max(peak, heap()-before)
			time.Sleep(200 * time.Microsecond)
		}
	}()
	f()
	over.Store(true)
	<-sampled
	return peak
}
