package rest

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// size is what is known of JSON before it is decoded.
type size struct {
	depth   int   // of lists and objects
	longest int   // the length of the longest text
	decoded int64 // an upper bound of the memory in bytes that the value needs
}

// The memory in bytes that parts of JSON need at most when they are decoded, on 64 bits: an element has its place in a list
// that has grown to twice its length and a box, a member has its share of a map's first group of eight.
const (
	objectSize  = 64
	listSize    = 48
	memberSize  = 320
	elementSize = 80
	textSize    = 16 // and its length
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

// decoder decodes valid JSON in UTF-8, once and without a copy of it, with numbers as [json.Number]:
// the standard library can have the numbers only from a Decoder, which holds up to twice the text besides.
type decoder struct {
	text       []byte
	at         int
	outOfRange bool // a number is beyond the range of float64
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

// next returns the next character that is no space.
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
