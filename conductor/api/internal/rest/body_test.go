// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/exactjson"
	"github.com/ironstate/ironstate/states"
)

func TestABudgetIsReservedAndReturned(t *testing.T) {
	from := func(b *budget, address string) *Request {
		r := sent("PUT", "", "")
		r.budget, r.RemoteAddr = b, address
		return r
	}
	b := newBudget(10, 7)
	r, same, other := from(b, "192.0.2.1:1"), from(b, "192.0.2.1:2"), from(b, "[2001:db8::1]:1")
	require.NoError(t, r.take(6))
	require.ErrorIs(t, r.take(2), errTooLarge)
	require.ErrorIs(t, same.take(2), errBusy, "the share of its address")
	require.NoError(t, same.take(1))
	require.ErrorIs(t, other.take(4), errBusy)
	require.NoError(t, other.take(3))
	require.ErrorIs(t, other.take(1), errBusy)
	require.EqualValues(t, []int64{6, 1, 3, 0}, []int64{r.held, same.held, other.held, b.left})
	r.free(1)
	require.EqualValues(t, []int64{5, 1}, []int64{r.held, b.left})
	for _, r := range []*Request{other, r, r, same} {
		r.Free()
		require.Zero(t, r.held)
	}
	require.EqualValues(t, 10, b.left)
	require.Empty(t, b.by)
	require.NoError(t, other.take(7))
	new(Request).Free()
}

// body returns a request with a body whose length is known or not.
func body(text string, known bool) *Request {
	r := sent("PUT", "", text)
	if !known {
		r.ContentLength = -1
		r.Body = io.NopCloser(strings.NewReader(text))
	}
	return r
}

func TestABodyIsReadUpToItsLimit(t *testing.T) {
	long := `"` + strings.Repeat("a", 3<<20) + `"`
	small := Limit{100, maxValues, 0, ofClients}
	for name, c := range map[string]struct {
		text  string
		limit Limit
		fault error
	}{
		"as long as the limit":             {`"` + strings.Repeat("a", 98) + `"`, small, nil},
		"longer":                           {`"` + strings.Repeat("a", 99) + `"`, small, errTooLarge},
		"in several chunks":                {long, MaxProvisionBody, nil},
		"as much beside the longest":       {long + strings.Repeat(" ", maxBody-2), MaxProvisionBody, nil},
		"more beside the longest":          {long + strings.Repeat(" ", maxBody-1), MaxProvisionBody, errTooLarge},
		"as many values as may be":         {"[" + strings.Repeat("0,", maxValues-2) + "0]", MaxBody, nil},
		"too many values":                  {"[" + strings.Repeat("0,", maxValues-1) + "0]", MaxBody, errTooMany},
		"as many values of an inspection":  {"[" + strings.Repeat("0,", 10*maxValues-2) + "0]", MaxInspectionBody, nil},
		"too many values of an inspection": {"[" + strings.Repeat("0,", 10*maxValues-1) + "0]", MaxInspectionBody, errTooMany},
		"a text that is not JSON is read":  {"nonsense", MaxBody, nil},
	} {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprint(name, known), func(t *testing.T) {
				r := body(c.text, known)
				got, m, err := r.readBody(c.limit)
				require.ErrorIs(t, err, c.fault)
				if err != nil {
					require.Nil(t, got)
					return
				}
				require.True(t, c.text == string(got))
				require.Equal(t, len(c.text), m.read)
				switch {
				case known:
					require.EqualValues(t, len(c.text)+1, r.held, "it is read at once")
				case len(c.text) >= 4<<10 && c.limit.copies > 0:
					require.Greater(t, r.held, int64(2*len(c.text)), "the chunks are kept, too")
				case len(c.text) >= 4<<10:
					require.EqualValues(t, len(c.text), r.held, "only the joined chunks are kept")
				default:
					require.EqualValues(t, 4<<10, r.held)
				}
			})
		}
	}
}

func TestNoBodyReservesNothing(t *testing.T) {
	for _, none := range []io.ReadCloser{nil, http.NoBody} {
		r := sent("PUT", "", "")
		r.Body, r.ContentLength = none, 0
		got, _, err := r.readBody(MaxBody)
		require.NoError(t, err)
		require.Nil(t, got)
		require.Zero(t, r.held)
		value, err := r.Decode(MaxBody)
		require.NoError(t, err)
		require.Equal(t, map[string]any{}, value)
	}
	r := body("", false)
	r.ContentLength = 0
	value, err := r.Decode(MaxBody)
	require.NoError(t, err)
	require.Equal(t, map[string]any{}, value)
	require.EqualValues(t, 1, r.held, "a length of 0 is known")
}

func TestBodiesOfAgentsHaveBudgetsOfTheirOwn(t *testing.T) {
	for _, test := range []struct {
		limit Limit
		want  func(r *Request) *budget
	}{
		{MaxAgentBody, func(r *Request) *budget { return r.heartbeats }},
		{MaxStrangeBody, func(r *Request) *budget { return r.heartbeats }},
		{MaxInspectionBody, func(r *Request) *budget { return r.inspections }},
		{MaxBody, func(r *Request) *budget { return r.bodies }},
		{MaxProvisionBody, func(r *Request) *budget { return r.bodies }},
	} {
		r := body(`{}`, true)
		_, _, err := r.readBody(test.limit)
		require.NoError(t, err)
		require.Same(t, test.want(r), r.budget, test.limit.bytes)
		require.EqualValues(t, 3, maxBodies+maxHeartbeats+maxInspections-r.bodies.left-r.heartbeats.left-r.inspections.left)
	}
}

// SECURITY.md: What agents send without a password has memory of its own, of which one address has half at most, so
// that inspections that do not arrive keep no heartbeat away.
func TestInspectionsThatDoNotArriveLeaveRoomForOthers(t *testing.T) {
	s := body("", true).Service
	asks := func(address string, limit Limit) error {
		r := NewRequest(s, httptest.NewRequest("POST", "/", strings.NewReader("{}")))
		r.RemoteAddr, r.ContentLength = address, limit.bytes
		_, _, err := r.readBody(limit)
		return err
	}
	for range 10 {
		if err := asks("192.0.2.1:1", MaxInspectionBody); err != nil {
			require.ErrorIs(t, err, errBusy)
		}
		if err := asks("192.0.2.1:1", MaxAgentBody); err != nil {
			require.ErrorIs(t, err, errBusy)
		}
	}
	require.NoError(t, asks("192.0.2.2:1", MaxInspectionBody))
	require.NoError(t, asks("192.0.2.2:1", MaxAgentBody))
}

// SECURITY.md: What agents send without a password has memory of its own, of which one address has half at most, so
// that inspections that do not arrive keep no heartbeat away.
func TestAnIPv6NetworkHasTheShareOfOneAddress(t *testing.T) {
	s := body("", true).Service
	asks := func(address string) error {
		r := NewRequest(s, httptest.NewRequest("POST", "/", strings.NewReader("{}")))
		r.RemoteAddr, r.ContentLength = address, MaxInspectionBody.bytes
		_, _, err := r.readBody(MaxInspectionBody)
		return err
	}
	for i := range 10 {
		if err := asks(fmt.Sprintf("[2001:db8::%d]:1", i)); err != nil {
			require.ErrorIs(t, err, errBusy)
		}
	}
	require.NoError(t, asks("[2001:db8:0:1::1]:1"), "another network")
}

func TestTheLimitsOfBodies(t *testing.T) {
	const kib, mib = 1024, 1024 * 1024
	require.EqualValues(t, []int64{mib, 64 * kib, 4 * kib, 16 * mib, 64 * mib, 72 * mib, 8 * mib, 60 * mib}, []int64{
		MaxBody.bytes, MaxAgentBody.bytes, MaxStrangeBody.bytes, MaxInspectionBody.bytes, MaxProvisionBody.bytes,
		maxBodies, maxHeartbeats, maxInspections,
	})
}

func TestAnUnreadableBodyIsRefused(t *testing.T) {
	r := body("", false)
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"a"`), failing{}))
	_, _, err := r.readBody(MaxBody)
	require.ErrorIs(t, err, errBodyRead)
	r = body(`{}`, true)
	r.heartbeats = newBudget(1, 1)
	_, _, err = r.readBody(MaxAgentBody)
	require.ErrorIs(t, err, errTooLarge)
	r = body(strings.Repeat(" ", 9000), false) // chunks of 4 and 8 KiB
	r.bodies = newBudget(20_000, 20_000)
	_, _, err = r.readBody(MaxBody)
	require.ErrorIs(t, err, errTooLarge, "there is no memory to join the chunks")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestADecodedBodyReservesWhatItNeeds(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	for name, c := range map[string]struct {
		text  string
		fault string
	}{
		"an object":           {`{"a": [1, "b"]}`, ""},
		"as large as MaxBody": {`"` + strings.Repeat("a", maxBody-2) + `"`, ""},
		"larger":              {`"` + strings.Repeat("a", maxBody-1) + `"`, ""},
		"with escapes":        {`"\n` + strings.Repeat("a", 1000) + `"`, ""},
		"as deep as may be":   {nested(maxDepth), ""},
		"deeper":              {nested(maxDepth + 1), "Request body JSON is nested too deeply."},
		"not UTF-8":           {"\"\xff\"", errNotUTF8.Text},
		"not JSON":            {`{`, "The request body is not JSON: unexpected end of JSON input"},
		"out of range":        {`1e999`, "The request body is not JSON: a number is out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			r := body(c.text, true)
			v, err := r.Decode(MaxProvisionBody)
			if c.fault != "" {
				requireFault(t, err, c.fault)
				require.Nil(t, v)
				return
			}
			require.NoError(t, err)
			var want any
			require.NoError(t, exactjson.Unmarshal([]byte(c.text), &want))
			require.Equal(t, want, v)
			m := newMeter()
			m.add([]byte(c.text))
			held := int64(len(c.text)) + 1 + m.memory(int64(len(c.text)))
			if len(c.text) <= maxBody {
				held += int64(len(c.text))
			}
			require.Equal(t, held, r.held)
		})
	}
	r := body(`[0]`, true)
	r.bodies = newBudget(100, 100)
	_, err := r.Decode(MaxBody)
	require.ErrorIs(t, err, errTooLarge, "the body fits, its values do not")
	r = body(`{}`, true)
	r.bound.body, r.bound.bodyKnown = "segment", true
	v, err := r.Decode(MaxBody)
	require.NoError(t, err)
	require.Equal(t, "segment", v)
	require.Zero(t, r.held)
}

func TestTheFiguresOfTheMeasure(t *testing.T) {
	type figures struct {
		depth, longest, start int
		plain                 bool
		values                int
		decoded               int64
	}
	for text, want := range map[string]figures{
		``:                 {0, 0, 0, false, 1, 80},
		`0`:                {0, 0, 0, false, 1, 80},
		`[]`:               {1, 0, 0, false, 2, 80 + 48 + 80},
		`{}`:               {1, 0, 0, false, 2, 80 + 64 + 80},
		`[[],[]]`:          {2, 0, 0, false, 5, 80 + 3*(48+80) + 80},
		`{"ab":1}`:         {1, 2, 2, true, 3, 80 + 64 + 80 + 320 + 16},
		`["a","bcd","ef"]`: {1, 3, 6, true, 4, 80 + 48 + 80 + 2*80 + 3*16 + 1 + 2},
		`["ab","cd"]`:      {1, 2, 2, true, 3, 80 + 48 + 80 + 80 + 2*16 + 2},
		`"a\"b"`:           {0, 4, 1, false, 1, 80 + 16},
		`"a\\"`:            {0, 3, 1, false, 1, 80 + 16},
		"\"a\x1fb\"":       {0, 3, 1, false, 1, 80 + 16},
		`"a b"`:            {0, 3, 1, true, 1, 80 + 16},
		`["\n","abc"]`:     {1, 3, 7, true, 3, 80 + 48 + 80 + 80 + 2*16 + 2},
		`["[{,:}]"]`:       {1, 6, 2, true, 2, 80 + 48 + 80 + 16},
		`]]`:               {0, 0, 0, false, 1, 80},
	} {
		for cut := range len(text) + 1 {
			m := newMeter()
			m.add([]byte(text[:cut]))
			m.add([]byte(text[cut:]))
			require.Equal(t, want, figures{m.depth, m.longest, m.start, m.plain, m.values, m.decoded}, "%s cut at %d", text, cut)
			require.Equal(t, len(text), m.read)
		}
	}
}

func TestTheLongestTextIsNotCounted(t *testing.T) {
	for text, want := range map[string]int64{`"abc"`: 2, `"abc`: 1, `["abcd","ab`: 7, `["ab","abcd`: 7, `[1,2]`: 5} {
		m := newMeter()
		m.add([]byte(text))
		require.Equal(t, want, m.withoutLongest(int64(len(text))), text)
	}
	for text, want := range map[string]struct {
		memory int64
		rest   string
	}{
		`["abcdefgh"]`:  {80 + 48 + 80 + 16, `[""]`},
		`["abcdefg\n"]`: {80 + 48 + 80 + 16 + 9, `["abcdefg\n"]`},
		`["abcd"]`:      {80 + 48 + 80 + 16 + 4, `["abcd"]`},
		`["abcde"]`:     {80 + 48 + 80 + 16, `[""]`},
	} {
		m := newMeter()
		m.add([]byte(text))
		require.Equal(t, want.memory, m.memory(int64(len(text))), text)
		require.Equal(t, want.rest, string(m.withoutPlainText([]byte(text))), text)
	}
	for _, c := range []struct {
		length, total int
		most          bool
	}{{5, 10, false}, {6, 10, true}, {4, 9, false}, {5, 9, true}, {0, 0, false}} {
		require.Equal(t, c.most, isMostOf(c.length, c.total))
	}
}

// TestTheLongestTextSharesTheMemoryOfTheBody changes the body after it has been decoded.
func TestTheLongestTextSharesTheMemoryOfTheBody(t *testing.T) {
	for text, shared := range map[string]bool{`["abcdefgh"]`: true, `["abcd"]`: false} {
		body := []byte(text)
		d := decoder{text: body}
		v := d.value().([]any)[0].(string)
		copied := strings.Clone(v)
		copy(body, bytes.ToUpper(body))
		require.Equal(t, shared, v != copied, text)
	}
}

func TestOldSeriesTakeDeeperBodies(t *testing.T) {
	for series, depth := range map[states.Series]int{states.Antelope: 900, states.Flamingo: 900, states.Gazpacho: 25, states.Latest(): 25} {
		for _, more := range []int{0, 1} {
			r := body(strings.Repeat("[", depth+more)+strings.Repeat("]", depth+more), true)
			r.Series = series
			_, err := r.Decode(MaxBody)
			require.Equal(t, more == 1, errors.Is(err, errTooDeep), "%v %d", series, depth+more)
		}
	}
}
