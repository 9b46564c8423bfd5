// SPDX-License-Identifier: Apache-2.0

// Package guard reduces a BMC's answers to members that gofish 0.20.0, the Redfish library of
// bmclib, reads without harm. gofish trusts its BMC: some answers end the process in one
// of its goroutines, and others lead its requests elsewhere.
package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ironstate/ironstate/internal/exactjson"
	"github.com/ironstate/ironstate/internal/jsonsize"
)

// The bounds of a resource. Real ones have far less.
const (
	maxDepth  = 24
	maxValues = 20_000
	maxTrials = 1_000 // decodings to find the members of a wrong type
)

// Rules are the rules for one resource.
type Rules struct {
	// Path is where the resource was read.
	Path string
	// Follow returns the path of a link, and whether the link stays on the host.
	Follow func(link string) (path string, ok bool)
	// Decode decodes a resource as gofish will. It may panic. If it is nil, values of a wrong type stay.
	Decode func(resource []byte) error
}

// Resource returns what gofish may read of a resource, or an error if that is nothing:
//
//   - The resource is an object, of bounded depth and size, with its own path as its
//     @odata.id.
//   - No value is null. In a list there is no empty object either, because gofish reads
//     the service root for a link that is empty.
//   - Links and the targets of actions are paths on the host. There is no link to a next
//     page: its reader collects the pages.
//   - Names in one object that differ only in case are left out, because gofish and the
//     caller would read different values.
//   - A value of the wrong type, for which gofish refuses the whole resource, is left out.
func Resource(body []byte, r Rules) (map[string]any, error) {
	if values, depth := jsonsize.Measure(body); values > maxValues || depth > maxDepth {
		return nil, fmt.Errorf("the resource has %d values in %d levels, and may have %d in %d", values, depth, maxValues, maxDepth)
	}
	var resource map[string]any
	if err := exactjson.Unmarshal(body, &resource); err != nil {
		return nil, err
	}
	if resource == nil {
		return nil, errors.New("the resource is null")
	}
	f := filter{Rules: r}
	f.clean(resource)
	Set(resource, "@odata.id", r.Path)
	if r.Decode == nil {
		return resource, nil
	}
	f.prune(resource, func(part any) any { return part })
	if !f.decodes(resource) {
		return nil, errors.New("the resource has too many values of a wrong type")
	}
	return resource, nil
}

// Set sets a member of a resource and removes those whose names differ from its name only in case.
func Set(resource map[string]any, name string, value any) {
	for other := range resource {
		if strings.EqualFold(other, name) {
			delete(resource, other)
		}
	}
	resource[name] = value
}

type filter struct {
	Rules
	trials int
}

// clean cleans an object in place.
func (f *filter) clean(object map[string]any) {
	spellings := make(map[string]int)
	for name := range object {
		spellings[fold(name)]++
	}
	for name, value := range object {
		folded := fold(name)
		value, ok := f.value(value)
		if ok && slices.Contains(linkNames, folded) {
			text, _ := value.(string)
			value, ok = f.Follow(text)
		}
		if !ok || spellings[folded] > 1 || strings.HasSuffix(folded, nextPage) {
			delete(object, name)
			continue
		}
		object[name] = value
	}
}

// value returns a clean value, and whether it may stay.
func (f *filter) value(value any) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		f.clean(v)
	case []any:
		kept := v[:0]
		for _, element := range v {
			element, ok := f.value(element)
			if object, is := element.(map[string]any); ok && !(is && len(object) == 0) {
				kept = append(kept, element)
			}
		}
		return kept, true
	}
	return value, value != nil
}

// linkNames are the members whose values gofish sends requests to.
var (
	linkNames = []string{fold("@odata.id"), fold("href"), fold("target")}
	nextPage  = fold("@odata.nextLink")
)

// fold returns a name in the case in which encoding/json compares it.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		for {
			next := unicode.SimpleFold(r)
			if next <= r {
				return next
			}
			r = next
		}
	}, name)
}

// prune removes the values of an object that keep it from being decoded. within puts a part
// of the object where it is in the resource.
func (f *filter) prune(object map[string]any, within func(any) any) {
	if f.decodes(within(object)) {
		return
	}
	for name, value := range object {
		alone := func(part any) any { return within(map[string]any{name: part}) }
		if f.pruneValue(&value, alone) {
			object[name] = value
		} else {
			delete(object, name)
		}
	}
}

// pruneValue reports whether a value can be decoded, after the removal of parts that cannot.
func (f *filter) pruneValue(value *any, within func(any) any) bool {
	if f.decodes(within(*value)) {
		return true
	}
	switch v := (*value).(type) {
	case map[string]any:
		f.prune(v, within)
	case []any:
		*value = slices.DeleteFunc(v, func(element any) bool {
			return !f.pruneValue(&element, func(part any) any { return within([]any{part}) })
		})
	default:
		return false
	}
	return f.decodes(within(*value))
}

// decodes reports whether gofish can decode a part of the resource, which it cannot after maxTrials.
func (f *filter) decodes(part any) (ok bool) {
	if f.trials++; f.trials > maxTrials {
		return false
	}
	defer func() { _ = recover() }() // the result is then false
	text, err := json.Marshal(part)
	return err == nil && f.Decode(text) == nil
}
