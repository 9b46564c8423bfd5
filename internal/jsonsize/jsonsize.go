// SPDX-License-Identifier: Apache-2.0

// Package jsonsize measures JSON texts of senders that are not trusted, before they are decoded: a decoded value needs
// many times the memory of its text.
package jsonsize

// Measure returns the depth of a JSON text and a bound of the number of its values, which is exact for a text without
// empty arrays and objects. For an invalid text both figures are bounds of the values that a decoder meets before the
// fault.
func Measure(text []byte) (values, depth int) {
	level, quoted, escaped := 0, false, false
	values = 1
	for _, b := range text {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = b == '\\', b != '"'
		case b == '"':
			quoted = true
		case b == ',':
			values++
		case b == '{', b == '[':
			values++
			level++
			depth = max(depth, level)
		case b == '}', b == ']':
			level--
		}
	}
	return values, depth
}
