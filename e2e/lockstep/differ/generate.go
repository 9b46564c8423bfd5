// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// generator makes requests. They depend on the series, on the random numbers, on the provision states of
// the nodes, and on the objects whose UUIDs the servers have chosen, alone.
type generator struct {
	*rand.Rand
	series states.Series
	wide   int                 // the share of wideGroup, in percent
	states map[string]string   // by UUID
	made   map[letter][]string // the UUIDs that Ironic has chosen, by kind
	index  int                 // the number of the object that a template makes
}

func newGenerator(series states.Series, seed, round uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, round)), series: series, states: map[string]string{}}
}

// chance reports true in the given share of calls, in percent.
func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// pickBy picks one by their weights.
func pickBy[T any](g *generator, from []T, weight func(T) int) T {
	sum := 0
	for _, one := range from {
		sum += weight(one)
	}
	n := g.IntN(sum)
	for _, one := range from {
		if n -= weight(one); n < 0 {
			return one
		}
	}
	panic("unreachable")
}

// next returns the next request.
func (g *generator) next() Request {
	var r Request
	switch {
	case g.wide > 0 && g.chance(g.wide):
		r = g.choose(groups[wideGroup])
	case g.series > states.Antelope && g.chance(laterShare):
		r = g.choose(groups[laterGroup])
	default:
		r = g.choose(groups[allGroup])
	}
	g.finish(&r)
	if g.chance(4) {
		g.twist(&r)
	}
	return r
}

// finish sets the version and the content type.
func (g *generator) finish(r *Request) {
	r.Header = http.Header{}
	switch n := g.IntN(100); {
	case n < 60:
		r.Header.Set(versionHeader, g.series.MaxAPIVersion().String())
	case n < 97:
		r.Header.Set(versionHeader, fmt.Sprintf("1.%d", 1+g.IntN(int(g.series.MaxAPIVersion()))))
	case n < 99:
		r.Header.Set(versionHeader, "latest")
	}
	if r.Body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if r.Method == http.MethodPost && r.Pattern == nodesPath {
		r.Header.Set("OpenStack-System-Scope", "all") // who may set the owner
	}
	r.writes = r.writes || r.Method != http.MethodGet || locking.MatchString(r.Pattern)
}

// locking are the paths of which a GET takes the node's lock, which changes the record.
var locking = regexp.MustCompile(`/management|/validate|/console|/vifs|/vendor_passthru|/lookup`)

const versionHeader = "X-OpenStack-Ironic-API-Version"

// newRequest returns a request without a body. The pattern is the path in which {} stands
// for each argument.
func newRequest(method, pattern string, args ...string) Request {
	path := pattern
	for _, a := range args {
		path = strings.Replace(path, "{}", url.PathEscape(a), 1)
	}
	return Request{Method: method, Path: path, Pattern: pattern}
}

// with returns the request with a body.
func (r Request) with(body any) Request {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err) // the generator makes only what JSON has
	}
	r.Body = encoded
	return r
}

// query returns the request with parameters, in the order of their names. Those with an
// empty name are left out.
func (r Request) query(values url.Values) Request {
	delete(values, "")
	if len(values) > 0 {
		r.Path += "?" + values.Encode()
	}
	return r
}

// number of the objects of each kind that requests choose from.
const pool = 4

// uuid returns the UUID of the i-th object of a kind.
func uuid(kind letter, i int) string {
	return fmt.Sprintf("%08x-aaaa-4bbb-8ccc-%012x", int(kind)<<8+i, i)
}

// fixedUUIDs returns all UUIDs that requests choose.
func fixedUUIDs() map[string]bool {
	all := map[string]bool{}
	for kind := range 256 {
		for i := range 2 * pool {
			all[uuid(letter(kind), i)] = true
		}
	}
	return all
}

func nodeUUID(i int) string { return uuid(nodeLetter, i) }

// odd are names and identifiers that are unusual or wrong.
var odd = []string{
	"no-such", "not a name", "ünï", "node 0", "0", "-", "~", "a.b", "x.json", "DEADBEEF", "None", "null", "detail",
	"00000000-0000-0000-0000-000000000000", "1be26c0b03f2-4d2eae87-c02d7f33c123", strings.Repeat("x", 256), "%", "'", `"`, "\\",
}

// id returns an identifier of an object: usually one that may exist.
func (g *generator) id(kind letter, name string) string {
	i := g.IntN(pool)
	if made := g.made[kind]; g.chance(6) && len(made) > 0 {
		return made[i%len(made)]
	}
	switch n := g.IntN(100); {
	case n < 78 || n < 94 && name == "":
		return uuid(kind, i)
	case n < 94:
		return fmt.Sprintf("%s-%d", name, i)
	case n < 96:
		return uuid(kind, pool+i)
	case n < 97:
		return strings.ToUpper(uuid(kind, i))
	default:
		return pick(g, odd...)
	}
}

func (g *generator) node() string { return g.id(nodeLetter, "node") }

// value returns any value.
func (g *generator) value() any {
	switch g.IntN(12) {
	case 0:
		return nil
	case 1:
		return true
	case 2:
		return g.IntN(2000) - 1000
	case 3:
		return 1.5
	case 4:
		return []any{}
	case 5:
		return map[string]any{}
	case 6:
		return map[string]any{"a": map[string]any{"b": []any{1, "two", nil}}}
	case 7:
		return []any{"a", 1}
	case 8:
		return ""
	case 9:
		return "ünïcode 𝄞"
	case 10:
		return strings.Repeat("long ", 60)
	default:
		return pick(g, "text", "true", "12", "none", uuid(nodeLetter, 0), "CUSTOM_A")
	}
}

const validShare = 88 // of the values, in percent

// of returns a valid value in most cases, and any value otherwise.
func (g *generator) of(valid ...any) any {
	if g.chance(validShare) {
		return pick(g, valid...)
	}
	return g.value()
}

// fields returns the value of the parameter fields.
func (g *generator) fields(names []string) string {
	var chosen []string
	for range 1 + g.IntN(4) {
		if g.chance(93) {
			chosen = append(chosen, pick(g, names...))
		} else {
			chosen = append(chosen, pick(g, "nonsense", "", "links", "id", "UUID", "node_uuid", " name"))
		}
	}
	return strings.Join(chosen, ",")
}

// list returns parameters of a list: for paging, and filters.
func (g *generator) list(names []string, filters func(url.Values)) url.Values {
	v := g.parameters(g.named("list"))
	if g.chance(25) {
		v.Set("fields", g.fields(names))
	}
	if g.chance(12) {
		v.Set("sort_key", pick(g, append([]string{"nonsense", "", "id"}, names...)...))
	}
	if filters != nil && g.chance(50) {
		filters(v)
	}
	return v
}
