// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/states"
)

// ChooseFields returns the fields of a list: the requested fields, all fields if detail is true,
// otherwise the defaults. since is the first version with the parameter detail.
//
// Source: get_request_return_fields in ironic/api/controllers/v1/utils.py.
func (r *Request) ChooseFields(fields FieldSet, detail *bool, defaults []string, since states.APIVersion) (FieldSet, error) {
	switch {
	case detail != nil && r.Version < since:
		return nil, fault.Invalid("Invalid query parameter ?detail=%s received.", fault.Repr(*detail))
	case fields != nil && detail != nil && *detail:
		return nil, fault.Invalid("Can not specify ?detail=True and fields in the same request.")
	case fields == nil && (detail == nil || !*detail):
		return defaults, nil
	default:
		return fields, nil
	}
}

// FieldSet holds the names of the requested fields; nil means all fields.
type FieldSet []string

// Has reports whether a field was requested.
func (s FieldSet) Has(name string) bool { return s == nil || slices.Contains(s, name) }

// InvalidFields returns the fault of fields that do not exist, nil for none.
func InvalidFields(unknown []string) error {
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fault.Invalid("Field(s) \"%s\" are not valid", fault.Show(strings.Join(unknown, ", ")))
}
