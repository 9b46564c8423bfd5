// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

func TestIdentifiers(t *testing.T) {
	const digits = "0123456789abcdefABCDEF0123456789"
	for text, is := range map[string][]bool{ // MAC, UUID, name
		"":                            {false, false, false},
		"00:99:aa:ff:AA:FF":           {true, false, false},
		"00:99:aa:ff:AA:FG":           {false, false, false},
		"00:99:aa:ff:AA:F/":           {false, false, false},
		"00:99:aa:ff:AA:F`":           {false, false, false},
		"00:99:aa:ff:AA:F@":           {false, false, false},
		"00:99:aa:ff:AA-FF":           {false, false, false},
		"00:99:aa:ff:AA:F":            {false, false, false},
		"00:99:aa:ff:AA:FFF":          {false, false, false},
		digits:                        {false, true, true},
		"{" + digits + "}":            {false, true, false},
		"urn:uuid:" + digits:          {false, true, false},
		digits[:8] + "-" + digits[8:]: {false, true, true},
		digits + "0":                  {false, false, true},
		digits[1:]:                    {false, false, true},
		digits[1:] + "g":              {false, false, true},
		digits[1:] + "/":              {false, false, false},
		digits[1:] + ":":              {false, false, false},
		digits[1:] + "G":              {false, false, true},
		digits[1:] + "@":              {false, false, false},
		digits[1:] + "`":              {false, false, false},
		"azAZ09-._~":                  {false, false, true},
		"a b":                         {false, false, false},
		"[":                           {false, false, false},
		"{":                           {false, false, false},
		"@":                           {false, false, false},
		"`":                           {false, false, false},
		"/":                           {false, false, false},
		":":                           {false, false, false},
		strings.Repeat("n", 255):      {false, false, true},
		strings.Repeat("n", 256):      {false, false, false},
	} {
		require.Equal(t, is, []bool{IsMAC(text), IsUUID(text), IsName(text)}, text)
	}
	for text, valid := range map[string][]bool{ // at 1.9, at 1.10
		"node-1.example": {true, true}, "A": {false, true}, "a_b": {false, true}, "a~": {false, true}, "a b": {false, false},
		strings.Repeat("a.", 127) + "a": {true, true}, strings.Repeat("a.", 128): {false, false},
	} {
		for i, version := range []states.APIVersion{since.AnyName - 1, since.AnyName} {
			require.Equal(t, valid[i], (&Request{Version: version}).ValidName(text), "%q at %v", text, version)
		}
	}
}

func TestFieldsOfAList(t *testing.T) {
	yes, no := true, false
	defaults := []string{"uuid"}
	for _, c := range []struct {
		fields  FieldSet
		detail  *bool
		version states.APIVersion
		want    FieldSet
		fault   string
	}{
		{nil, nil, 1, defaults, ""},
		{nil, &yes, since.Detail, nil, ""},
		{nil, &no, since.Detail, defaults, ""},
		{FieldSet{"a"}, nil, 1, FieldSet{"a"}, ""},
		{FieldSet{"a"}, &no, since.Detail, FieldSet{"a"}, ""},
		{FieldSet{"a"}, &yes, since.Detail, nil, "Can not specify ?detail=True and fields in the same request."},
		{nil, &yes, since.Detail - 1, nil, "Invalid query parameter ?detail=True received."},
		{nil, &no, since.Detail - 1, nil, "Invalid query parameter ?detail=False received."},
	} {
		got, err := (&Request{Version: c.version}).ChooseFields(c.fields, c.detail, defaults, since.Detail)
		require.Equal(t, c.want, got)
		if c.fault != "" {
			requireFault(t, err, c.fault)
		} else {
			require.NoError(t, err)
		}
	}
	require.True(t, FieldSet(nil).Has("a"))
	require.True(t, FieldSet{"a"}.Has("a"))
	require.False(t, FieldSet{}.Has("a"))
	require.NoError(t, InvalidFields(nil))
	requireFault(t, InvalidFields([]string{"b", "a"}), `Field(s) "a, b" are not valid`)
}

func page(t *testing.T, r *Request, values map[string]any) (Page, error) {
	t.Helper()
	a := &Args{Values: values}
	p := a.Page()
	require.NoError(t, a.Err)
	return p, p.Check(r)
}

func TestThePartOfAListThatIsAPage(t *testing.T) {
	r := &Request{Service: &Service{maxLimit: 3, publicURL: "http://h"}}
	identity := func(s string) string { return s }
	for _, c := range []struct {
		values map[string]any
		sort   bool
		items  string
		found  bool
		next   string // the link, without a marker that is the last item
	}{
		{map[string]any{}, false, "dab", true, "sort_key=id&sort_dir=asc&limit=3"},
		{map[string]any{"sort_key": ""}, true, "abc", true, "sort_key=&sort_dir=asc&limit=3"},
		{map[string]any{"limit": "2", "sort_key": "name"}, true, "ab", true, "sort_key=name&sort_dir=asc&limit=2"},
		{map[string]any{"limit": "9"}, true, "abc", true, "sort_key=id&sort_dir=asc&limit=3"},
		{map[string]any{"sort_dir": "desc", "limit": "1"}, true, "d", true, "sort_key=id&sort_dir=desc&limit=1"},
		{map[string]any{"marker": "b"}, true, "cd", true, ""},
		{map[string]any{"marker": "d"}, true, "", true, ""},
		{map[string]any{"marker": "a"}, false, "bc", true, ""},
		{map[string]any{"marker": "d"}, false, "abc", true, "sort_key=id&sort_dir=asc&limit=3"},
		{map[string]any{"marker": "x"}, false, "", false, ""},
	} {
		p, err := page(t, r, c.values)
		require.NoError(t, err)
		compare := strings.Compare
		if !c.sort {
			compare = nil
		}
		items, found := Cut(p, strings.Split("dabc", ""), compare, identity)
		require.Equal(t, c.items, strings.Join(items, ""), "%v", c.values)
		require.Equal(t, c.found, found)
		last := ""
		if len(items) > 0 {
			last = items[len(items)-1]
		}
		for _, fields := range []FieldSet{nil, {"a", "b"}} {
			w := wire.New(10)
			p.WriteNext(w, r, Next{"x", fields, p.SortParameters(), len(items), last})
			want := ""
			if c.next != "" {
				want = c.next + "&marker=" + last
				if fields != nil {
					want = strings.Replace(want, "&limit", "&fields=a,b&limit", 1)
				}
				want = `"next":"http://h/v1/x?` + want + `"`
			}
			require.Equal(t, want, strings.Trim(string(w.B), ","), "%v", c.values)
		}
	}
	w := wire.New(10)
	Page{}.WriteNext(w, r, Next{Path: "x"})
	require.Empty(t, w.B)
	for name, values := range map[string]map[string]any{
		"Limit must be positive": {"limit": "0"},
		"Invalid sort direction: x. Acceptable values are 'asc' or 'desc'": {"sort_dir": "x"},
		"Invalid sort direction: . Acceptable values are 'asc' or 'desc'":  {"sort_dir": ""},
	} {
		_, err := page(t, r, values)
		requireFault(t, err, name)
	}
}

func TestTheBaseOfLinks(t *testing.T) {
	for want, r := range map[string]*Request{
		"http://h":   {Request: &http.Request{Host: "h"}, Service: &Service{}},
		"https://h":  {Request: &http.Request{Host: "h", TLS: &tls.ConnectionState{}}, Service: &Service{}},
		"http://p/x": {Request: &http.Request{Host: "h", TLS: &tls.ConnectionState{}}, Service: &Service{publicURL: "http://p/x"}},
	} {
		require.Equal(t, want, r.Base())
		r.Host = "changed"
		require.Equal(t, want, r.Base())
	}
}

func TestAQueryIsURLEncodedUTF8(t *testing.T) {
	for raw, want := range map[string]url.Values{
		"": nil, "a=1&a=%C3%A9": {"a": {"1", "é"}},
		"a;b": {"a": {""}, "b": {""}}, "a=b;c&d": {"a": {"b"}, "c": {""}, "d": {""}}, ";=&": {"": {""}}, "a=%3B+%26": {"a": {"; &"}},
		"%&a=1%&b=%zz%2": {"%": {""}, "a": {"1%"}, "b": {"%zz%2"}},
	} {
		got, err := parseQuery(raw)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, raw := range []string{"a=%ff", "%ff=a", "a=1&a=%ff"} {
		_, err := parseQuery(raw)
		require.Equal(t, http.StatusBadRequest, fault.Of(err).Status, raw)
		require.True(t, isRouting(err), raw)
	}
}

func TestAcceptHeadersThatPermitJSON(t *testing.T) {
	for accept, permitted := range map[string]bool{
		"":                                  true,
		" ":                                 true,
		"application/json;q=0":              true,
		"text/html":                         false,
		"*/*":                               true,
		"*/*;q=0":                           false,
		",, */*":                            true,
		",,":                                false,
		"text/html, nonsense":               true,
		"text/html, a":                      true,
		"text/html, */*;q=2":                true,
		"text/html;q=-1":                    true,
		"text/html, */*;q=x":                true,
		"text/html;q=1":                     false,
		"text/html, */*;q=1":                true,
		"*/*;q=1, application/*;q=0":        false,
		"application/*;q=0, */*;q=1":        false,
		"text/html, application/json;q=0":   false,
		"text/html, application/json;q=0.1": true,
		"*/*;q=0, application/*":            true,
		"text/html, */*;q=0.0":              false,
		"*/*;q=0, */*;q=1":                  false,
	} {
		require.Equal(t, permitted, acceptsJSON(accept), accept)
	}
}

func TestAnActionIsAcceptedSinceItsVersion(t *testing.T) {
	r := &Request{Service: &Service{Series: states.Antelope}, Version: since.Names, bound: bound{action: &Action{Since: since.Names}}}
	require.NoError(t, r.CheckArgs(nil))
	require.NoError(t, r.CheckArgs(&Args{}))
	require.ErrorIs(t, r.CheckArgs(&Args{Err: errNotJSON}), errNotJSON)
	r.bound.action.Since++
	require.ErrorIs(t, r.CheckArgs(nil), fault.NoSuchResource)
	require.ErrorIs(t, r.CheckArgs(&Args{Err: errNotJSON}), errNotJSON)
	r.Series = states.Hibiscus
	require.ErrorIs(t, r.CheckArgs(nil), fault.NoSuchResource, "lookup and what is older")
	r.Version, r.bound.action.Since = since.PortGroups-1, since.PortGroups
	requireFault(t, r.CheckArgs(nil), "The API is not supported for this version")
}

func TestVersionsOfHeaders(t *testing.T) {
	require.Equal(t, []string{"1.5"}, lastVersion([]string{"1.3, 1.5 "}))
	require.Empty(t, lastVersion([]string{" "}), "an empty header is none")
	require.Empty(t, lastVersion(nil))
	s := &Service{Highest: states.Antelope.MaxAPIVersion()}
	long := strings.Repeat("0", fault.MaxShown)
	for header, want := range map[string]states.APIVersion{
		"": 0, "latest": 82, " Latest ": 82, "1.1": 1, "1.82": 82, " 1 . 5 ": 5, "1.+5": 5, "1." + long[1:] + "7": 7,
		"1.0": 0, "1.83": 0, "1.65537": 0, "1.x": 0, "x.1": 0, "2.1": 0, "1": 0, "1." + long + "7": 0,
	} {
		v, err := s.parseVersion([]string{header})
		require.Equal(t, want, v, header)
		require.Equal(t, want == 0, err != nil, header)
	}
	for _, header := range []string{"1.x", "x.1", "x.x"} {
		_, err := s.parseVersion([]string{header})
		require.NotErrorIs(t, err, errOutOfRange, header)
	}
	v, err := s.parseVersion(nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, v)
	for _, c := range []struct {
		headers []string
		want    string
	}{
		{nil, ""}, {[]string{"baremetal 1.5"}, "1.5"}, {[]string{"compute 2.1, BareMetal 1.5"}, "1.5"},
		{[]string{"baremetal 1.5,baremetal 1.6", "x 1"}, "1.6"},
		{[]string{"baremetal"}, ""}, {[]string{"x 1.5"}, ""},
	} {
		require.Equal(t, c.want, standardVersion(c.headers))
	}
}

func TestTheHeadersOfAVersion(t *testing.T) {
	const invalid, outOfRange = "invalid", "out of range"
	for _, c := range []struct {
		series   states.Series
		own      string
		standard string
		version  string
		fails    string
	}{
		{states.Dalmatian, "1.5", "baremetal 1.6", "1.6", ""},
		{states.Dalmatian, "1.5", "compute 2.1", "1.5", ""},
		{states.Dalmatian - 1, "1.5", "baremetal 1.6", "1.5", ""},
		{states.Dalmatian, "x", "", "", invalid},
		{states.Dalmatian, "1.999", "", "", outOfRange},
	} {
		r := sent("GET", "", "")
		r.Series, r.Highest = c.series, 93
		r.Header.Set(versionHeader, c.own)
		r.Header.Set(standardHeader, c.standard)
		header := http.Header{}
		err := r.negotiate(header)
		require.Equal(t, c.fails != "", err != nil)
		require.Equal(t, c.version, header.Get(versionHeader))
		require.Equal(t, c.fails == "", r.Version != 0)
		for name, want := range map[string]string{minimumHeader: "1.1", maximumHeader: "1.93"} {
			if c.fails == invalid {
				want = ""
			}
			require.Equal(t, want, header.Get(name))
		}
		r.SetHeaders(header, err)
		require.Equal(t, c.fails == "", header.Get("Openstack-Request-Id") != "")
		require.Equal(t, c.fails != invalid, header.Get(minimumHeader) != "")
		require.Equal(t, c.fails != invalid, header.Get(maximumHeader) != "")
		header.Set(versionHeader, "1.1")
		header.Set(minimumHeader, "1.1")
		header.Set(maximumHeader, "1.93")
		r.SetHeaders(header, fault.UnknownPath)
		require.Empty(t, header.Values(versionHeader))
		require.Empty(t, header.Values(minimumHeader))
		require.Empty(t, header.Values(maximumHeader))
	}
	for highest, both := range map[states.APIVersion]bool{since.RequestID - 1: false, since.RequestID: true} {
		r, header := &Request{Service: &Service{Highest: highest}}, http.Header{}
		r.SetHeaders(header, nil)
		require.NotEmpty(t, header.Get("Openstack-Request-Id"))
		require.Equal(t, both, header.Get("X-Openstack-Request-Id") == header.Get("Openstack-Request-Id"))
	}
}
