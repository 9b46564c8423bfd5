// SPDX-License-Identifier: Apache-2.0

package states

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// The encoding methods of State, Event and the other words call the functions below. A value is
// passed as its number, and as a Stringer for the text of errors.

func marshalText(v *vocabulary, n uint8, value fmt.Stringer) ([]byte, error) {
	if int(n) >= len(v.words) {
		return nil, v.unknown(value.String())
	}
	return []byte(v.words[n]), nil
}

func marshalJSON(v *vocabulary, n uint8, value fmt.Stringer) ([]byte, error) {
	if n == 0 {
		return []byte("null"), nil
	}
	if int(n) >= len(v.words) {
		return nil, v.unknown(value.String())
	}
	return []byte(`"` + v.words[n] + `"`), nil // no word has a character that JSON escapes
}

func unmarshalJSON[T ~uint8](value *T, v *vocabulary, data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*value = 0
		return nil
	}
	var word string
	if json.Unmarshal(data, &word) != nil {
		return v.unknown(string(data))
	}
	return setWord(value, v, word)
}

func sqlValue(v *vocabulary, n uint8, value fmt.Stringer) (driver.Value, error) {
	if n == 0 {
		return nil, nil
	}
	if int(n) >= len(v.words) {
		return nil, v.unknown(value.String())
	}
	return v.words[n], nil
}

func scan[T ~uint8](value *T, v *vocabulary, src any) error {
	switch src := src.(type) {
	case nil:
		*value = 0
		return nil
	case string:
		return setWord(value, v, src)
	case []byte:
		return setWord(value, v, string(src))
	default:
		return v.unknown(fmt.Sprintf("%T(%v)", src, src))
	}
}

func setWord[T ~uint8](value *T, v *vocabulary, word string) error {
	parsed, err := parse[T](v, word)
	if err == nil {
		*value = parsed
	}
	return err
}
