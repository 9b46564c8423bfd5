// SPDX-License-Identifier: Apache-2.0

package inspectionrules

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/internal/pyrepr"
)

// check reports whether a condition holds. multiple says how the results of a loop count.
func (a *application) check(condition map[string]any) (bool, error) {
	multiple, _ := condition["multiple"].(string)
	var results []bool
	for _, item := range items(condition) {
		holds, err := a.checkOnce(condition, item)
		if err != nil {
			return false, err
		}
		if holds && multiple == "first" {
			return true, nil
		}
		results = append(results, holds)
	}
	switch multiple {
	case "all":
		return !slices.Contains(results, false), nil
	case "last":
		return results[len(results)-1], nil
	case "first": // of several, the first one that holds
		return false, nil
	default:
		return slices.Contains(results, true), nil
	}
}

// checkOnce reports whether a condition holds for an item of its loop, nil for none.
func (a *application) checkOnce(condition map[string]any, item *any) (bool, error) {
	o := find(operators, condition["op"])
	args, err := a.arguments(o.operation, condition["args"], item)
	if err != nil {
		return false, err
	}
	if item != nil {
		args["force_strings"] = true
	}
	holds, err := o.decide(args)
	return holds != strings.HasPrefix(condition["op"].(string), "!"), err
}

func isEmpty(args map[string]any) (bool, error) {
	return slices.Contains([]string{"", "None", "[]", "{}"}, str(args["value"])), nil
}

func isNone(args map[string]any) (bool, error) { return args["value"] == nil, nil }

func isTrue(args map[string]any) (bool, error) {
	return isTruth(args["value"], "yes", "true", true), nil
}

func isFalse(args map[string]any) (bool, error) {
	return args["value"] == nil || isTruth(args["value"], "no", "false", false), nil
}

func isOneOf(args map[string]any) (bool, error) {
	values, has := args["values"]
	if !has {
		return false, nil
	}
	return contains(values, args["value"])
}

// comparison returns the function of an operator that compares values.
func comparison(operator string) func(map[string]any) (bool, error) {
	return func(args map[string]any) (bool, error) {
		return compare(operator, args["values"], pyrepr.Truthy(args["force_strings"]))
	}
}

// compare reports whether an operator holds for all neighbours in a list.
func compare(operator string, values any, asText bool) (bool, error) {
	list, is := values.([]any)
	if !is {
		return false, fail("Inspection rule condition check failed. Reason: Failed to check condition: '%s' on values: %s: "+
			"Expected list for 'values', got: %s", operator, str(values), className(values))
	}
	if asText {
		list = slices.Clone(list)
		for i, v := range list {
			list[i] = str(v)
		}
	}
	for i := 1; i < len(list); i++ {
		x, y := list[i-1], list[i]
		holds, err := equal(x, y), error(nil)
		switch operator {
		case "lt":
			holds, err = less(x, y, "<")
		case "gt":
			holds, err = less(y, x, ">")
		}
		if err != nil || !holds {
			return false, err
		}
	}
	return true, nil
}

// isTruth reports whether a value is one of two words, a boolean, or a number that is zero or not.
func isTruth(value any, word, other string, want bool) bool {
	switch value := value.(type) {
	case bool, json.Number:
		return pyrepr.Truthy(value) == want
	case string:
		text := strings.ToLower(value)
		return text == word || text == other
	default:
		return false
	}
}

// contains reports whether a value is in a list, a part of a text or a key of an object.
func contains(values, value any) (bool, error) {
	text, isText := value.(string)
	switch values := values.(type) {
	case []any:
		return slices.ContainsFunc(values, func(v any) bool { return equal(v, value) }), nil
	case string:
		if !isText {
			return false, fmt.Errorf("'in <string>' requires string as left operand, not %s", className(value))
		}
		return strings.Contains(values, text), nil
	case map[string]any:
		switch value.(type) {
		case []any, map[string]any:
			return false, fmt.Errorf("unhashable type: '%s'", className(value))
		}
		_, has := values[text]
		return isText && has, nil
	default:
		return false, fmt.Errorf("argument of type '%s' is not iterable", className(values))
	}
}

// matches returns the function of an operator that compares a text with a regular expression: from its start to its end
// if whole is set, or a part of it.
func matches(whole bool) func(map[string]any) (bool, error) {
	return func(args map[string]any) (bool, error) { return match(args["regex"], str(args["value"]), whole) }
}

func match(pattern any, text string, whole bool) (bool, error) {
	regex, is := pattern.(string)
	switch {
	case !is:
		return false, errors.New("first argument must be string or compiled pattern")
	case whole && regex == "":
		return false, errors.New("string index out of range")
	}
	compiled, err := compile(regex, whole)
	if err != nil {
		return false, fail("invalid regular expression: %v", err)
	}
	return compiled.MatchString(text), nil
}

// compile returns a regular expression of a rule, which matches a text from its start to its end if whole is set. An
// error is about the expression as the rule has it, if that one is wrong.
func compile(regex string, whole bool) (*regexp.Regexp, error) {
	if size := sizeOf(regex); size > maxRegex {
		return nil, &syntax.Error{Code: syntax.ErrLarge, Expr: fmt.Sprintf("of the size %d", size)}
	}
	compiled, err := regexp.Compile(regex)
	switch {
	case err != nil || !whole:
		return compiled, err
	case strings.HasSuffix(regex, "$"):
		return regexp.Compile(`\A(?:` + regex + `)`)
	default:
		return regexp.Compile(`\A(?:` + regex + `$)`)
	}
}

// maxRegex bounds the size of a regular expression, by sizeOf: its program has about as many instructions.
const maxRegex = 10_000

// sizeOf returns the size of a regular expression, in which a repeated part counts as often as it is repeated. An
// invalid one has its length.
func sizeOf(regex string) int {
	parsed, err := syntax.Parse(regex, syntax.Perl)
	if err != nil {
		return min(len(regex), maxRegex)
	}
	var size func(re *syntax.Regexp) int
	size = func(re *syntax.Regexp) int {
		n := 1 + len(re.Rune)
		for _, sub := range re.Sub {
			n += size(sub)
		}
		if re.Op == syntax.OpRepeat {
			n *= max(re.Min, re.Max, 1)
		}
		return min(n, 100*maxRegex)
	}
	return size(parsed)
}

// inNet reports whether an IP address is in a network.
func inNet(args map[string]any) (bool, error) {
	address, subnet := args["address"], args["subnet"]
	text, is := subnet.(string)
	if !is {
		return false, fmt.Errorf("unexpected type %s for the network", className(subnet))
	}
	network, ok := parseNetwork(text)
	if !ok {
		return false, fail("invalid value: invalid IPNetwork %s", text)
	}
	ip, ok := parseAddress(address)
	if !ok {
		return false, fmt.Errorf("failed to detect a valid IP address from %s", pyrepr.Of(address))
	}
	return network.Contains(ip), nil
}

// parseAddress returns an IP address, which may be a number.
func parseAddress(v any) (netip.Addr, bool) {
	switch v := v.(type) {
	case string:
		ip, err := netip.ParseAddr(v)
		return ip, err == nil && ip.Zone() == ""
	case json.Number:
		n, err := strconv.ParseUint(v.String(), 10, 32)
		return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), err == nil
	default:
		return netip.Addr{}, false
	}
}

// parseNetwork returns a network: an address with the length of its prefix, its mask or the inverse of its mask, or a
// single address.
func parseNetwork(text string) (netip.Prefix, bool) {
	base, mask, masked := strings.Cut(text, "/")
	ip, ok := parseAddress(base)
	if !ok {
		return netip.Prefix{}, false
	}
	if !masked {
		return netip.PrefixFrom(ip, ip.BitLen()), true
	}
	if n, err := strconv.Atoi(mask); err == nil {
		prefix, err := ip.Prefix(n)
		return prefix, err == nil
	}
	m, err := netip.ParseAddr(mask)
	if err != nil || !m.Is4() || !ip.Is4() {
		return netip.Prefix{}, false
	}
	four := m.As4()
	word := uint32(four[0])<<24 | uint32(four[1])<<16 | uint32(four[2])<<8 | uint32(four[3])
	for _, word := range []uint32{word, ^word} {
		if ones := bits.LeadingZeros32(^word); bits.OnesCount32(word) == ones {
			return netip.PrefixFrom(ip, ones), true
		}
	}
	return netip.Prefix{}, false
}
