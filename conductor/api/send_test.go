// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// counter is a [http.ResponseWriter] that counts the bytes and the writes of a response.
type counter struct {
	header        http.Header
	bytes, pieces int
	largest       int
}

func (c *counter) Header() http.Header {
	if c.header == nil {
		c.header = http.Header{}
	}
	return c.header
}

func (c *counter) WriteHeader(int) {}

func (c *counter) Write(b []byte) (int, error) {
	c.bytes += len(b)
	c.pieces++
	c.largest = max(c.largest, len(b))
	return len(b), nil
}

// fill creates a thousand nodes.
func (s *server) fill() {
	for i := range 1000 {
		s.create(fmt.Sprintf(`{"driver": "fake-hardware", "name": "n%d", "driver_info": {"ipmi_address": "10.0.0.1", `+
			`"ipmi_password": "x"}, "properties": {"cpus": 4}}`, i))
	}
}

func TestALargeResponseIsStreamedAndASmallOneHasContentLength(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.fill()
	var c counter
	s.ServeHTTP(&c, request("GET", "/v1/nodes/detail", "latest", http.NoBody))
	require.Greater(t, c.bytes, 2<<20)
	require.Greater(t, c.pieces, 20)
	require.Less(t, c.largest, 64<<10)
	require.Empty(t, c.header.Get("Content-Length"))

	all := s.do("GET", "/v1/nodes/detail", "latest", "")
	require.Len(t, all.must(http.StatusOK)["nodes"], 1000)
	require.Equal(t, "application/json", all.header.Get("Content-Type"))
	require.Len(t, all.body, c.bytes)
	one := s.do("GET", "/v1/nodes/n1", "latest", "")
	require.Equal(t, strconv.Itoa(len(one.body)), one.header.Get("Content-Length"))
}

// TestAnswersCostLittleMemory bounds the memory that a request allocates. The measurement
// includes the few bytes of the counter.
func TestAnswersCostLittleMemory(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.fill()
	for _, test := range []struct {
		path          string
		allocs, bytes uint64
	}{
		{"/v1/nodes/n500", 60, 16 << 10},
		{"/v1/nodes", 100, 64 << 10},
		{"/v1/nodes/detail", 12000, 1 << 20}, // about seven per node, for masked secrets
	} {
		r := request("GET", test.path, "latest", http.NoBody)
		do := func() { s.ServeHTTP(&counter{}, r) }
		do()
		allocs, bytes := uint64(math.MaxUint64), uint64(math.MaxUint64)
		for range 20 { // use the minimum, since the race detector empties a sync.Pool at random
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			do()
			runtime.ReadMemStats(&after)
			allocs, bytes = min(allocs, after.Mallocs-before.Mallocs), min(bytes, after.TotalAlloc-before.TotalAlloc)
		}
		require.LessOrEqual(t, allocs, test.allocs, "allocations of GET %s", test.path)
		require.LessOrEqual(t, bytes, test.bytes, "bytes allocated by GET %s", test.path)
	}
}

// bomb is a value that panics in MarshalJSON once armed is set.
type bomb struct{ armed *atomic.Bool }

func (b bomb) MarshalJSON() ([]byte, error) {
	if b.armed.Load() {
		panic("the secret is hunter2")
	}
	return json.Marshal("harmless")
}

func TestAPanicWhileAResponseIsStreamedAbortsIt(t *testing.T) {
	var log bytes.Buffer
	s := start(t, states.Latest(), api.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	s.fill()
	var armed atomic.Bool
	a := s.do("GET", "/v1/nodes/"+s.bomb(&armed), "latest", "")
	require.Equal(t, http.StatusInternalServerError, a.status, "nothing was sent before")
	require.Equal(t, "Internal server error.", a.fault())
	require.Contains(t, log.String(), "a request panicked")
	require.NotContains(t, log.String(), "hunter2")
	log.Reset()

	r := request("GET", "/v1/nodes/detail?marker="+s.first(), "latest", http.NoBody)
	require.PanicsWithError(t, http.ErrAbortHandler.Error(), func() { s.ServeHTTP(&counter{}, r) })
	require.NotContains(t, a.body, "hunter2")
	require.Contains(t, log.String(), "a request panicked")
	require.Equal(t, http.StatusOK, s.do("GET", "/v1/nodes/n1", "latest", "").status, "others are answered")
}

// bomb creates a node with a bomb, arms it and returns the node's UUID. The conductor may read a
// node back from its store before it keeps the value that CreateNode was given, and the store
// has no bombs: such a node is deleted and created again.
func (s *server) bomb(armed *atomic.Bool) string {
	for {
		n, err := s.conductor.CreateNode(s.t.Context(), &conductor.Node{
			Name: "last", Driver: "fake-hardware", ProvisionState: states.Enroll, Extra: map[string]any{"bomb": bomb{armed}},
		})
		require.NoError(s.t, err)
		kept, err := s.conductor.Node(s.t.Context(), n.UUID)
		require.NoError(s.t, err)
		if _, ok := kept.Extra["bomb"].(bomb); ok {
			armed.Store(true)
			return n.UUID
		}
		require.NoError(s.t, s.conductor.DeleteNode(s.t.Context(), n.UUID))
	}
}

// first returns the UUID of the oldest node.
func (s *server) first() string {
	nodes := s.do("GET", "/v1/nodes?limit=1", "latest", "").must(http.StatusOK)["nodes"].([]any)
	return nodes[0].(map[string]any)["uuid"].(string)
}
