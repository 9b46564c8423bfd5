// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unsafe"
)

// decoder decodes valid JSON in UTF-8 in one pass, with numbers as [json.Number]. It does not copy the text.
// In the standard library only json.Decoder returns such numbers, and its buffer needs up to twice the text.
type decoder struct {
	text       []byte
	at         int
	outOfRange bool // a number does not fit into a float64
}

// value decodes the next value.
func (d *decoder) value() any {
	switch d.next() {
	case '{':
		object := map[string]any{}
		for d.at++; d.next() != '}'; {
			name := d.string()
			d.next()
			d.at++ // the colon
			object[name] = d.value()
			d.comma()
		}
		d.at++
		return object
	case '[':
		list := []any{}
		for d.at++; d.next() != ']'; {
			list = append(list, d.value())
			d.comma()
		}
		d.at++
		return list
	case '"':
		return d.string()
	case 't':
		d.at += len("true")
		return true
	case 'f':
		d.at += len("false")
		return false
	case 'n':
		d.at += len("null")
		return nil
	default:
		return d.number()
	}
}

// next returns the next character that is not white space.
func (d *decoder) next() byte {
	for bytes.IndexByte([]byte(" \t\r\n"), d.text[d.at]) >= 0 {
		d.at++
	}
	return d.text[d.at]
}

// comma skips a comma, if one is next.
func (d *decoder) comma() {
	if d.next() == ',' {
		d.at++
	}
}

func (d *decoder) number() json.Number {
	start := d.at
	for d.at < len(d.text) && bytes.IndexByte([]byte("+-.0123456789Ee"), d.text[d.at]) >= 0 {
		d.at++
	}
	number := json.Number(d.text[start:d.at])
	if _, err := strconv.ParseFloat(string(number), 64); err != nil {
		d.outOfRange = true
	}
	return number
}

func (d *decoder) string() string {
	start := d.at + 1
	end := start + bytes.IndexByte(d.text[start:], '"')
	if text := d.text[start:end]; bytes.IndexByte(text, '\\') < 0 {
		d.at = end + 1
		if isMostOf(len(text), len(d.text)) {
			return unsafe.String(unsafe.SliceData(text), len(text)) // nothing changes the JSON
		}
		return string(text)
	}
	for end = start; d.text[end] != '"'; end++ {
		if d.text[end] == '\\' {
			end++
		}
	}
	var s string
	_ = json.Unmarshal(d.text[d.at:end+1], &s) // valid
	d.at = end + 1
	return s
}
