package differ

import (
	"net/http"
	"strings"
)

// twist makes a request unusual in one way.
func (g *generator) twist(r *Request) {
	path, query, hasQuery := strings.Cut(r.Path, "?")
	switch g.IntN(11) {
	case 0:
		r.Method = pick(g, "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
		r.Twist = "method"
	case 1:
		if r.Body == nil {
			r.Body = []byte(pick(g, "{}", "[]", "x", "null", "", `{"a": 1}`))
			r.Twist = "a body"
			if g.chance(70) {
				r.Header.Set("Content-Type", "application/json")
			}
			break
		}
		fallthrough
	case 2:
		kind := pick(g, "", "text/plain", "application/json; charset=utf-8", "application/x-www-form-urlencoded", "text/html", "nonsense", "APPLICATION/JSON", "application/xml")
		r.Header.Set("Content-Type", kind)
		if kind == "" {
			r.Header.Del("Content-Type")
		}
		r.Twist = "Content-Type: " + kind
	case 3:
		kind := pick(g, "text/html", "*/*", "application/json", "application/xml", "text/plain", "application/*", "text/html, */*;q=0.1", "nonsense", "application/json;q=0", "")
		r.Header.Set("Accept", kind)
		r.Twist = "Accept: " + kind
	case 4:
		extension := pick(g, ".json", ".json", ".xml", ".html", ".", ".txt", ".nonsense")
		path += extension
		r.Twist = "extension " + extension
	case 5:
		path += "/"
		r.Twist = "trailing slash"
	case 6:
		at := strings.LastIndexByte(path, '/')
		path = path[:at] + "/" + path[at:]
		r.Twist = "empty segment"
	case 7:
		if r.Body == nil {
			r.Method, r.Twist = "HEAD", "method"
			break
		}
		r.Body = []byte(pick(g, "{", "", "null", "[]", "{}", "1", `"text"`, `{"a":`, "\xff\xfe", `{"target": "manage"} trailing`, "nonsense", string(r.Body)+"}", `{"a": NaN}`, `[{}]`, `[[]]`, `[null]`))
		r.Twist = "broken body"
	case 8:
		path += "/" + pick(g, "nonsense", "detail", "..", "ünï", "%00", "x/y")
		r.Twist = "extra segment"
	case 9:
		r.Header.Set(versionHeader, pick(g, "1.83", "1.0", "2.0", "1.99", "1", "1.", "x", "1.a", "-1.1", "1.82.1", "", "1.010", " 1.82 ", "LATEST", "latest ", "0.1", "1,82", "99999999999999999999.1", "1.99999999999999999999"))
		r.Twist = "version"
	case 10:
		if hasQuery {
			query += "&" + pick(g, "=", "&&", "limit", "limit=1&limit=2", "fields=uuid&fields=name", "%ff=1", "a=%ff", "x=;", "nonsense=1", "detail")
		} else {
			query, hasQuery = pick(g, "", "nonsense=1", "=", "limit=1&limit=2", "fields=uuid&fields=extra", "a=%ff", "detail", "&"), true
		}
		r.Twist = "query"
	}
	r.Path = path
	if hasQuery {
		r.Path += "?" + query
	}
	r.writes = r.writes || r.Method != http.MethodGet && r.Method != http.MethodHead
}
