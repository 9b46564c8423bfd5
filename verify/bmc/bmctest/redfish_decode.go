// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"encoding/json"
	"slices"

	"github.com/ironstate/ironstate/internal/sorted"
)

// setter takes the value of a member of a request's body. It returns why it refuses the value, nil if it does not.
type setter func(at member, raw json.RawMessage) (refusal *reply)

// setters are the members that a body may have.
type setters map[string]setter

// set sets the members of a body: the properties of a resource or, with an action, its parameters. It returns the
// refusal of the first one by name, nil if there is none.
func (all setters) set(action string, body []byte) (refusal *reply) {
	values, ok := members(body)
	if !ok {
		return badJSON()
	}
	for name, raw := range sorted.All(values) {
		at := member{name, action}
		set, known := all[name]
		if !known {
			return at.unknown()
		}
		if refusal := set(at, raw); refusal != nil {
			return refusal
		}
	}
	return nil
}

// into takes a value of a type, which null is not.
func into[T any](to *T) setter {
	return func(at member, raw json.RawMessage) *reply {
		var value *T
		if json.Unmarshal(raw, &value) != nil || value == nil {
			return at.wrongType(raw)
		}
		*to = *value
		return nil
	}
}

// property takes a value of a type as a property of an object.
func property[T any](of object) setter {
	return func(at member, raw json.RawMessage) *reply {
		var value T
		if refusal := into(&value)(at, raw); refusal != nil {
			return refusal
		}
		of[at.name] = value
		return nil
	}
}

// oneOf takes one of some words.
func oneOf(to *string, words []string) setter {
	return func(at member, raw json.RawMessage) *reply {
		var text string
		if refusal := into(&text)(at, raw); refusal != nil {
			return refusal
		}
		if !slices.Contains(words, text) {
			return at.notInList(text)
		}
		*to = text
		return nil
	}
}

// inside takes an object with some members.
func inside(all setters) setter {
	return func(at member, raw json.RawMessage) *reply {
		if _, ok := members(raw); !ok {
			return at.wrongType(raw)
		}
		return all.set("", raw)
	}
}

// readOnly takes no value.
func readOnly(at member, _ json.RawMessage) *reply { return at.readOnly() }
