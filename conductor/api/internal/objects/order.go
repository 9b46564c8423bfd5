// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

// order returns the comparison for a sort key, nil for the order of creation.
func (x *resource) order(r *rest.Request, key string) (func(a, b conductor.Object) int, error) {
	f := x.field(key)
	switch {
	case key == "id", key == "":
		return nil, nil
	case key == "uuid":
		return func(a, b conductor.Object) int { return cmp.Compare(a.Meta().UUID, b.Meta().UUID) }, nil
	case key == "created_at":
		return func(a, b conductor.Object) int { return a.Meta().CreatedAt.Compare(b.Meta().CreatedAt) }, nil
	case key == "updated_at":
		return func(a, b conductor.Object) int { return rest.CompareTimes(a.Meta().UpdatedAt, b.Meta().UpdatedAt) }, nil
	case f == nil, f.is(noColumn):
		return nil, fault.Invalid("The sort_key value \"%s\" is an invalid field for sorting", fault.Show(key))
	default:
		return func(a, b conductor.Object) int { return strings.Compare(sortText(f.value(a)), sortText(f.value(b))) }, nil
	}
}

// sortText returns a string whose order is that of the values; null comes first.
func sortText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return "s" + v
	case json.Number:
		f, _ := v.Float64()
		return fmt.Sprintf("n%020.3f", f)
	default:
		return fmt.Sprint("v", v)
	}
}
