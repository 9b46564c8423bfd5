// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"regexp"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// IsMAC reports whether a text is a MAC address in Ironic's form: six pairs of hexadecimal digits
// separated by colons.
func IsMAC(s string) bool {
	if len(s) != 17 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i%3 == 2:
			if c != ':' {
				return false
			}
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// IsUUID reports whether a text is a UUID in one of the forms that Ironic accepts: 32 hexadecimal
// digits, with dashes anywhere, in braces, or after urn:uuid:.
//
// Source: is_uuid_like in oslo_utils/uuidutils.py.
func IsUUID(text string) bool {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "urn:", ""), "uuid:", "")
	digits := 0
	for _, c := range strings.Trim(text, "{}") {
		switch {
		case c == '-':
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
			digits++
		default:
			return false
		}
	}
	return digits == 32
}

// IsName reports whether a text is a valid logical name.
//
// Source: is_valid_logical_name in ironic/common/utils.py.
func IsName(text string) bool {
	if text == "" || len(text) > 255 {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_', c == '~':
		default:
			return false
		}
	}
	return true
}

// CheckIdent refuses the value of an argument that is neither a UUID nor a name.
//
// Source: uuid_or_name in ironic/common/args.py.
func CheckIdent(argument, value string) error {
	if IsUUID(value) || IsName(value) {
		return nil
	}
	return fault.Invalid("Expected UUID or name for %s: %s", argument, fault.Show(value))
}

// CheckLogicalIdent is CheckIdent with the text of the functions that find a record.
//
// Source: get_rpc_node and get_rpc_allocation in ironic/api/controllers/v1/utils.py, and ironic/common/exception.py.
func CheckLogicalIdent(ident string) error {
	if IsUUID(ident) || IsName(ident) {
		return nil
	}
	return fault.Invalid("Expected a logical name or UUID but received %s.", fault.Show(ident))
}

// hostname matches the names of nodes at versions below 1.10, of up to 255 characters.
//
// Source: is_hostname_safe in ironic/common/utils.py.
var hostname = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9_-]{0,62}[a-z0-9])*\.?$`)

// ValidName reports whether a text is a valid name at the request's version.
func (r *Request) ValidName(text string) bool {
	if r.Version < since.AnyName {
		return len(text) <= 255 && hostname.MatchString(text)
	}
	return IsName(text)
}
