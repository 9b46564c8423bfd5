// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"net/http"
	"slices"
	"strings"
)

// twist is a way in which a request is unusual.
type twist struct {
	weight int
	apply  func(g *generator, r *Request)
}

// twists are all of them. Those that make every Ironic fail by a Python exception are rare.
var twists = []twist{
	{10, func(g *generator, r *Request) {
		r.Method = pick(g, "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
		r.Twist = "method"
	}},
	{4, func(g *generator, r *Request) {
		if r.Body != nil {
			return
		}
		r.Body = []byte(pick(g, "{}", "[]", "x", "null", "", `{"a": 1}`))
		r.Twist = "a body"
		if g.chance(70) {
			r.Header.Set("Content-Type", "application/json")
		}
	}},
	{5, func(g *generator, r *Request) {
		kind := pick(g, "", "text/plain", "application/json; charset=utf-8", "application/json;charset=UTF-8",
			"application/x-www-form-urlencoded", "text/html",
			"nonsense", "APPLICATION/JSON", "application/javascript", "application/xml")
		r.Header.Set("Content-Type", kind)
		if kind == "" {
			r.Header.Del("Content-Type")
		}
		r.Twist = "Content-Type: " + kind
	}},
	{6, func(g *generator, r *Request) {
		kind := pick(g, "*/*", "application/json", "application/*", "text/html, */*;q=0.1", "nonsense", "application/json;q=0",
			"application/json, text/plain", "",
			"application/json;charset=utf-8", "*/*;q=0.5", pick(g, "text/html", "application/xml", "text/plain"))
		r.Header.Set("Accept", kind)
		r.Twist = "Accept: " + kind
	}},
	{10, func(g *generator, r *Request) {
		extension := named[string](g, "extension")
		r.onPath(func(path string) string { return path + extension })
		r.Twist = "extension " + extension
	}},
	{10, func(_ *generator, r *Request) {
		r.onPath(func(path string) string { return path + "/" })
		r.Twist = "trailing slash"
	}},
	{6, func(g *generator, r *Request) {
		r.onPath(func(path string) string {
			segments := strings.Split(path, "/")
			at := 1 + g.IntN(len(segments)-1)
			if g.chance(60) && len(segments) > 3 {
				segments[3] = "" // in place of the identifier
			} else {
				segments = slices.Insert(segments, at, "")
			}
			return strings.Join(segments, "/")
		})
		r.Twist = "empty segment"
	}},
	{6, func(g *generator, r *Request) {
		path, query, has := strings.Cut(r.Path, "?")
		name, _, _ := strings.Cut(pick(g, strings.Split(query, "&")...), "=")
		if !has || name == "" {
			name = pick(g, "fields", "limit", "node_ident", "driver_name", "port_ident", "node", "detail", "target", "method")
		}
		r.Path = path + "?" + strings.TrimPrefix(query+"&"+name+"=a&"+name+"=b", "&")
		r.Twist = "repeated " + name
	}},
	{3, func(g *generator, r *Request) {
		if r.Body == nil {
			return
		}
		depth := pick(g, 10, 26, 40, 200)
		r.Body = []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		r.Twist = "deep body"
	}},
	{4, func(g *generator, r *Request) {
		if r.Body == nil {
			return
		}
		r.Body = []byte(pick(g, "{", "", "null", "[]", "{}", "1", `"text"`, `{"a":`, "\xff\xfe", `{"target": "manage"} trailing`,
			"nonsense", string(r.Body)+"}",
			`{"a": NaN}`, `[{}]`, `[[]]`, `[null]`))
		r.Twist = "broken body"
	}},
	{2, func(g *generator, r *Request) {
		segment := pick(g, "nonsense", "detail", "..", "ünï", "%00", "x/y")
		r.onPath(func(path string) string { return path + "/" + segment })
		r.Twist = "extra segment"
	}},
	{10, func(g *generator, r *Request) {
		r.Header.Set(versionHeader, pick(g, "1.83", "1.0", "2.0", "1.99", "1", "1.", "x", "1.a", "-1.1", "1.82.1", "", "1.010",
			" 1.82 ", "LATEST", "latest ", "0.1",
			"1,82", "99999999999999999999.1", "1.99999999999999999999"))
		r.Twist = "version"
	}},
	{8, func(g *generator, r *Request) {
		extra := pick(g, "nonsense=1", "limit=1&limit=2", "fields=uuid&fields=extra", "a=%ff", "detail", "&", "=", "")
		if !strings.Contains(r.Path, "?") {
			r.Path += "?" + extra
		} else {
			r.Path += "&" + extra
		}
		r.Twist = "query"
	}},
}

// twist makes a request unusual in one way.
func (g *generator) twist(r *Request) {
	pickBy(g, twists, func(t twist) int { return t.weight }).apply(g, r)
	r.writes = r.writes || r.Method != http.MethodGet && r.Method != http.MethodHead
}

// onPath changes the path without the query.
func (r *Request) onPath(change func(string) string) {
	path, query, has := strings.Cut(r.Path, "?")
	if r.Path = change(path); has {
		r.Path += "?" + query
	}
}
