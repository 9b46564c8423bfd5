// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestBadBodies(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		fault                    string
	}{
		{"no JSON", "POST", "/v1/nodes", `{`, 400, "The request body is not JSON: unexpected end of JSON input"},
		{"a byte order mark", "PATCH", "/v1/nodes/n", "\ufeff" + `[{"op": "add", "path": "/extra/a", "value": 1}]`, 200, ""},
		{"a byte order mark and a long text", "PATCH", "/v1/nodes/n",
			"\ufeff" + `[{"op": "add", "path": "/extra/a", "value": "` + strings.Repeat("a", 1000) + `"}]`, 200, ""},
		{"two byte order marks", "PATCH", "/v1/nodes/n", "\ufeff\ufeff[]", 400, "The request body is not JSON: invalid character 'ï'"},
		{"two values", "POST", "/v1/nodes", `{} {}`, 400, "The request body is not JSON: invalid character '{' after top-level value"},
		{"a number out of range", "POST", "/v1/nodes", `1e999`, 400, "The request body is not JSON: a number is out of range"},
		{"null", "POST", "/v1/nodes", `null`, 400, "Schema error for node: None is not of type 'object'"},
		{"deep", "POST", "/v1/nodes", `{"driver": "fake-hardware", "extra": {"a": ` + deep + `}}`, 400,
			"Request body JSON is nested too deeply."},
		{"deep patch", "PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/extra/a", "value": ` + deep + `}]`, 400,
			"Request body JSON is nested too deeply."},
		{"brackets in a text", "PATCH", "/v1/nodes/n",
			`[{"op": "add", "path": "/extra/a", "value": "\"` + strings.Repeat("[", 100) + `"}]`, 200, ""},
		{"not UTF-8", "POST", "/v1/nodes", "{\"driver\": \"\xff\"}", 400, "The request body is not UTF-8."},
		{"too large", "POST", "/v1/nodes", `"` + strings.Repeat("a", 1<<20) + `"`, 413, "Request body is too large."},
		{"as large as may be", "POST", "/v1/nodes", `"` + strings.Repeat("a", 1<<20-2) + `"`, 400,
			"Schema error for node: '" + strings.Repeat("a", 4096) + "...' is not of type 'object'"},
		{"a large config drive", "PUT", "/v1/nodes/n/states/provision",
			`{"target": "x", "configdrive": "` + strings.Repeat("a", 2<<20) + `"}`, 400, "The requested action \"x\" can not be performed on node"},
		{"no patch", "PATCH", "/v1/nodes/n", `{}`, 400, "Schema error for patch: {} is not of type 'array'"},
		{"as many operations as may be", "PATCH", "/v1/nodes/n",
			"[" + strings.Repeat(`{"op": "add", "path": "/extra/b", "value": 1},`, 999) + `{"op": "remove", "path": "/extra/b"}]`, 200, ""},
		{"too many operations", "PATCH", "/v1/nodes/n",
			"[" + strings.Repeat(`{"op": "add", "path": "/extra/b", "value": 1},`, 1000) + `{"op": "remove", "path": "/extra/b"}]`,
			400, "A patch has at most 1000 operations, this one has 1001."},
		{"no operation", "PATCH", "/v1/nodes/n", `[5]`, 400, "Schema error for patch: 5 is not of type 'object'"},
		{"a path that is a number", "PATCH", "/v1/nodes/n", `[{"op": "add", "path": 5}]`, 400,
			"Schema error for patch: 5 is not of type 'string'"},
		{"an index out of range", "PATCH", "/v1/nodes/n",
			`[{"op": "add", "path": "/extra/l", "value": []}, {"op": "add", "path": "/extra/l/99999999999999999999", "value": 1}]`,
			400, "Couldn't apply patch '{'op': 'add', 'path': '/extra/l/99999999999999999999', 'value': 1}'. " +
				"Reason: '99999999999999999999' is not a valid sequence index"},
		{"an index with a zero", "PATCH", "/v1/nodes/n",
			`[{"op": "add", "path": "/extra/m", "value": [1]}, {"op": "replace", "path": "/extra/m/00", "value": 2}]`, 200, ""},
		{"an index with a sign", "PATCH", "/v1/nodes/n",
			`[{"op": "add", "path": "/extra/m", "value": [1]}, {"op": "replace", "path": "/extra/m/-0", "value": 2}]`, 400,
			"Couldn't apply patch '{'op': 'replace', 'path': '/extra/m/-0', 'value': 2}'. Reason: '-0' is not a valid sequence index"},
		{"a path into null", "PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/description/a", "value": 1}]`, 400,
			"Couldn't apply patch '{'op': 'add', 'path': '/description/a', 'value': 1}'. " +
				"Reason: Document '<class 'NoneType'>' does not support indexing, must be mapping/sequence or support __getitem__"},
		{"many unknown fields", "POST", "/v1/nodes", manyFields(1000), 400, "Schema error for node: Additional properties are not allowed ('f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.t = t
			a := s.do(c.method, c.path, "latest", c.body)
			require.Equal(t, c.status, a.status, a.body)
			require.Less(t, len(a.body), 20000)
			if c.fault != "" {
				require.True(t, strings.HasPrefix(a.fault(), c.fault), a.fault())
			}
		})
	}
}

func manyFields(n int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range n {
		b.WriteString(`"f` + strings.Repeat("x", i%200) + strings.Repeat("y", i/200) + `": 1, `)
	}
	return b.String() + `"driver": "fake-hardware"}`
}

func TestBadPaths(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	for path, status := range map[string]int{
		"/v1/nodes/\xff":                        400,
		"/v1/nodes?fields=%ff":                  400,
		"/v1/nodes?%":                           400,
		"/v1/nodes/a b":                         400,
		"/v1/nodes/a\x00b":                      400,
		"/v1/nodes/" + strings.Repeat("a", 300): 400,
		"/v1/nodes/":                            200,
		"/v1/nodes//":                           400,
		"///":                                   200,
		"/v1/nodes/a/b/c/d/e":                   404,
		"/v1/ports/x":                           404,
		"/v1/ports.json?marker=00000000-0000-0000-0000-000000000000": 404,
		"/v1/ports/a b":                     400,
		"/v1/chassis/x":                     400,
		"/v1/" + strings.Repeat("x/", 1000): 404,
		"/v1/nodes/x/states/provision":      404,
		"/v1/nodes/x/maintenance":           405,
		"/v1/portgroups/\n":                 400,
	} {
		a := s.do("GET", path, "latest", "")
		require.Equal(t, status, a.status, "%q: %s", path, a.body)
	}
}

// endless is an infinite body that counts the bytes read from it.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	return copy(b, bytes.Repeat([]byte("a"), len(b))), nil
}

// SECURITY.md: Heartbeats are limited to 64 KiB.
func TestABodyWithoutLengthIsReadNoFurtherThanItsLimit(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	body := &endless{}
	r := request("POST", "/v1/nodes", "latest", body)
	r.ContentLength = -1
	require.Equal(t, http.StatusRequestEntityTooLarge, s.send(r).status)
	require.Less(t, body.read, 2<<20)

	body = &endless{}
	r = request("POST", "/v1/nodes", "latest", body)
	r.ContentLength = 1 << 40
	require.Equal(t, http.StatusRequestEntityTooLarge, s.send(r).status)
	require.Zero(t, body.read, "a length that is too large is refused at once")

	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	body = &endless{}
	r = request("POST", "/v1/heartbeat/n", "latest", body)
	r.ContentLength = -1
	require.Equal(t, http.StatusRequestEntityTooLarge, s.send(r).status)
	require.Less(t, body.read, 128<<10)
}

func TestABodyIsReadNoFurtherThanAConfigDriveNeeds(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	body := &endless{}
	r := request("PUT", "/v1/nodes/n/states/provision", "latest",
		io.MultiReader(strings.NewReader(`{"configdrive": "`), io.LimitReader(body, 9<<20), strings.NewReader(`", "clean_steps": [`), body))
	r.ContentLength = -1
	require.Equal(t, http.StatusRequestEntityTooLarge, s.send(r).status)
	require.Less(t, body.read, 12<<20, "the config drive and 1 MiB")
}

// TestABodyHasAtMost10000Values bounds the work for a request by the number of values in its body.
//
// SECURITY.md: A body has at most 10,000 values, and one with inspection data at most 100,000.
func TestABodyHasAtMost10000Values(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	for path, body := range map[string]string{
		"POST /v1/nodes":                     `{"driver": "fake-hardware", "name": "m", "extra": {"a": [%s]}}`,
		"PATCH /v1/nodes/n":                  `[{"op": "add", "path": "/extra/a", "value": [%s]}]`,
		"PUT /v1/nodes/n/states/provision":   `{"target": "clean", "clean_steps": [%s]}`,
		"PUT /v1/nodes/n/states/raid":        `{"logical_disks": [%s]}`,
		"PUT /v1/nodes/n/states/power":       `{"target": [%s]}`,
		"PUT /v1/nodes/n/traits":             `{"traits": [%s]}`,
		"POST /v1/nodes/n/vifs":              `{"id": "a", "b": [%s]}`,
		"POST /v1/nodes/n/vendor_passthru/x": `[%s]`,
		"POST /v1/ports":                     `{"extra": {"a": [%s]}}`,
		"POST /v1/portgroups":                `[%s]`,
		"POST /v1/chassis":                   `{"extra": {"a": [%s]}}`,
		"POST /v1/volume/targets":            `[%s]`,
		"POST /v1/deploy_templates":          `{"name": "CUSTOM_A", "steps": [%s]}`,
		"POST /v1/runbooks":                  `{"name": "CUSTOM_A", "steps": [%s]}`,
		"POST /v1/allocations":               `{"resource_class": "a", "candidate_nodes": [%s]}`,
		"POST /v1/heartbeat/n":               `{"callback_url": [%s]}`,
	} {
		method, path, _ := strings.Cut(path, " ")
		for name, part := range map[string]string{"members": `{"":0}`, "lists": "[]", "texts": `""`} {
			many := strings.TrimSuffix(strings.Repeat(part+",", 3_500), ",")
			if name != "members" {
				many = strings.TrimSuffix(strings.Repeat(part+",", 10_001), ",")
			}
			a := s.do(method, path, "latest", fmt.Sprintf(body, many))
			require.Equal(t, http.StatusRequestEntityTooLarge, a.status, "%s %s %s: %s", method, path, name, a.body)
			require.Equal(t, "Request body has too many values.", a.fault())
		}
	}
	nodes := s.do("GET", "/v1/nodes", "latest", "").must(http.StatusOK)["nodes"]
	require.Len(t, nodes, 1)
	s.do("PATCH", "/v1/nodes/n", "latest",
		`[{"op": "add", "path": "/extra/a", "value": [`+strings.Repeat("0,", 9_980)+`0]}]`).must(http.StatusOK)

	for values, status := range map[int]int{99_000: http.StatusNotFound, 100_000: http.StatusRequestEntityTooLarge} {
		a := s.do("POST", "/v1/continue_inspection", "latest", fmt.Sprintf(
			`{"inventory": {"interfaces": [{"mac_address": "52:54:00:00:00:01"}]}, "x": [%s0]}`, strings.Repeat("0,", values)))
		require.Equal(t, status, a.status, a.body)
	}
}

// TestInspectionDataDoNotReachAllLimitsAtOnce has the numbers that the package comment gives. An address has 30 MiB for
// inspection data, with ten copies of all but the logs.
func TestInspectionDataDoNotReachAllLimitsAtOnce(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	const (
		mib         = 1 << 20
		plain       = "aaaaaaaa"
		escaped     = `\u0061aa`
		head        = `{"inventory": {"interfaces": [{"mac_address": "52:54:00:00:00:01"}]}, `
		admitted    = http.StatusNotFound // no node has the address
		refused     = http.StatusRequestEntityTooLarge
		known, none = true, false // Content-Length
	)
	for _, c := range []struct {
		values, members, beside, logs int
		text                          string
		length                        bool
		want                          int
	}{
		{0, 7_000, mib, 15 * mib, plain, known, admitted},
		{0, 12_000, mib, 15 * mib, plain, known, refused},
		{30_000, 0, mib, 15 * mib, plain, known, admitted},
		{60_000, 0, mib, 15 * mib, plain, known, refused},
		{99_000, 0, 0, 15 * mib, plain, known, admitted},
		{0, 35_000, mib, 0, plain, known, admitted},
		{0, 35_000, mib, 0, plain, none, admitted},
		{0, 46_000, mib, 0, plain, known, refused},
		{0, 0, 0, 13 * mib, plain, none, admitted},
		{0, 0, 0, 15 * mib, plain, none, refused},
		{0, 0, 0, 13 * mib, escaped, known, admitted},
		{0, 0, 0, 15 * mib, escaped, known, refused},
		{0, 0, mib, 7 * mib, plain, none, admitted},
		{0, 0, mib, 7 * mib, escaped, known, admitted},
		{0, 0, mib, 10 * mib, plain, none, refused},
		{0, 0, mib, 10 * mib, escaped, known, refused},
	} {
		var b strings.Builder
		b.WriteString(head + `"values": [0` + strings.Repeat(",0", c.values) + `], "members": {"": 0`)
		for i := range c.members {
			fmt.Fprintf(&b, `,"%d":0`, i)
		}
		// Short texts, so that the logs are the longest one.
		b.WriteString(`}, "texts": [""`)
		for b.Len() < c.beside-4<<10 {
			b.WriteString(`,"` + strings.Repeat("a", 2<<10) + `"`)
		}
		b.WriteString(`], "logs": "` + strings.Repeat(c.text, max(c.logs/len(c.text)-16, 0)) + `"}`)
		r := request("POST", "/v1/continue_inspection", "latest", strings.NewReader(b.String()))
		if !c.length {
			r.ContentLength = -1
		}
		a := s.send(r)
		require.Equal(t, c.want, a.status, "%+v: %s", c, a.body)
	}
}

func TestAConfigDriveWithoutItsLengthIsSmaller(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	for length, status := range map[int]int{30 << 20: http.StatusNotFound, 40 << 20: http.StatusRequestEntityTooLarge} {
		drive := io.MultiReader(strings.NewReader(`{"target": "active", "configdrive": "`), io.LimitReader(&endless{}, int64(length)),
			strings.NewReader(`"}`))
		r := request("PUT", "/v1/nodes/n/states/provision", "latest", drive)
		r.ContentLength = -1
		require.Equal(t, status, s.send(r).status, length)
	}
}

func TestATruncatedBodyIsABadRequest(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	r := request("POST", "/v1/nodes", "latest", io.MultiReader(strings.NewReader(`{"driver"`), broken{}))
	a := s.send(r)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, "The request body could not be read.", a.fault())
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// blocked is a body whose end is delayed: after head, Read signals on in and waits for let.
type blocked struct {
	head io.Reader
	in   chan<- struct{}
	let  <-chan struct{}
}

func (b *blocked) Read(p []byte) (int, error) {
	if n, err := b.head.Read(p); err == nil {
		return n, nil
	}
	b.in <- struct{}{}
	<-b.let
	return 0, io.EOF
}

// SECURITY.md: The memory for the bodies of all requests is bounded, and further requests get 503.
func TestAllBodiesTogetherAreBounded(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	in, let, done := make(chan struct{}), make(chan struct{}), make(chan int)
	const clients, each = 2, 34 << 20 // of 72 MiB
	for range clients {
		go func() {
			body := &blocked{head: io.MultiReader(strings.NewReader(`"`), io.LimitReader(&endless{}, each)), in: in, let: let}
			r := request("PUT", "/v1/nodes/n/states/provision", "latest", body)
			r.ContentLength = each + 1
			done <- s.send(r).status
		}()
		<-in
	}
	r := request("PUT", "/v1/nodes/n/states/provision", "latest", io.MultiReader(strings.NewReader(`"`), io.LimitReader(&endless{}, 16<<20)))
	r.ContentLength = -1
	a := s.send(r)
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, "Too many large requests at once, please try again later.", a.fault())
	require.Equal(t, "1", a.header.Get("Retry-After"))
	r = request("POST", "/v1/heartbeat/n", "latest", io.LimitReader(&endless{}, 4<<10))
	require.Equal(t, http.StatusBadRequest, s.send(r).status, "agents have memory of their own")

	close(let)
	for range clients {
		require.Equal(t, http.StatusBadRequest, <-done, "the text does not end")
	}
	r = request("PUT", "/v1/nodes/n/states/provision", "latest", io.MultiReader(strings.NewReader(`"`), io.LimitReader(&endless{}, 16<<20)))
	require.Equal(t, http.StatusBadRequest, s.send(r).status, "what they held is free again")
}

// exploding panics when it is read.
type exploding struct{}

func (exploding) Read([]byte) (int, error) { panic("the secret is hunter2") }

func TestAPanicIsNotDisclosed(t *testing.T) {
	var log bytes.Buffer
	s := start(t, states.Latest(), api.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	a := s.send(request("POST", "/v1/nodes", "latest", exploding{}))
	require.Equal(t, http.StatusInternalServerError, a.status)
	require.Equal(t, "Internal server error.", a.fault())
	require.NotContains(t, a.body, "hunter2")
	require.Contains(t, log.String(), "a request panicked")
	require.NotContains(t, log.String(), "hunter2")
	require.Equal(t, http.StatusOK, s.do("GET", "/v1/nodes", "latest", "").status, "others are answered")
}

func TestANodeHas50TraitsAtMost(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	uuid := s.create(`{"driver": "fake-hardware", "name": "n"}`)
	traits := make([]string, 51)
	for i := range traits {
		traits[i] = fmt.Sprintf(`"CUSTOM_%d"`, i)
	}
	body := func(n int) string { return `{"traits": [` + strings.Join(traits[:n], ",") + `]}` }
	const refused = " as it would exceed the maximum number of traits per node (51 vs. 50)"
	require.Equal(t, "Could not modify traits for node "+uuid+refused, s.do("PUT", "/v1/nodes/n/traits", "latest", body(51)).fault())
	require.Equal(t, http.StatusNoContent, s.do("PUT", "/v1/nodes/n/traits", "latest", body(50)).status)
	require.Equal(t, http.StatusNoContent, s.do("PUT", "/v1/nodes/n/traits/CUSTOM_0", "latest", "").status, "it has this one")
	require.Equal(t, "Could not modify traits for node "+uuid+refused, s.do("PUT", "/v1/nodes/n/traits/CUSTOM_50", "latest", "").fault())
}
