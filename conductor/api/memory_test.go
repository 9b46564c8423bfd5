// SPDX-License-Identifier: Apache-2.0

// With the race detector each call allocates more.
//go:build !race

package api_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
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

// fullest is a value of about n bytes with as many small values as a body may have, and two long strings.
func fullest(part string, n int) string {
	const small = 20_000
	half := strings.Repeat("a", (n-small)/2)
	return `{"a": ` + dense(part, small) + `, "b": "` + half + `", "c": "` + half + `"}`
}

// requests are requests of one kind, which clients send at the same time.
type requests struct {
	name, method, path, body string
	clients                  int
	want                     []int // statuses
}

// inspected is the data of an inspection with as many values as a body may have and an archive of logs. Each text has a
// password, which is masked before it is stored. MAC stands for a part of the addresses.
func inspected(logs int) string {
	nics, lists := make([]string, 128), make([]string, 7)
	for i := range nics {
		nics[i] = fmt.Sprintf(`{"name": "eth%d", "mac_address": "52:54:MAC:%02x"}`, i, i)
	}
	for i := range lists {
		lists[i] = fmt.Sprintf(`"%d": %s`, i, dense(`"`+strings.Repeat("http://a:b@h/ ", 9)+`"`, 130_000))
	}
	return `{"inventory": {"interfaces": [` + strings.Join(nics, ",") + `], "lists": {` + strings.Join(lists, ",") + `}}, "logs": "` +
		strings.Repeat("a", logs) + `"}`
}

// inspectedMembers is the data of an inspection with an object that has a number of members.
func inspectedMembers(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"a:b@/%d": 0`, i)
	}
	return `{"inventory": {"interfaces": [{"name": "eth0", "mac_address": "52:54:MAC:00"}], "many": {` + strings.Join(members, ",") + `}}}`
}

// attacks are the requests for the node "n" and others that need the most memory. The largest bodies have about the
// given number of bytes.
func attacks(largest int) []requests {
	const many, mib = 128, 1 << 20
	inspections := "/v1/continue_inspection?node_uuid="
	return []requests{
		{"inspections", "POST", inspections, inspected(0), 8, []int{202, 503}},
		{"inspections with logs", "POST", inspections, inspected(3 * mib), 8, []int{202, 503}},
		{"inspections with the most logs", "POST", inspections, inspected(15 * mib), 8, []int{202, 413, 503}},
		{"inspections of many values", "POST", inspections, inspectedMembers(18_000), 8, []int{202, 503}},
		{"inspections of more values", "POST", inspections, inspectedMembers(45_000), 8, []int{202, 503}},
		{"inspections with URLs", "POST", inspections,
			strings.Replace(inspected(0), "{", `{"x": "`+strings.Repeat("h://a:b@", 400_000)+`", `, 1), 8, []int{202, 503}},
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
		{"steps", "PUT", "/v1/nodes/n/states/provision", `{"target": "clean", "clean_steps": ` + dense("{}", largest) + `}`, 2, []int{413, 503}},
		// One without a Content-Length needs its memory twice, when its chunks are joined.
		{"config drives", "PUT", "/v1/nodes/n/states/provision",
			`{"target": "active", "configdrive": "` + strings.Repeat("a", largest) + `"}`, 8, []int{400, 413, 503}},
	}
}

// send returns a request, every second one without a Content-Length. Each inspection has a node that waits for it.
func (r requests) send(s *server, number int) *http.Request {
	path, body := r.path, r.body
	if strings.HasSuffix(path, "node_uuid=") {
		n, err := s.conductor.CreateNode(s.t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.InspectWait})
		require.NoError(s.t, err)
		path += n.UUID
		body = strings.ReplaceAll(body, "MAC", n.UUID[:2]+":"+n.UUID[2:4]+":"+n.UUID[4:6])
	}
	sent := request(r.method, path, "latest", strings.NewReader(body))
	if number%2 == 1 {
		sent.ContentLength = -1
	}
	return sent
}

// heldAnswer is a client that does not read its answer before the test lets it. Until then its request is in flight.
type heldAnswer struct {
	*httptest.ResponseRecorder
	status chan<- int
	let    <-chan struct{}
}

func (a heldAnswer) WriteHeader(status int) {
	a.status <- status
	<-a.let
}

// TestTheRequestsInFlightAllocateLessThan384MiB multiplies the bytes that one request allocates by the number of such
// requests that can be in flight. The bytes include those that the garbage collector frees before the answer. Another
// request holds five sixths of the memory for bodies, so that few requests suffice.
//
// SECURITY.md: The requests of all clients and agents need less than 384 MiB, and together with the answers of agents
// less than 512 MiB.
func TestTheRequestsInFlightAllocateLessThan384MiB(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	in, let, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	holds := request("PUT", "/v1/nodes/n/states/provision", "latest", &blocked{strings.NewReader(""), in, let})
	holds.ContentLength = 60 << 20 // of 72 MiB
	go func() { s.send(holds); close(done) }()
	<-in
	most := map[string]uint64{} // of agents' heartbeats and inspections, which have memory of their own, and of all others
	for _, c := range attacks(4 << 20) {
		for number := range 2 {
			allocated := uint64(math.MaxUint64)
			for range 3 {
				var before, after runtime.MemStats
				r := c.send(s, number)
				runtime.ReadMemStats(&before)
				s.send(r)
				runtime.ReadMemStats(&after)
				allocated = min(allocated, after.TotalAlloc-before.TotalAlloc)
			}
			if allocated < 16<<10 {
				continue // refused because of its length
			}
			admitted := uint64(0)
			status, let, done := make(chan int), make(chan struct{}), make(chan struct{})
			for last := 0; last != http.StatusServiceUnavailable; admitted++ {
				go func() {
					r := c.send(s, number)
					r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", admitted) // an address has half of an agents' budget
					s.ServeHTTP(heldAnswer{httptest.NewRecorder(), status, let}, r)
					done <- struct{}{}
				}()
				last = <-status
			}
			close(let)
			for range admitted {
				<-done
			}
			t.Logf("%s: %d in flight allocate %d KiB each", c.name, admitted, allocated>>10)
			budget := ""
			for _, path := range []string{"/v1/heartbeat", "/v1/continue_inspection"} {
				if strings.HasPrefix(c.path, path) {
					budget = path
				}
			}
			most[budget] = max(most[budget], admitted*allocated)
		}
	}
	close(let)
	<-done
	require.Len(t, most, 3)
	require.Less(t, most["/v1/heartbeat"]+most["/v1/continue_inspection"]+6*most[""], uint64(384<<20))
}

// SECURITY.md: The requests of all clients and agents need less than 384 MiB, and together with the answers of agents
// less than 512 MiB.
func TestAllClientsTogetherNeedLessThan384MiB(t *testing.T) {
	needs.Chance(t)
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	_, err := s.conductor.CreateNode(t.Context(),
		&conductor.Node{Name: "available", Driver: "fake-hardware", ProvisionState: states.Available})
	require.NoError(t, err)
	const mib = 1 << 20
	attacks := attacks(63 * mib)
	stored := attacks[len(attacks)-1]
	stored.name, stored.path = "a config drive that is stored", "/v1/nodes/available/states/provision"
	stored.clients, stored.want = 1, []int{202}
	attacks = append(attacks, stored)
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
							statuses[i][s.send(c.send(s, client)).status].Add(1)
						}()
					}
				}
				clients.Wait()
			})
			t.Logf("%d MiB", growth/mib)
			require.Less(t, growth, int64(384*mib))
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
