// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// field is a field of a node in the API.
type field struct {
	name  string
	key   string            // the name as a JSON key, with quotes and colon
	since states.APIVersion // the first version with the field

	write func(w *wire.Writer, r *rest.Request, n *conductor.Node)
	// compare orders nodes by the field; nil if the field is not a sort key.
	compare func(r *rest.Request, a, b *conductor.Node) int

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
func (f field) creatable() field { f.created = true; return f }
func (f field) patchable() field { f.patched = true; return f }
func (f field) editable() field  { return f.creatable().patchable() }

func (f field) atMost(length int) field { f.maxLength = length; return f }
func (f field) notChosen() field        { f.hidden = true; return f }

// textField returns a field with a text. An empty one is null in JSON, unless a client has set "".
func textField(name string, since states.APIVersion, at func(*conductor.Node) *string) field {
	return field{
		name: name, since: since, types: []string{"string", "null"},
		write: func(w *wire.Writer, _ *rest.Request, n *conductor.Node) {
			if s := *at(n); s != "" || slices.Contains(n.Empty, name) {
				w.Text(s)
			} else {
				w.Null()
			}
		},
		compare: func(_ *rest.Request, a, b *conductor.Node) int {
			emptyA, emptyB := slices.Contains(a.Empty, name), slices.Contains(b.Empty, name)
			return cmp.Or(cmp.Compare(*at(a), *at(b)), compareBooleans(&emptyA, &emptyB)) // null comes before ""
		},
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
func shownField(name string, since states.APIVersion, of func(*rest.Request, *conductor.Node) string) field {
	return field{
		name: name, since: since,
		write:   func(w *wire.Writer, r *rest.Request, n *conductor.Node) { w.TextOrNull(of(r, n)) },
		compare: func(r *rest.Request, a, b *conductor.Node) int { return cmp.Compare(of(r, a), of(r, b)) },
	}
}

// flagField returns a boolean field. Setting it to null sets false.
func flagField(name string, since states.APIVersion, at func(*conductor.Node) *bool) field {
	return field{
		name: name, since: since, types: schema.BooleanTypes,
		write:   func(w *wire.Writer, _ *rest.Request, n *conductor.Node) { w.Boolean(*at(n)) },
		compare: func(_ *rest.Request, a, b *conductor.Node) int { return compareBooleans(at(a), at(b)) },
		get:     func(n *conductor.Node) any { return *at(n) },
		set: func(n *conductor.Node, v any) error {
			b, err := rest.ToBoolean(name, v)
			*at(n) = b != nil && *b
			return err
		},
	}
}

// choiceField returns a field that is true, false or null.
func choiceField(name string, since states.APIVersion, at func(*conductor.Node) **bool) field {
	return field{
		name: name, since: since, types: schema.BooleanTypes,
		write: func(w *wire.Writer, _ *rest.Request, n *conductor.Node) {
			if b := *at(n); b != nil {
				w.Boolean(*b)
			} else {
				w.Null()
			}
		},
		compare: func(_ *rest.Request, a, b *conductor.Node) int { return compareBooleans(*at(a), *at(b)) },
		get: func(n *conductor.Node) any {
			if b := *at(n); b != nil {
				return *b
			}
			return nil
		},
		set: func(n *conductor.Node, v any) (err error) {
			*at(n), err = rest.ToBoolean(name, v)
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
func mapField(name string, since states.APIVersion, at func(*conductor.Node) *map[string]any) field {
	return field{
		name: name, since: since, types: []string{"object", "null"},
		write: func(w *wire.Writer, _ *rest.Request, n *conductor.Node) { w.Object(*at(n)) },
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
func (f field) masked(mask func(map[string]any) map[string]any) field {
	get := f.get
	f.write = func(w *wire.Writer, _ *rest.Request, n *conductor.Node) { w.Object(mask(get(n).(map[string]any))) }
	return f
}

// timeField returns a read-only field with a time.
func timeField(name string, since states.APIVersion, of func(*conductor.Node) *time.Time) field {
	return field{
		name: name, since: since,
		write:   func(w *wire.Writer, _ *rest.Request, n *conductor.Node) { w.Time(of(n)) },
		compare: func(_ *rest.Request, a, b *conductor.Node) int { return rest.CompareTimes(of(a), of(b)) },
	}
}

// stateField returns a read-only field with a provision state.
func stateField(name string, of func(*conductor.Node) states.State) field {
	return field{
		name: name,
		write: func(w *wire.Writer, r *rest.Request, n *conductor.Node) {
			w.State(of(n))
		},
		compare: func(_ *rest.Request, a, b *conductor.Node) int { return cmp.Compare(of(a).String(), of(b).String()) },
	}
}

// powerField returns a read-only field with a power state.
func powerField(name string, of func(*conductor.Node) states.Power) field {
	return field{
		name:    name,
		write:   func(w *wire.Writer, _ *rest.Request, n *conductor.Node) { w.Power(of(n)) },
		compare: func(_ *rest.Request, a, b *conductor.Node) int { return cmp.Compare(of(a).String(), of(b).String()) },
	}
}

// interfaceField returns the field with the hardware interface of a kind. Responses show the
// default of the hardware type if the node names no interface.
func interfaceField(kind string, since states.APIVersion) field {
	chosen := func(n *conductor.Node) string { return n.Interfaces[kind] }
	return field{
		name: kind + "_interface", since: since, types: []string{"string", "null"},
		write: func(w *wire.Writer, r *rest.Request, n *conductor.Node) {
			w.TextOrNull(r.InterfaceOf(n, kind))
		},
		compare: func(r *rest.Request, a, b *conductor.Node) int {
			return cmp.Compare(r.InterfaceOf(a, kind), r.InterfaceOf(b, kind))
		},
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
func uuidTextField(name string, since states.APIVersion, at func(*conductor.Node) *string) field {
	f := textField(name, since, at)
	set := f.set
	f.set = func(n *conductor.Node, v any) error {
		if s, ok := v.(string); ok && !rest.IsUUID(s) {
			return fault.Invalid("Expected UUID for %s: %s", name, fault.Show(s))
		}
		return set(n, v)
	}
	return f
}
