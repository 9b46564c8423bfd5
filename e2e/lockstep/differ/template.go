// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A template is a value of a request with random parts, as it stands in the data files: JSON in which
//
//   - {"of": [...]} is one of the values in most cases, see [generator.of], and {"pick": [...]} always;
//   - the member "name?15" of an object is there in 15 % of the cases;
//   - {n:2} in a text is the UUID of the node 2, and other letters stand for other kinds of objects; {mac:2} is a MAC
//     address, {MAC:2} one in upper case, and {:2} the number alone. A number is a sum of numbers, of i, the number of
//     the object, and of random numbers, such as ?4 for one below 4: {mac:20+?4};
//   - the text {name} is the result of a function in [functions].
//
// The parts are evaluated in the order in which they stand.
type template struct {
	value any // a scalar, []template or []member
}

type member struct {
	key    string
	chance int // in percent
	value  template
}

// functions are the values that templates have by name. They are set by init, since some use templates.
var functions map[string]func(g *generator) any

func init() {
	functions = map[string]func(g *generator) any{
		"i":              func(g *generator) any { return g.index },
		"value":          (*generator).value,
		"network_data":   (*generator).networkData,
		"template_steps": (*generator).templateSteps,
		"ordered_steps":  (*generator).orderedSteps,
		"trait":          func(g *generator) any { return pick(g, traits...) },
	}
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *template) UnmarshalJSON(text []byte) (err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	*t, err = decodeTemplate(d)
	return err
}

// mustTemplate parses a template, and panics if it is malformed.
func mustTemplate(text string) (t template) {
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		panic(fmt.Sprintf("differ: the template %s: %v", text, err))
	}
	return t
}

// decodeTemplate reads the next value with the order of its members.
func decodeTemplate(d *json.Decoder) (template, error) {
	token, err := d.Token()
	if err != nil {
		return template{}, err
	}
	switch token {
	case json.Delim('['):
		list := []template{}
		for d.More() {
			item, err := decodeTemplate(d)
			if err != nil {
				return template{}, err
			}
			list = append(list, item)
		}
		_, err = d.Token()
		return template{list}, err
	case json.Delim('{'):
		object := []member{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return template{}, err
			}
			m := member{key: key.(string), chance: 100}
			if name, chance, ok := strings.Cut(m.key, "?"); ok {
				m.key = name
				if m.chance, err = strconv.Atoi(chance); err != nil {
					return template{}, err
				}
			}
			if m.value, err = decodeTemplate(d); err != nil {
				return template{}, err
			}
			object = append(object, m)
		}
		_, err = d.Token()
		return template{object}, err
	default:
		return template{token}, nil
	}
}

// eval returns a value of the template.
func (g *generator) eval(t template) any {
	switch v := t.value.(type) {
	case string:
		if f := functions[strings.Trim(v, "{}")]; f != nil && strings.HasPrefix(v, "{") {
			return f(g)
		}
		return g.expand(v)
	case []template:
		return g.evalAll(v)
	case []member:
		if len(v) == 1 && v[0].key == "of" {
			return g.of(g.evalAll(v[0].value.value.([]template))...)
		}
		if len(v) == 1 && v[0].key == "pick" {
			return pick(g, g.evalAll(v[0].value.value.([]template))...)
		}
		object := map[string]any{}
		for _, m := range v {
			if m.chance == 100 || g.chance(m.chance) {
				object[m.key] = g.eval(m.value)
			}
		}
		return object
	default:
		return v
	}
}

func (g *generator) evalAll(list []template) []any {
	values := []any{}
	for _, t := range list {
		values = append(values, g.eval(t))
	}
	return values
}

var placeholder = regexp.MustCompile(`\{(mac|MAC|[a-z]?):([0-9i+?]+)\}`)

// expand replaces the placeholders in a text.
func (g *generator) expand(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		kind, sum, _ := strings.Cut(strings.Trim(found, "{}"), ":")
		number := 0
		for term := range strings.SplitSeq(sum, "+") {
			if below, random := strings.CutPrefix(term, "?"); random {
				n, _ := strconv.Atoi(below)
				number += g.IntN(n)
			} else if term == "i" {
				number += g.index
			} else {
				n, _ := strconv.Atoi(term)
				number += n
			}
		}
		switch kind {
		case "":
			return strconv.Itoa(number)
		case "mac":
			return mac(number)
		case "MAC":
			return strings.ToUpper(mac(number))
		default:
			return uuid(kind[0], number)
		}
	})
}
