// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/retry"
)

func TestARefusedRequestIsSentAgainAfterAMessageOrAStatus(t *testing.T) {
	const busy = `{"error": {"code": "IDRAC.2.8.SYS518"}}`
	for _, test := range []struct {
		method string
		status int
		body   string
		repeat []int
		want   int // attempts
	}{
		{"PATCH", 400, busy, nil, 8},
		{"POST", 503, "iLO.2.16.UnableToModifyDuringSystemPOST", []int{503}, 16},
		{"POST", 400, `{"MessageArgs": ["Power is off"], "MessageId": "iLO.2.16.InvalidOperationForSystemState"}`, nil, 1},
		{"POST", 400, `{"MessageArgs": ["Power is on"], "MessageId": "iLO.2.16.InvalidOperationForSystemState"}`, nil, 1},
		{"DELETE", 409, "InvalidOperationForSystemState", nil, 8},
		{"PATCH", 401, busy, []int{401}, 1},
		{"POST", 403, "InvalidOperationForSystemState", nil, 1},
		{"PATCH", 399, busy, []int{399}, 1},
		{"GET", 400, busy, []int{400}, 1},
		{"GET", 400, "IDRAC.1.6.SWC0700", nil, 8},
		{"GET", 500, "IDRAC.2.9.RAC0508", nil, 3},
		{"GET", 400, "IDRAC.2.9.RAC0508", nil, 1},
		{"GET", 503, "IDRAC.2.9.RAC0508", nil, 10},
		{"GET", 401, "IDRAC.1.6.SWC0700", nil, 1},
		{"GET", 200, "IDRAC.1.6.SWC0700", nil, 1},
		{"PATCH", 400, "IDRAC.2.9.RAC0508", nil, 8},
		{"POST", 400, "IDRAC.1.6.SWC0700", nil, 8},
		{"GET", 503, "other", nil, 10},
		{"GET", 500, "other", nil, 3},
		{"GET", 501, "other", nil, 1},
		{"GET", 503, `{"error": {"code": "Ami.1.0.HMCCommuicationFailed"}}`, nil, 1},
		{"GET", 401, "other", nil, 1},
		{"GET", 404, "other", nil, 1},
		{"PATCH", 503, "other", nil, 1},
		{"PATCH", 503, "other", []int{503}, 10},
		{"POST", 503, "other", []int{503}, 3},
		{"POST", 409, "other", []int{503, 409}, 3},
		{"POST", 409, "other", []int{503}, 1},
		{"POST", 409, "other", nil, 1},
		{"POST", 409, "Base.1.18.ActionParameterValueConflict", []int{409}, 22},
		{"POST", 409, "ActionParameterValueConflict", nil, 1},
		{"POST", 400, "ActionParameterValueConflict", []int{400, 409}, 3},
		{"POST", 400, "other", []int{400}, 3},
	} {
		f := failed{request: Request{Method: test.method, Repeat: test.repeat}, answer: &Answer{Status: test.status, Body: []byte(test.body)}}
		require.Equal(t, test.want, f.attempts(), "%+v", test)
	}
}

// Some BMCs answer 500 for many parts, and the time of a call is to suffice for the others.
func TestALastingServerErrorIsWaitedForOnceAnOperation(t *testing.T) {
	for code, want := range map[int]int{500: 3, 503: 10, 501: 1} {
		s := start(t, status(code))
		c := s.client(func(c *Config) { c.MaxRequests = 100 })
		for range 2 {
			for _, attempts := range []int{want, 1, 1} {
				_, _, err := c.Get(t.Context(), "/a")
				require.Error(t, err)
				require.Len(t, s.seen(), attempts, code)
			}
			c.Begin()
		}
	}
	failing := 2
	s := start(t, func(w http.ResponseWriter, _ *http.Request) {
		if failing--; failing >= 0 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		object(w, "{}")
	})
	c := s.client()
	for range 2 {
		_, _, err := c.Get(t.Context(), "/a")
		require.NoError(t, err, "it passes, and so may the next one")
		failing = 2
	}
}

// A part that can never be read is no reason to give up another one that is only busy.
func TestALastingServerErrorIsNoOtherOne(t *testing.T) {
	busy := 1
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case busy > 0:
			busy--
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			object(w, "{}")
		}
	})
	c := s.client()
	for _, attempts := range []int{3, 1} {
		_, _, err := c.Get(t.Context(), "/broken")
		require.Error(t, err)
		require.Len(t, s.seen(), attempts)
		_, _, err = c.Get(t.Context(), "/busy")
		require.NoError(t, err)
		require.Len(t, s.seen(), 2)
		busy = 1
	}
}

func TestAReadWhosePasswordIsNotProvenIsNotSentAgain(t *testing.T) {
	f := failed{request: Request{Method: http.MethodGet}, answer: &Answer{Status: 400, Body: []byte("SWC0700")}, unproven: true}
	require.Equal(t, 1, f.attempts())
}

func TestARequestThatTheBMCHasNotReceivedIsSentAgain(t *testing.T) {
	unknown := classify(fmt.Errorf("dial: %w", &net.DNSError{IsNotFound: true}))
	for name, test := range map[string]struct {
		failed
		want int // attempts
	}{
		"no connection":             {failed{err: &failure.Error{Kind: verify.Unreachable}}, 10},
		"no answer of the resolver": {failed{err: classify(fmt.Errorf("dial: %w", &net.DNSError{}))}, 10},
		"the host does not exist":   {failed{err: failure.Of(unknown)}, 1},
		"there was an answer":       {failed{answer: &Answer{Status: 400}, err: &failure.Error{Kind: verify.Unreachable}}, 1},
		"it was cut":                {failed{err: classify(io.ErrUnexpectedEOF)}, 1},
	} {
		test.request.Method = http.MethodPost
		require.Equal(t, test.want, test.attempts(), name)
	}
	require.Equal(t, verify.Unreachable, failure.KindOf(unknown))
}

func TestARefusedConnectionIsRepeatedUnlessThereIsAnotherProtocol(t *testing.T) {
	s := start(t, nil)
	for alternative, want := range map[bool]int{false: 9, true: 0} {
		repeated := 0
		ctx := retry.WithNote(t.Context(), func(int, error) { repeated++ })
		_, _, err := s.client(nowhere, func(c *Config) { c.Alternative = alternative }).Get(ctx, "/a")
		require.Equal(t, verify.Unreachable, kindOf(t, err))
		require.Equal(t, want, repeated)
	}
	s = start(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	_, _, err := s.client(func(c *Config) { c.Alternative = true }).Get(t.Context(), "/a")
	require.Error(t, err)
	require.Len(t, s.seen(), 10, "it has Redfish")
}

// dated is a context with a deadline that does not end by itself.
type dated struct {
	context.Context
	deadline time.Time
}

func (d dated) Deadline() (time.Time, bool) { return d.deadline, true }

func TestAChangeIsSentUntilTheBMCIsNoLongerBusy(t *testing.T) {
	for _, test := range []struct {
		refusals, requests int
		busy               time.Duration
		ok                 bool
	}{
		{0, 1, 0, true}, {2, 3, 0, true}, {7, 8, 0, true}, {8, 8, 0, false}, {1, 1, time.Hour, false},
	} {
		left := test.refusals
		s := start(t, func(w http.ResponseWriter, _ *http.Request) {
			if left--; left >= 0 {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, "SYS518")
			}
		})
		ctx := dated{t.Context(), time.Now().Add(30 * time.Minute)}
		err := s.client(func(c *Config) { c.Pause = test.busy }).Delete(ctx, "/a")
		require.Equal(t, slices.Repeat([]string{"DELETE /a"}, test.requests), s.seen())
		if test.ok {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, verify.Protocol, kindOf(t, err))
	}
}

func TestAChangeWhoseConditionIsRefusedHasAnother(t *testing.T) {
	for _, test := range []struct {
		tag     string
		refusal int
		refuses string // the refused conditions
		want    string // the conditions, in order
		ok      bool
	}{
		{`W/"7"`, 412, "", `W/"7"`, true},
		{`W/"7"`, 412, `W/"7"`, `W/"7" "7"`, true},
		{`W/"7"`, 412, `W/"7" "7"`, `W/"7" "7" -`, true},
		{`"7"`, 412, `"7"`, `"7" -`, true},
		{`"7"`, 412, `"7" -`, `"7" -`, false},
		{`"7"`, 428, `"7" -`, `"7" - *`, true},
		{`"7"`, 400, `"7"`, `"7"`, false},
		{"", 428, "-", "- *", true},
		{"", 428, "- *", "- *", false},
	} {
		var seen []string
		s := start(t, func(w http.ResponseWriter, r *http.Request) {
			condition := r.Header.Get("If-Match")
			if condition == "" {
				condition = "-"
			}
			seen = append(seen, condition)
			if slices.Contains(strings.Fields(test.refuses), condition) {
				w.WriteHeader(test.refusal)
			}
		})
		read := &Answer{Request: Request{Path: "/a"}, Header: http.Header{"Etag": {test.tag}}}
		err := s.client().Change(t.Context(), read, map[string]int{"a": 1})
		require.Equal(t, test.want, strings.Join(seen, " "), "%+v", test)
		require.Equal(t, test.ok, err == nil, "%v", err)
	}
}

func TestAChangeWithoutAnAnswerIsNotSentAgain(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, _ *http.Request) { raw(w, "") })
	require.Error(t, s.client().Change(t.Context(), &Answer{Request: Request{Path: "/a"}}, struct{}{}))
	require.Equal(t, []string{"PATCH /a"}, s.seen())
}
