// SPDX-License-Identifier: Apache-2.0

// Package exactjson decodes JSON whose numbers have no bounds, as in Python.
package exactjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

var errMore = errors.New("text follows the value")

// Unmarshal is [json.Unmarshal], but a number becomes a [json.Number], which is as it was written, where v has no other
// type for it.
func Unmarshal(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(v); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errMore
	}
	return nil
}
