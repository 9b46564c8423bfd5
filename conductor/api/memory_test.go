// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// heapGrowth returns the greatest growth of the heap in bytes, with garbage, while do runs.
func heapGrowth(do func()) int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	runtime.GC()
	before := read()
	ctx, done := context.WithCancel(context.Background())
	var peak int64
	var watching sync.WaitGroup
	watching.Add(1)
	go func() {
		defer watching.Done()
		for ctx.Err() == nil {
			peak = max(peak, read())
			time.Sleep(time.Millisecond)
		}
	}()
	do()
	done()
	watching.Wait()
	return peak - before
}

// dense is a list of about n bytes in JSON.
func dense(part string, n int) string {
	return "[" + strings.Repeat(part+",", n/(len(part)+1)-1) + part + "]"
}

func TestAllClientsTogetherNeedNoMoreThan512MiB(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	_, err := s.conductor.CreateNode(t.Context(), &conductor.Node{Name: "available", Driver: "fake-hardware", ProvisionState: states.Available})
	require.NoError(t, err)
	const many, mib = 128, 1 << 20
	for _, c := range []struct {
		name, method, path, body string
		clients                  int
		want                     []int // statuses
	}{
		{"heartbeats of no node", "POST", "/v1/heartbeat/x", dense("{}", mib-8), many, []int{413}},
		{"heartbeats of a node", "POST", "/v1/heartbeat/n", dense("{}", mib-8), many, []int{413}},
		{"heartbeats as large as may be", "POST", "/v1/heartbeat/n", dense(`{"":0}`, 60<<10), many, []int{400, 503}},
		{"nodes", "POST", "/v1/nodes", `{"driver": "fake-hardware", "extra": {"a": ` + dense(`{"":0}`, mib-99) + `}, "x": 1}`, 32, []int{400, 503}},
		{"patches", "PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/extra/a/b", "value": ` + dense("[]", mib-99) + `}]`, 32, []int{400, 503}},
		{"steps", "PUT", "/v1/nodes/n/states/provision", `{"target": "clean", "clean_steps": ` + dense("{}", 63*mib) + `}`, 2, []int{413}},
		{"config drives", "PUT", "/v1/nodes/n/states/provision", `{"target": "active", "configdrive": "` + strings.Repeat("a", 63*mib) + `"}`, 8, []int{400, 503}},
		{"a config drive that is stored", "PUT", "/v1/nodes/available/states/provision", `{"target": "active", "configdrive": "` + strings.Repeat("a", 63*mib) + `"}`, 1, []int{202}},
	} {
		t.Run(c.name, func(t *testing.T) {
			statuses := make([]atomic.Int64, 600)
			growth := heapGrowth(func() {
				var clients sync.WaitGroup
				for range c.clients {
					clients.Add(1)
					go func() {
						defer clients.Done()
						r := request(c.method, c.path, "latest", strings.NewReader(c.body))
						r.ContentLength = -1
						statuses[s.send(r).status].Add(1)
					}()
				}
				clients.Wait()
			})
			require.Less(t, growth, int64(512*mib))
			answered := int64(0)
			for _, status := range c.want {
				answered += statuses[status].Load()
			}
			require.EqualValues(t, c.clients, answered, "%s", counted(statuses))
			t.Logf("%d MiB, %s", growth/mib, counted(statuses))
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
