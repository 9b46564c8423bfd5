// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"slices"
	"time"

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

	// write writes the value of the field.
	write func(w *wire.Writer, r *rest.Request, n *node)
	// compare orders nodes by the field; nil if the field is not a sort key.
	compare func(r *rest.Request, a, b *node) int

	// The following fields are set for fields that clients may write.
	created, patched bool           // whether POST and PATCH may set the field
	types            []string       // the JSON types of its values
	maxLength        int            // of a text, in characters; 0 means no limit
	secret           bool           // a value is not quoted in a fault
	schema           *schema.Schema // of its values, in place of the types
	// get returns the value of the field as decoded JSON.
	get func(n *node) any
	// set sets the field to a value of one of the types. Null sets the default.
	set func(n *node, value any) error
	// hidden excludes the field from the "fields" parameter of requests.
	hidden bool
}

// The methods below return a copy of a field with one more property: creatable allows a POST to set it, patchable a PATCH,
// and editable both; atMost limits the length of its text; notSelectable sets hidden;
// notSortable removes it from the sort keys; describedBy sets its schema.

func (f field) creatable() field                   { f.created = true; return f }
func (f field) patchable() field                   { f.patched = true; return f }
func (f field) editable() field                    { return f.creatable().patchable() }
func (f field) atMost(length int) field            { f.maxLength = length; return f }
func (f field) notSelectable() field               { f.hidden = true; return f }
func (f field) notSortable() field                 { f.compare = nil; return f }
func (f field) describedBy(s *schema.Schema) field { f.schema = s; return f }

// textField returns a field with a text. An empty one is null in JSON, unless a client has set "".
func textField(name string, since states.APIVersion, at func(*node) *string) field {
	return field{
		name: name, since: since, types: []string{"string", "null"},
		write: func(w *wire.Writer, _ *rest.Request, n *node) {
			if s := *at(n); s != "" || slices.Contains(n.Empty, name) {
				w.Text(s)
			} else {
				w.Null()
			}
		},
		compare: func(_ *rest.Request, a, b *node) int {
			emptyA, emptyB := slices.Contains(a.Empty, name), slices.Contains(b.Empty, name)
			return cmp.Or(cmp.Compare(*at(a), *at(b)), compareBooleans(&emptyA, &emptyB)) // null comes before ""
		},
		get: func(n *node) any {
			if s := *at(n); s != "" || slices.Contains(n.Empty, name) {
				return s
			}
			return nil
		},
		set: func(n *node, v any) error {
			*at(n), _ = v.(string)
			n.SetEmpty(name, v == "")
			return nil
		},
	}
}

// shownField returns a read-only field with a text.
func shownField(name string, since states.APIVersion, of func(*rest.Request, *node) string) field {
	return field{
		name: name, since: since,
		write:   func(w *wire.Writer, r *rest.Request, n *node) { w.TextOrNull(of(r, n)) },
		compare: func(r *rest.Request, a, b *node) int { return cmp.Compare(of(r, a), of(r, b)) },
	}
}

// flagField returns a boolean field. Setting it to null sets false.
func flagField(name string, since states.APIVersion, at func(*node) *bool) field {
	return field{
		name: name, since: since, types: schema.BooleanTypes,
		write:   func(w *wire.Writer, _ *rest.Request, n *node) { w.Boolean(*at(n)) },
		compare: func(_ *rest.Request, a, b *node) int { return compareBooleans(at(a), at(b)) },
		get:     func(n *node) any { return *at(n) },
		set: func(n *node, v any) error {
			b, err := rest.ToBoolean(name, v)
			*at(n) = b != nil && *b
			return err
		},
	}
}

// choiceField returns a field that is true, false or null.
func choiceField(name string, since states.APIVersion, at func(*node) **bool) field {
	return field{
		name: name, since: since, types: schema.BooleanTypes,
		write: func(w *wire.Writer, _ *rest.Request, n *node) {
			if b := *at(n); b != nil {
				w.Boolean(*b)
			} else {
				w.Null()
			}
		},
		compare: func(_ *rest.Request, a, b *node) int { return compareBooleans(*at(a), *at(b)) },
		get: func(n *node) any {
			if b := *at(n); b != nil {
				return *b
			}
			return nil
		},
		set: func(n *node, v any) (err error) {
			*at(n), err = rest.ToBoolean(name, v)
			return err
		},
	}
}

// compareBooleans orders null before false before true.
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
func mapField(name string, since states.APIVersion, at func(*node) *map[string]any) field {
	return field{
		name: name, since: since, types: []string{"object", "null"},
		write: func(w *wire.Writer, _ *rest.Request, n *node) { w.Object(*at(n)) },
		get: func(n *node) any {
			if m := *at(n); m != nil {
				return m
			}
			return map[string]any{}
		},
		set: func(n *node, v any) error {
			*at(n), _ = v.(map[string]any)
			return nil
		},
	}
}

// masked returns the field with a write function that masks the secrets in its object.
func (f field) masked(mask func(map[string]any) map[string]any) field {
	get := f.get
	f.secret = true
	f.write = func(w *wire.Writer, _ *rest.Request, n *node) { w.Object(mask(get(n).(map[string]any))) }
	return f
}

// timeField returns a read-only field with a time.
func timeField(name string, since states.APIVersion, of func(*node) *time.Time) field {
	return field{
		name: name, since: since,
		write:   func(w *wire.Writer, _ *rest.Request, n *node) { w.Time(of(n)) },
		compare: func(_ *rest.Request, a, b *node) int { return rest.CompareTimes(of(a), of(b)) },
	}
}

// stateField returns a read-only field with a provision state.
func stateField(name string, of func(*node) states.State) field {
	return field{
		name:    name,
		write:   func(w *wire.Writer, _ *rest.Request, n *node) { w.State(of(n)) },
		compare: func(_ *rest.Request, a, b *node) int { return cmp.Compare(of(a).String(), of(b).String()) },
	}
}

// powerField returns a read-only field with a power state.
func powerField(name string, of func(*node) states.Power) field {
	return field{
		name:    name,
		write:   func(w *wire.Writer, _ *rest.Request, n *node) { w.Power(of(n)) },
		compare: func(_ *rest.Request, a, b *node) int { return cmp.Compare(of(a).String(), of(b).String()) },
	}
}

// interfaceField returns the field with the hardware interface of a kind. Responses show the
// default of the hardware type if the node names no interface.
func interfaceField(kind string, since states.APIVersion) field {
	return field{
		name: kind + "_interface", since: since, types: []string{"string", "null"},
		write: func(w *wire.Writer, r *rest.Request, n *node) { w.TextOrNull(r.InterfaceOf(n, kind)) },
		compare: func(r *rest.Request, a, b *node) int {
			return cmp.Compare(r.InterfaceOf(a, kind), r.InterfaceOf(b, kind))
		},
		get: func(n *node) any {
			if name := n.Interfaces[kind]; name != "" {
				return name
			}
			return nil
		},
		set: func(n *node, v any) error {
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
func uuidTextField(name string, since states.APIVersion, at func(*node) *string) field {
	f := textField(name, since, at)
	set := f.set
	f.set = func(n *node, v any) error {
		if s, ok := v.(string); ok && !rest.IsUUID(s) {
			return fault.Invalid("Expected UUID for %s: %s", name, fault.Show(s))
		}
		return set(n, v)
	}
	return f
}
