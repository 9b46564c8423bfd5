// SPDX-License-Identifier: Apache-2.0

// Package oslobool reads the words that Ironic accepts for booleans:
//
//	verify, ok := oslobool.Parse("yes") // true, true
//
// Source: bool_from_string of oslo_utils/strutils.py.
package oslobool

import "strings"

// Parse returns the boolean for a word, in any case of letters. It reports whether the word is known.
func Parse(word string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	default:
		return false, false
	}
}
