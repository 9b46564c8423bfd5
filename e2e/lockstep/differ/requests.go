// SPDX-License-Identifier: Apache-2.0

package differ

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// choice is a kind of request and its weight.
type choice struct {
	weight int
	make   func(g *generator) Request
}

func (g *generator) choose(from []choice) Request {
	return pickBy(g, from, func(c choice) int { return c.weight }).make(g)
}

//go:embed requests.txt
var requestsText string

// groups are the groups of requests in requests.txt. They are set by init, since some have others.
var groups map[string][]choice

// The groups that are chosen first.
const (
	allGroup   = "requests"
	laterGroup = "later than 2023.1"
	wideGroup  = "wide"
)

// laterShare is the share of laterGroup in a later series, in percent.
const laterShare = 12

// makers make the requests that depend on more than templates.
var makers = map[string]func(*generator) Request{
	"list nodes": listNodes, "show a node": showNode, "new node": newNode, "patch a node": patchNode, "provision": provision,
	"list conductors": func(g *generator) Request {
		return newRequest("GET", "/v1/conductors").query(g.list([]string{"hostname", "conductor_group", "alive", "drivers", "created_at"}, nil))
	},
	"live": live, "wide create": wideCreate, "wide patch": widePatch, "wide list": wideList, "wide below": wideBelow,
	"wide driver": wideDriver,
}

func init() {
	values = parseValues(valuesText)
	groups = parseRequests(requestsText)
}

// parseRequests parses requests.txt. It panics for a malformed line.
func parseRequests(text string) map[string][]choice {
	all := map[string][]choice{}
	group := ""
	for line := range strings.Lines(strings.NewReplacer("|\n  ", "|", "\n  ", " ").Replace(text)) {
		line = strings.TrimSpace(line)
		first, rest, _ := strings.Cut(line, " ")
		switch weight, err := strconv.Atoi(first); {
		case line == "" || line[0] == '#':
		case err != nil:
			group = line
		default:
			all[group] = append(all[group], choice{weight, parseRequest(all, rest)})
		}
	}
	return all
}

// parseRequest parses a line of requests.txt without its weight.
func parseRequest(all map[string][]choice, line string) func(*generator) Request {
	if name, is := strings.CutPrefix(line, "@"); is {
		if m := makers[name]; m != nil {
			return m
		}
		if strings.HasPrefix(name, "/") {
			of := kindAt(name).requests()
			return func(g *generator) Request { return g.choose(of) }
		}
		return func(g *generator) Request { return g.choose(all[name]) }
	}
	return parseTemplates(line).request
}

// templates are a request whose parts are templates.
type templates struct {
	method      template
	path        string    // with alternatives and arguments, see requestFor
	query, body *template // nil for none
	share       int       // of the requests with the body, in percent
}

// parseTemplates parses a line with a method and a path. It panics for malformed templates.
func parseTemplates(line string) templates {
	word, rest, _ := strings.Cut(line, " ")
	t := templates{method: templateOf(word), share: 100}
	if word[0] == '"' || word[0] == '{' {
		t.method, rest = cutTemplate(line)
	}
	t.path, rest, _ = strings.Cut(rest, " ")
	if text, is := strings.CutPrefix(rest, "?"); is {
		query, left := cutTemplate(text)
		t.query, rest = &query, left
	}
	if percent, text, is := strings.Cut(rest, "% "); is && len(percent) < 3 {
		t.share, _ = strconv.Atoi(percent)
		rest = text
	}
	if rest != "" {
		body := mustTemplate(rest)
		t.body = &body
	}
	return t
}

// request makes a request.
func (t templates) request(g *generator) Request {
	r := g.requestFor(evalAs[string](g, t.method), t.path)
	if t.query != nil {
		r = r.query(g.parameters(g.eval(*t.query)))
	}
	if t.body != nil && g.chance(t.share) {
		r = r.with(g.eval(*t.body))
	}
	return r
}

// cutTemplate parses the template at the beginning of a text, and panics if it is malformed.
func cutTemplate(text string) (t template, rest string) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	t, err := decodeTemplate(d)
	if err != nil {
		panic(fmt.Sprintf("differ: the template %s: %v", text, err))
	}
	return t, strings.TrimSpace(text[d.InputOffset():])
}

var (
	alternatives = regexp.MustCompile(`\(([^()]*)\)`)
	argument     = regexp.MustCompile(`{[^{}]+}`)
)

// requestFor returns a request for a path of requests.txt.
func (g *generator) requestFor(method, path string) Request {
	path = alternatives.ReplaceAllStringFunc(path, func(all string) string {
		return pick(g, strings.Split(all[1:len(all)-1], "|")...)
	})
	path, query, has := strings.Cut(path, "?")
	var args []string
	path = argument.ReplaceAllStringFunc(path, func(name string) string {
		args = append(args, evalAs[string](g, templateOf(name)))
		return "{}"
	})
	r := newRequest(method, path, args...)
	if has {
		r.Path += "?" + query
	}
	return r
}

// parameters returns the parameters of a query. A query is an object, or the path of a list, which also gets the
// parameters of lists.
func (g *generator) parameters(query any) url.Values {
	v := url.Values{}
	switch value := query.(type) {
	case string:
		var filters func(url.Values)
		if value == nodesPath {
			filters = g.nodeFilters
		}
		return g.list(tables[value].fields, filters)
	case map[string]any:
		for name, text := range value {
			v.Set(name, fmt.Sprint(text))
		}
	}
	return v
}
