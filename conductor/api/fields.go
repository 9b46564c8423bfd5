package api

import (
	"slices"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// chooseFields returns the fields of a list: the requested fields, all fields if detail is true,
// otherwise the defaults. since is the first version with the parameter detail.
//
// Source: get_request_return_fields in ironic/api/controllers/v1/utils.py.
func (r *request) chooseFields(fields fieldSet, detail *bool, defaults []string, since states.APIVersion) (fieldSet, error) {
	switch {
	case detail != nil && r.version < since:
		return nil, invalid("Invalid query parameter ?detail=%s received.", repr(*detail))
	case fields != nil && detail != nil && *detail:
		return nil, invalid("Can not specify ?detail=True and fields in the same request.")
	case fields == nil && (detail == nil || !*detail):
		return defaults, nil
	default:
		return fields, nil
	}
}

// fieldSet holds the names of the requested fields; nil means all fields.
type fieldSet []string

func (s fieldSet) has(name string) bool { return s == nil || slices.Contains(s, name) }

// invalidFields returns the fault of fields that do not exist, nil for none.
func invalidFields(unknown []string) error {
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return invalid("Field(s) \"%s\" are not valid", show(strings.Join(unknown, ", ")))
}
