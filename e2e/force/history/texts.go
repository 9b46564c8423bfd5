// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// pem is where a node's record has the certificate of its agent, whose lines may end.
const pem = ".agent.verify_ca"

// ControlCharacter returns where a stored record has a control character in a text or a key, such as ".last_error" or
// ".steps[2]", and an empty text if it has none. A character that changes the direction of writing counts as one. The
// certificate of an agent may have line breaks and tabs.
func ControlCharacter(record []byte) (where string, err error) {
	var value any
	if err := json.Unmarshal(record, &value); err != nil {
		return "", err
	}
	return controlCharacter(value, ""), nil
}

// controlCharacter is ControlCharacter for a decoded value at a path.
func controlCharacter(value any, path string) string {
	switch value := value.(type) {
	case string:
		if strings.ContainsFunc(value, func(r rune) bool { return isControl(r) && (path != pem || !strings.ContainsRune("\n\r\t", r)) }) {
			return path
		}
	case []any:
		for i, item := range value {
			if where := controlCharacter(item, fmt.Sprintf("%s[%d]", path, i)); where != "" {
				return where
			}
		}
	case map[string]any:
		for key, item := range value {
			if strings.ContainsFunc(key, isControl) {
				return fmt.Sprintf("%s.%q", path, key)
			}
			if where := controlCharacter(item, path+"."+key); where != "" {
				return where
			}
		}
	}
	return ""
}

// isControl reports whether a character may move a terminal's cursor, or reorder the characters around it.
func isControl(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
