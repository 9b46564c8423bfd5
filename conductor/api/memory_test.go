// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/internal/heaptest"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

// dense is a list of about n bytes in JSON.
func dense(part string, n int) string {
	return "[" + strings.Repeat(part+",", n/(len(part)+1)-1) + part + "]"
}

// fullest is a value of about n bytes with as many small values as a body may have, and two long strings.
func fullest(part string, n int) string {
	const small = 20_000
	half := strings.Repeat("a", (n-small)/2)
	return `{"a": ` + dense(part, small) + `, "b": "` + half + `", "c": "` + half + `"}`
}

// SECURITY.md: All clients together cannot make the process use more than 512 MiB for their requests.
func TestAllClientsTogetherNeedNoMoreThan512MiB(t *testing.T) {
	needs.Chance(t)
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	_, err := s.conductor.CreateNode(t.Context(),
		&conductor.Node{Name: "available", Driver: "fake-hardware", ProvisionState: states.Available})
	require.NoError(t, err)
	const many, mib = 128, 1 << 20
	drive := `{"target": "active", "configdrive": "` + strings.Repeat("a", 63*mib) + `"}`
	type requests struct {
		name, method, path, body string
		clients                  int
		want                     []int // statuses
	}
	attacks := []requests{
		{"heartbeats of no node", "POST", "/v1/heartbeat/x", dense("{}", mib-8), many, []int{413, 503}},
		{"heartbeats of a node", "POST", "/v1/heartbeat/n", dense("{}", mib-8), many, []int{413, 503}},
		{"heartbeats as large as may be", "POST", "/v1/heartbeat/n", fullest(`{"":0}`, 60<<10), many, []int{400, 503}},
		{"nodes of too many values", "POST", "/v1/nodes",
			`{"driver": "fake-hardware", "extra": {"a": ` + dense(`{"":0}`, mib-99) + `}, "x": 1}`, 32, []int{413, 503}},
		{"nodes", "POST", "/v1/nodes", `{"driver": "fake-hardware", "extra": ` + fullest(`{"":0}`, mib-199) + `, "x": 1}`, 32, []int{400, 503}},
		{"patches of too many values", "PATCH", "/v1/nodes/n",
			`[{"op": "add", "path": "/extra/none/b", "value": ` + dense("[]", mib-99) + `}]`, 32, []int{413, 503}},
		{"patches", "PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/extra/none/b", "value": ` + fullest(`{"":0}`, mib-199) + `}]`,
			32, []int{400, 503}},
		{"patches that are stored", "PATCH", "/v1/nodes/n",
			`[{"op": "add", "path": "/extra/a", "value": ` + fullest(`{"":0}`, mib-199) + `}]`, 8, []int{200, 409, 503}},
		{"steps", "PUT", "/v1/nodes/n/states/provision", `{"target": "clean", "clean_steps": ` + dense("{}", 63*mib) + `}`, 2, []int{413, 503}},
		// One without a Content-Length needs its memory twice, when its chunks are joined: more than the budget.
		{"config drives", "PUT", "/v1/nodes/n/states/provision", drive, 8, []int{400, 413, 503}},
		{"a config drive that is stored", "PUT", "/v1/nodes/available/states/provision", drive, 1, []int{202}},
	}
	for _, c := range append(attacks, requests{name: "all together"}) {
		t.Run(c.name, func(t *testing.T) {
			now := []requests{c}
			if c.clients == 0 {
				now = attacks
			}
			statuses := make([][600]atomic.Int64, len(now))
			growth := heaptest.Growth(func() {
				var clients sync.WaitGroup
				for i, c := range now {
					for client := range c.clients {
						clients.Add(1)
						go func() {
							defer clients.Done()
							r := request(c.method, c.path, "latest", strings.NewReader(c.body))
							if client%2 == 1 {
								r.ContentLength = -1
							}
							statuses[i][s.send(r).status].Add(1)
						}()
					}
				}
				clients.Wait()
			})
			t.Logf("%d MiB", growth/mib)
			require.Less(t, growth, int64(512*mib))
			for i, c := range now {
				answered := int64(0)
				for _, status := range c.want {
					answered += statuses[i][status].Load()
				}
				if len(now) > 1 && c.clients == 1 {
					continue // the node that has a config drive does not take another
				}
				require.EqualValues(t, c.clients, answered, "%s: %s", c.name, counted(statuses[i][:]))
				t.Logf("%s: %s", c.name, counted(statuses[i][:]))
			}
		})
	}
	s.t = t
	s.do("GET", "/v1/nodes/n", "latest", "").must(http.StatusOK)
}

func counted(statuses []atomic.Int64) string {
	var b strings.Builder
	for status := range statuses {
		if n := statuses[status].Load(); n > 0 {
			fmt.Fprintf(&b, "%d times %d ", n, status)
		}
	}
	return b.String()
}
