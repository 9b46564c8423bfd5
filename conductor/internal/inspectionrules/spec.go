// SPDX-License-Identifier: Apache-2.0

package inspectionrules

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// specPattern matches a format specification: fill and alignment, sign, zero, width, precision and type. The other
// parts that Python knows are not supported.
var specPattern = regexp.MustCompile(`\A(?:(.)?([<>^=]))?([-+ ]?)(0?)(\d{1,4})?(?:\.(\d{1,4}))?([a-zA-Z%]?)\z`)

// spec is a format specification.
type spec struct {
	fill, align, sign, width, precision, kind string
	zero                                      bool
}

// parseSpec returns a format specification.
func parseSpec(text string) (spec, error) {
	m := specPattern.FindStringSubmatch(text)
	if m == nil {
		return spec{}, fail("Inspection rule execution failed. Reason: the format specification %q is not supported", text)
	}
	s := spec{fill: m[1], align: m[2], sign: m[3], zero: m[4] != "", width: m[5], precision: m[6], kind: m[7]}
	if s.zero && s.align == "" {
		s.fill, s.align = "0", "="
	}
	if s.fill == "" {
		s.fill = " "
	}
	return s, nil
}

// pad fills a text up to the width. The sign of a number stays before the fill if it is aligned by "=".
func (s spec) pad(sign, text, usual string) string {
	width, _ := strconv.Atoi(s.width)
	missing := max(width-utf8.RuneCountInString(sign+text), 0)
	align := s.align
	if align == "" {
		align = usual
	}
	switch fill := strings.Repeat(s.fill, missing); align {
	case "<":
		return sign + text + fill
	case ">":
		return fill + sign + text
	case "^":
		half := missing / 2
		return strings.Repeat(s.fill, half) + sign + text + strings.Repeat(s.fill, missing-half)
	default:
		return sign + fill + text
	}
}

// formatText returns a text as a specification says.
func formatText(text, specification string) (string, error) {
	s, err := parseSpec(specification)
	if err != nil {
		return "", err
	}
	if s.zero && s.align == "=" {
		s.align = "<"
	}
	if s.sign != "" || s.align == "=" || s.kind != "" && s.kind != "s" {
		return "", errNoField
	}
	if s.precision != "" {
		most, _ := strconv.Atoi(s.precision)
		runes := []rune(text)
		text = string(runes[:min(most, len(runes))])
	}
	return s.pad("", text, "<"), nil
}

// formatNumber returns a number as a specification says.
func formatNumber(n json.Number, specification string) (string, error) {
	s, err := parseSpec(specification)
	if err != nil {
		return "", err
	}
	digits, err := s.digits(n)
	if err != nil {
		return "", err
	}
	sign := strings.TrimSuffix(s.sign, "-")
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	return s.pad(sign, digits, ">"), nil
}

// digits returns a number in the kind of the specification.
func (s spec) digits(n json.Number) (string, error) {
	bases := map[string]int{"": 10, "d": 10, "b": 2, "o": 8, "x": 16, "X": 16}
	if base, has := bases[s.kind]; has && isInteger(n) {
		if s.precision != "" {
			return "", errNoField
		}
		i, _ := new(big.Int).SetString(n.String(), 10)
		text := i.Text(base)
		if s.kind == "X" {
			text = strings.ToUpper(text)
		}
		return text, nil
	}
	precision := 6
	if s.precision != "" {
		precision, _ = strconv.Atoi(s.precision)
	}
	f, _ := n.Float64()
	switch {
	case s.kind == "" && s.precision == "":
		return str(n), nil
	case s.kind == "f", s.kind == "e", s.kind == "E":
		return strconv.FormatFloat(f, s.kind[0], precision, 64), nil
	case s.kind == "%":
		return strconv.FormatFloat(f*100, 'f', precision, 64) + "%", nil
	case strings.Contains("bdoxXs", s.kind) && s.kind != "":
		return "", errNoField
	default:
		return "", fail("Inspection rule execution failed. Reason: numbers of the format %q are not supported", s.kind)
	}
}
