// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"encoding/json"
	"strconv"
)

// integer returns a JSON number as an int, and whether it has no fraction and fits.
func integer(v json.Number) (n int, ok bool) {
	if n, err := strconv.Atoi(v.String()); err == nil {
		return n, true
	}
	f, _ := v.Float64() // f is infinite if the number is too large
	n = int(f)          // which depends on the processor if f does not fit
	return n, -1<<63 <= f && f < 1<<63 && f == float64(n)
}

// WholeNumber returns a non-negative integer, which may be a number or a string.
func WholeNumber(v any) (int, bool) {
	switch v := v.(type) {
	case json.Number:
		n, ok := integer(v)
		return n, ok && n >= 0
	case string:
		n, err := strconv.Atoi(v)
		return n, err == nil && n >= 0
	default:
		return 0, false
	}
}
