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
//   - {"of": [...]} is one of the values in most cases, see [generator.of], and {"pick": [...]} always; a value
//     {"3x": ...} of these lists has the weight 3;
//   - the member "name?15" of an object is there in 15 % of the cases, and "a|b" is one of these members;
//   - {n:2} in a text is the UUID of the node 2, and other letters stand for other kinds of objects; {mac:2} is a MAC
//     address, {MAC:2} one in upper case, and {:2} the number alone. A number is a sum of numbers, of i, the number of
//     the object, and of random numbers, such as ?4 for one below 4: {mac:20+?4};
//   - the text {name} is the result of a function in [functions], or of a template of the name in values.json.
//
// The parts are evaluated in the order in which they stand.
type template struct {
	value  any // a scalar, []template or []member
	weight int // in a list from which one is picked; 0 stands for 1
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
		"steps":          func(g *generator) any { return g.steps("bios", "raid", "deploy", "power", "management") },
		"node":           func(g *generator) any { return g.node() },
		"chassis":        func(g *generator) any { return g.id('c', "") },
		"portgroup":      func(g *generator) any { return g.id('g', "portgroup") },
		"part": func(g *generator) any {
			return pick(g, append([]string{"nonsense", "id", "", "detail", "links"}, tables[nodesPath].fields...)...)
		},
		"traits": (*generator).traits,
		"link":   (*generator).link,
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
		return template{value: list}, err
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
		if len(object) == 1 {
			number, is := strings.CutSuffix(object[0].key, "x")
			if weight, notNumber := strconv.Atoi(number); is && notNumber == nil {
				return template{object[0].value.value, weight}, err
			}
		}
		return template{value: object}, err
	default:
		return template{value: token}, nil
	}
}

// eval returns a value of the template.
func (g *generator) eval(t template) any {
	switch v := t.value.(type) {
	case string:
		name, _ := strings.CutPrefix(strings.TrimSuffix(v, "}"), "{")
		if len(name) != len(v)-2 {
			return g.expand(v)
		}
		if f := functions[name]; f != nil {
			return f(g)
		}
		if named, ok := values.Values[name]; ok {
			return g.eval(named)
		}
		return g.expand(v)
	case []template:
		all := []any{}
		for _, item := range v {
			all = append(all, g.eval(item))
		}
		return all
	case []member:
		if len(v) == 1 && v[0].key == "of" {
			return g.ofTemplates(v[0].value.value.([]template))
		}
		if len(v) == 1 && v[0].key == "pick" {
			return g.pickTemplate(v[0].value.value.([]template))
		}
		object := map[string]any{}
		for _, m := range v {
			if m.chance == 100 || g.chance(m.chance) {
				object[pick(g, strings.Split(m.key, "|")...)] = g.eval(m.value)
			}
		}
		return object
	default:
		return v
	}
}

// named returns a value of the template of a name.
func (g *generator) named(name string) any { return g.eval(template{value: "{" + name + "}"}) }

// pickTemplate returns a value of one of the templates, by their weights.
func (g *generator) pickTemplate(from []template) any {
	weights := make([]int, len(from))
	for i, t := range from {
		weights[i] = max(t.weight, 1)
	}
	return g.eval(from[g.weighted(weights)])
}

// ofTemplates returns a valid value in most cases, and any value otherwise.
func (g *generator) ofTemplates(valid []template) any {
	if g.chance(validShare) {
		return g.pickTemplate(valid)
	}
	return g.value()
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
