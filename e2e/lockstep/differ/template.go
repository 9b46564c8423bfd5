// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"bytes"
	"encoding/json"
	"errors"
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
	value any // a list, an object, a selection, a weighted, a reference, a text, or another scalar
}

// String returns the name of a reference in braces, and the parts of any other template.
func (t template) String() string {
	if name, is := t.value.(reference); is {
		return "{" + string(name) + "}"
	}
	return fmt.Sprintf("%v", t.value)
}

type (
	list   []template
	object []member
	member struct {
		names  []string // it has one of them
		chance int      // in percent
		value  template
	}
	selection struct {
		from    []weighted
		usually bool // in the other cases it is any value
	}
	weighted struct {
		weight int
		template
	}
	reference string // a name in functions or in values.json
	text      string // with placeholders
)

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
		"chassis":        func(g *generator) any { return g.id(chassisLetter, "") },
		"portgroup":      func(g *generator) any { return g.id(portgroupLetter, "portgroup") },
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
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return decodeList(d)
		}
		return decodeObject(d)
	case string:
		return templateOf(token), nil
	default:
		return template{token}, nil
	}
}

// templateOf returns the template of a text.
func templateOf(s string) template {
	name, opened := strings.CutPrefix(s, "{")
	name, closed := strings.CutSuffix(name, "}")
	if opened && closed && name != "" && !strings.ContainsAny(name, "{:}") {
		return template{reference(name)}
	}
	return template{text(s)}
}

// decodeList reads the rest of a list.
func decodeList(d *json.Decoder) (template, error) {
	all := list{}
	for d.More() {
		item, err := decodeTemplate(d)
		if err != nil {
			return template{}, err
		}
		all = append(all, item)
	}
	_, err := d.Token()
	return template{all}, err
}

// decodeObject reads the rest of an object. Its only key may be an operator.
func decodeObject(d *json.Decoder) (template, error) {
	all, key := object{}, ""
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return template{}, err
		}
		key = token.(string)
		name, percent, mayLack := strings.Cut(key, "?")
		m := member{names: strings.Split(name, "|"), chance: 100}
		if mayLack {
			if m.chance, err = strconv.Atoi(percent); err != nil {
				return template{}, err
			}
		}
		if m.value, err = decodeTemplate(d); err != nil {
			return template{}, err
		}
		all = append(all, m)
	}
	if _, err := d.Token(); err != nil || len(all) != 1 {
		return template{all}, err
	}
	weight, notNumber := strconv.Atoi(strings.TrimSuffix(key, "x"))
	switch value := all[0].value; {
	case key == "of", key == "pick":
		s, err := selectionFrom(value, key == "of")
		return template{s}, err
	case notNumber == nil && strings.HasSuffix(key, "x"):
		return template{weighted{weight, value}}, nil
	default:
		return template{all}, nil
	}
}

// selectionFrom returns the selection from the elements of a list.
func selectionFrom(t template, usually bool) (selection, error) {
	from, ok := t.value.(list)
	if !ok {
		return selection{}, errors.New("want a list to select from")
	}
	s := selection{usually: usually}
	for _, item := range from {
		w, is := item.value.(weighted)
		if !is {
			w = weighted{1, item}
		}
		s.from = append(s.from, w)
	}
	return s, nil
}

// UnmarshalJSON implements [json.Unmarshaler]. The JSON is a list.
func (s *selection) UnmarshalJSON(text []byte) error {
	var t template
	err := json.Unmarshal(text, &t)
	if err == nil {
		*s, err = selectionFrom(t, false)
	}
	return err
}

// eval returns a value of the template.
func (g *generator) eval(t template) any {
	switch v := t.value.(type) {
	case list:
		all := []any{}
		for _, item := range v {
			all = append(all, g.eval(item))
		}
		return all
	case object:
		values := map[string]any{}
		for _, m := range v {
			if m.chance == 100 || g.chance(m.chance) {
				values[pick(g, m.names...)] = g.eval(m.value)
			}
		}
		return values
	case selection:
		if v.usually && !g.chance(validShare) {
			return g.value()
		}
		return g.eval(pickBy(g, v.from, func(w weighted) int { return w.weight }).template)
	case weighted:
		return g.eval(v.template)
	case reference:
		return g.named(string(v))
	case text:
		return g.expand(string(v))
	default:
		return v
	}
}

// named returns the result of a function, or a value of a template of values.json. It panics for any other name.
func (g *generator) named(name string) any {
	if f := functions[name]; f != nil {
		return f(g)
	}
	t, ok := values.Values[name]
	if !ok {
		panic(fmt.Sprintf("differ: neither a function nor a template of values.json is called %q", name))
	}
	return g.eval(t)
}

// evalAs returns a value of the template, which has to be of a type. It panics for one of another type.
func evalAs[T any](g *generator, t template) T {
	value := g.eval(t)
	typed, is := value.(T)
	if !is {
		panic(fmt.Sprintf("differ: %v is %v, a %T: want a %T", t, value, value, typed))
	}
	return typed
}

// named is evalAs for the template of a name, see [generator.named].
func named[T any](g *generator, name string) T { return evalAs[T](g, template{reference(name)}) }

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
			return uuid(letter(kind[0]), number)
		}
	})
}
