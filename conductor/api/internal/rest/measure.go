// SPDX-License-Identifier: Apache-2.0

package rest

import "slices"

// meter measures a JSON text while it arrives, without decoding it. For invalid JSON its figures mean nothing: such a
// text is refused before a decoder that calls itself for each level reads it.
type meter struct {
	depth   int   // the maximum nesting of lists and objects
	longest int   // the length of the longest string in bytes
	start   int   // the offset of the longest string, behind its quotation mark
	plain   bool  // the longest string contains neither escapes nor control characters
	values  int   // an upper bound of the number of values, of which lists and objects are some
	decoded int64 // an upper bound of the memory in bytes that the decoded value occupies, without the longest string

	read      int  // the bytes so far
	level     int  // the current nesting
	inText    bool // the next character is in a string
	textPlain bool // the current string contains neither escapes nor control characters so far
	escaped   bool // the next character is part of an escape
	length    int  // the length of the current string so far
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

func newMeter() meter { return meter{decoded: elementSize, values: 1} }

// add measures the next part of the JSON.
func (m *meter) add(part []byte) {
	for i := 0; i < len(part); i++ {
		if m.inText {
			if i += m.addText(part[i:]); i == len(part) {
				break
			}
			m.endText(m.read + i)
			continue
		}
		switch part[i] {
		case '"':
			m.inText, m.textPlain, m.length = true, true, 0
		case '{', '[':
			m.level++
			m.depth = max(m.depth, m.level)
			m.values++
			m.decoded += listSize + elementSize
			if part[i] == '{' {
				m.decoded += objectSize - listSize
			}
		case '}', ']':
			m.level--
		case ':':
			m.values++
			m.decoded += memberSize
		case ',':
			m.values++
			m.decoded += elementSize
		}
	}
	m.read += len(part)
}

// addText measures the rest of a string and returns the number of its bytes in the part, up to the quotation mark.
func (m *meter) addText(part []byte) int {
	i := 0
	for ; i < len(part); i++ {
		switch c := part[i]; {
		case m.escaped:
			m.escaped = false
		case c == '"':
			m.length += i
			return i
		case c == '\\':
			m.escaped, m.textPlain = true, false
		case c < ' ':
			m.textPlain = false
		}
	}
	m.length += i
	return i
}

// endText is called at the quotation mark that ends a string. The longest string of a body is not counted: endText
// keeps the longer of the new string and the longest one so far, and counts the other.
func (m *meter) endText(end int) {
	m.inText = false
	shorter := m.length
	if m.length > m.longest {
		shorter, m.longest, m.plain, m.start = m.longest, m.length, m.textPlain, end-m.length
	}
	m.decoded += textSize + int64(shorter)
}

// withoutLongest returns how many of the total bytes so far do not belong to the longest string.
func (m *meter) withoutLongest(total int64) int64 {
	longest := m.longest
	if m.inText {
		longest = max(longest, m.length)
	}
	return total - int64(longest)
}

// memory returns an upper bound of the memory in bytes that the decoded value of a text of total bytes occupies besides
// the text.
func (m *meter) memory(total int64) int64 {
	if m.plain && isMostOf(m.longest, int(total)) {
		return m.decoded
	}
	return m.decoded + int64(m.longest)
}

// withoutPlainText returns the text without its longest string if that is plain and most of the text. It is as valid as
// the whole.
func (m *meter) withoutPlainText(text []byte) []byte {
	if !m.plain || !isMostOf(m.longest, len(text)) {
		return text
	}
	return slices.Concat(text[:m.start], text[m.start+m.longest:])
}

// isMostOf reports whether a string without escapes is so long that the decoder does not copy it: the decoded value
// then shares the memory of the JSON text.
func isMostOf(length, total int) bool { return length > total/2 }
