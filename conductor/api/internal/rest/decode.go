package rest

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// size describes a JSON text. measure computes it without decoding the text.
type size struct {
	depth   int   // the maximum nesting of lists and objects
	longest int   // the length of the longest string in bytes
	decoded int64 // an upper bound of the memory in bytes that the decoded value occupies
}

// These constants are upper bounds of the memory in bytes that parts of JSON occupy when they are decoded on a
// 64-bit machine. elementSize covers the slot in a list whose capacity is twice its length, and the value that
// the slot's interface points to. memberSize covers a slot in the map's first group of eight.
const (
	objectSize  = 64
	listSize    = 48
	memberSize  = 320
	elementSize = 80
	textSize    = 16 // without the bytes of the string
)

// measure returns the size of JSON. For invalid JSON it returns an upper bound.
func measure(b []byte) (s size) {
	level := 0
	s.decoded = elementSize
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			start := i + 1
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			length := min(i, len(b)) - start
			s.longest = max(s.longest, length)
			s.decoded += textSize + int64(length)
		case '{', '[':
			level++
			s.depth = max(s.depth, level)
			s.decoded += listSize + elementSize
			if b[i] == '{' {
				s.decoded += objectSize - listSize
			}
		case '}', ']':
			level--
		case ':':
			s.decoded += memberSize
		case ',':
			s.decoded += elementSize
		}
	}
	return s
}

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
	start, escaped := d.at, false
	for d.at++; d.text[d.at] != '"'; d.at++ {
		if d.text[d.at] == '\\' {
			escaped = true
			d.at++
		}
	}
	d.at++
	if !escaped {
		return string(d.text[start+1 : d.at-1])
	}
	var s string
	_ = json.Unmarshal(d.text[start:d.at], &s) // valid
	return s
}
