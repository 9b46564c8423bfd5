package api

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// nodeField is a field of a node in the API.
type nodeField struct {
	name  string
	key   string            // the name as a JSON key, with quotes and colon
	since states.APIVersion // the first version with the field

	write func(w *writer, r *request, n *conductor.Node)
	// compare orders nodes by the field; nil if the field is not a sort key.
	compare func(a, b *conductor.Node) int

	// The following fields are set for fields that clients may write.
	created, patched bool     // whether POST and PATCH may set the field
	types            []string // the JSON types of its values
	maxLength        int      // of a text, in characters; 0 means no limit
	get              func(n *conductor.Node) any
	// set sets the field to a value of one of the types. Null sets the default.
	set func(n *conductor.Node, value any) error
	// hidden excludes the field from the "fields" parameter of requests.
	hidden bool
}

// creatable, patchable and editable allow clients to set a field.
func (f nodeField) creatable() nodeField { f.created = true; return f }
func (f nodeField) patchable() nodeField { f.patched = true; return f }
func (f nodeField) editable() nodeField  { return f.creatable().patchable() }

func (f nodeField) atMost(length int) nodeField { f.maxLength = length; return f }
func (f nodeField) notChosen() nodeField        { f.hidden = true; return f }

// textField returns a field with a text. An empty one is null in JSON, unless a client has set "".
func textField(name string, since states.APIVersion, at func(*conductor.Node) *string) nodeField {
	return nodeField{
		name: name, since: since, types: []string{"string", "null"},
		write: func(w *writer, _ *request, n *conductor.Node) {
			if s := *at(n); s != "" || slices.Contains(n.Empty, name) {
				w.text(s)
			} else {
				w.null()
			}
		},
		compare: func(a, b *conductor.Node) int { return cmp.Compare(*at(a), *at(b)) },
		get: func(n *conductor.Node) any {
			if s := *at(n); s != "" || slices.Contains(n.Empty, name) {
				return s
			}
			return nil
		},
		set: func(n *conductor.Node, v any) error {
			*at(n), _ = v.(string)
			n.SetEmpty(name, v == "")
			return nil
		},
	}
}

// shownField returns a read-only field with a text.
func shownField(name string, since states.APIVersion, of func(*request, *conductor.Node) string) nodeField {
	return nodeField{
		name: name, since: since,
		write:   func(w *writer, r *request, n *conductor.Node) { w.textOrNull(of(r, n)) },
		compare: func(a, b *conductor.Node) int { return cmp.Compare(of(nil, a), of(nil, b)) },
	}
}

// flagField returns a boolean field. Setting it to null sets false.
func flagField(name string, since states.APIVersion, at func(*conductor.Node) *bool) nodeField {
	return nodeField{
		name: name, since: since, types: booleanTypes,
		write:   func(w *writer, _ *request, n *conductor.Node) { w.boolean(*at(n)) },
		compare: func(a, b *conductor.Node) int { return compareBooleans(at(a), at(b)) },
		get:     func(n *conductor.Node) any { return *at(n) },
		set: func(n *conductor.Node, v any) error {
			b, err := toBoolean(name, v)
			*at(n) = b != nil && *b
			return err
		},
	}
}

// choiceField returns a field that is true, false or null.
func choiceField(name string, since states.APIVersion, at func(*conductor.Node) **bool) nodeField {
	return nodeField{
		name: name, since: since, types: booleanTypes,
		write: func(w *writer, _ *request, n *conductor.Node) {
			if b := *at(n); b != nil {
				w.boolean(*b)
			} else {
				w.null()
			}
		},
		compare: func(a, b *conductor.Node) int { return compareBooleans(*at(a), *at(b)) },
		get: func(n *conductor.Node) any {
			if b := *at(n); b != nil {
				return *b
			}
			return nil
		},
		set: func(n *conductor.Node, v any) (err error) {
			*at(n), err = toBoolean(name, v)
			return err
		},
	}
}

func compareBooleans(a, b *bool) int {
	number := func(v *bool) int {
		switch {
		case v == nil:
			return 0
		case *v:
			return 2
		default:
			return 1
		}
	}
	return cmp.Compare(number(a), number(b))
}

// mapField returns a field with an object. A nil map is {} in JSON.
func mapField(name string, since states.APIVersion, at func(*conductor.Node) *map[string]any) nodeField {
	return nodeField{
		name: name, since: since, types: []string{"object", "null"},
		write: func(w *writer, _ *request, n *conductor.Node) { w.object(*at(n)) },
		get: func(n *conductor.Node) any {
			if m := *at(n); m != nil {
				return m
			}
			return map[string]any{}
		},
		set: func(n *conductor.Node, v any) error {
			*at(n), _ = v.(map[string]any)
			return nil
		},
	}
}

// masked returns the field with a write function that masks the secrets in its object.
func (f nodeField) masked(mask func(map[string]any) map[string]any) nodeField {
	get := f.get
	f.write = func(w *writer, _ *request, n *conductor.Node) { w.object(mask(get(n).(map[string]any))) }
	return f
}

// timeField returns a read-only field with a time.
func timeField(name string, since states.APIVersion, of func(*conductor.Node) *time.Time) nodeField {
	return nodeField{
		name: name, since: since,
		write:   func(w *writer, _ *request, n *conductor.Node) { w.time(of(n)) },
		compare: func(a, b *conductor.Node) int { return compareTimes(of(a), of(b)) },
	}
}

// stateField returns a read-only field with a provision state.
func stateField(name string, of func(*conductor.Node) states.State) nodeField {
	return nodeField{
		name: name,
		write: func(w *writer, r *request, n *conductor.Node) {
			w.state(of(n))
		},
		compare: func(a, b *conductor.Node) int { return cmp.Compare(of(a).String(), of(b).String()) },
	}
}

// powerField returns a read-only field with a power state.
func powerField(name string, of func(*conductor.Node) states.Power) nodeField {
	return nodeField{
		name:    name,
		write:   func(w *writer, _ *request, n *conductor.Node) { w.power(of(n)) },
		compare: func(a, b *conductor.Node) int { return cmp.Compare(of(a).String(), of(b).String()) },
	}
}

// interfaceField returns the field with the hardware interface of a kind. Responses show the
// default of the hardware type if the node names no interface.
func interfaceField(kind string, since states.APIVersion) nodeField {
	chosen := func(n *conductor.Node) string { return n.Interfaces[kind] }
	return nodeField{
		name: kind + "_interface", since: since, types: []string{"string", "null"},
		write: func(w *writer, r *request, n *conductor.Node) {
			w.textOrNull(r.interfaceOf(n, kind))
		},
		compare: func(a, b *conductor.Node) int { return cmp.Compare(chosen(a), chosen(b)) },
		get: func(n *conductor.Node) any {
			if name := chosen(n); name != "" {
				return name
			}
			return nil
		},
		set: func(n *conductor.Node, v any) error {
			name, named := v.(string)
			if !named {
				delete(n.Interfaces, kind)
				return nil
			}
			if n.Interfaces == nil {
				n.Interfaces = map[string]string{}
			}
			n.Interfaces[kind] = name
			return nil
		},
	}.editable()
}

// uuidTextField returns a field with a text that must be a UUID.
func uuidTextField(name string, since states.APIVersion, at func(*conductor.Node) *string) nodeField {
	f := textField(name, since, at)
	set := f.set
	f.set = func(n *conductor.Node, v any) error {
		if s, ok := v.(string); ok && !isUUID(s) {
			return invalid("Expected UUID for %s: %s", name, show(s))
		}
		return set(n, v)
	}
	return f
}
