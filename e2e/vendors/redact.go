// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// redactor replaces texts that identify a machine, its owner or its users. The same value has the same stand-in
// everywhere, in links and paths, too, so that links still lead somewhere. It learns all resources before it changes
// the first one.
type redactor struct {
	password string
	standIns map[string]string   // by the value's key
	counts   map[kind]int        // of stand-ins
	known    map[string][]string // the keys that are looked for in every text, longest first, by their first characters
}

const (
	shortest     = 6 // characters of a value that is looked for in every text
	shortestName = 4 // characters of the name of a host or a user that is replaced where it is a whole text

	shortestNumber = 8 // digits of a number that is looked for in every text
)

// newRedactor returns a redactor that knows how the BMC is reached.
func newRedactor(password, user, hostname string) *redactor {
	r := &redactor{password: password, standIns: map[string]string{}, counts: map[kind]int{}, known: map[string][]string{}}
	r.standIn(person, user)
	if _, err := netip.ParseAddr(hostname); err != nil {
		r.standIn(host, hostname)
		label, _, _ := strings.Cut(hostname, ".")
		r.standIn(host, label)
	}
	return r
}

// resource returns a redacted resource. Messages and privileges are the same on every machine: there only the forms of
// values count, and not the names of properties.
func (r *redactor) resource(o object) object {
	schema, _ := o["@odata.type"].(string)
	named := !strings.HasPrefix(schema, "#MessageRegistry.") && !strings.HasPrefix(schema, "#PrivilegeRegistry.")
	redacted, _ := r.value("", o, named).(object)
	return redacted
}

// value returns a redacted value of a property. If named, the names of the properties in it count.
func (r *redactor) value(name string, value any, named bool) any {
	switch value := value.(type) {
	case object:
		if named && wholes.MatchString(letters(name)) {
			return object{}
		}
		redacted := object{}
		for _, property := range slices.Sorted(maps.Keys(value)) {
			redacted[r.name(property)] = r.value(subject(value, property), value[property], named)
		}
		return redacted
	case []any:
		if named && wholes.MatchString(letters(name)) {
			return []any{}
		}
		redacted := make([]any, 0, len(value))
		for _, element := range value {
			redacted = append(redacted, r.value(name, element, named))
		}
		return redacted
	case string:
		kind := harmless
		switch {
		case named && wholes.MatchString(letters(name)):
			kind = removed
		case named:
			kind = kindOf(name)
		}
		if strings.HasPrefix(key(value), root) || name == "Uri" && strings.HasPrefix(value, "/") {
			return r.path(value)
		}
		return r.text(value, kind, strings.Contains(letters(name), "version"))
	case json.Number:
		if k := kindOf(name); named && k != harmless && k != host {
			return json.Number("0")
		}
		return value
	default:
		return value
	}
}

// subject returns the name by which a property's value counts: in an object {"AttributeName": "AssetTag",
// "CurrentValue": …} that is the attribute's.
func subject(o object, property string) string {
	switch property {
	case "Value", "CurrentValue", "DefaultValue":
		for _, by := range []string{"AttributeName", "Name", "Key"} {
			if name, ok := o[by].(string); ok {
				return name
			}
		}
	}
	return property
}

// path returns a redacted path, each segment by itself: links and paths are changed in the same way. A word that is
// also the name of a host or a user, such as "redfish", is kept.
func (r *redactor) path(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if err != nil {
			plain = segment
		}
		if changed := r.name(plain); changed != plain {
			segments[i] = changed
		}
	}
	return strings.Join(segments, "/")
}

// text returns a redacted text. In one that may be a version, only private addresses are addresses.
func (r *redactor) text(text string, k kind, mayBeVersion bool) string {
	whole := strings.TrimSpace(text)
	switch {
	case k != harmless && placeholder(k, whole), whole == "":
		return text
	case k == removed:
		r.counts[removed]++
		return gone
	}
	if _, err := netip.ParseAddr(whole); k != harmless && err == nil {
		k, mayBeVersion = harmless, false
	}
	if k == harmless && len(whole) >= shortestName {
		if known := r.standIns[keyOf(whole)]; strings.HasPrefix(known, "host-") || strings.HasPrefix(known, "user-") {
			return known
		}
	}
	if k != harmless && !strings.Contains(whole, "://") {
		return r.standIn(k, whole)
	}
	text = pemForm.ReplaceAllString(text, gone)
	text = keyForm.ReplaceAllString(text, gone)
	text = urlForm.ReplaceAllStringFunc(text, r.url)
	text = mailForm.ReplaceAllStringFunc(text, func(mail string) string {
		if annotation.MatchString(mail) {
			return mail
		}
		return r.standIn(person, mail)
	})
	text = r.identities(text)
	text = replaceForms(ip6Form, text, func(s string) string { return r.address(s, false) })
	text = replaceForms(ip4Form, text, func(s string) string { return r.address(s, mayBeVersion) })
	text = r.replaceKnown(text)
	if len(r.password) > 3 && !strings.Contains(root, r.password) {
		text = strings.ReplaceAll(text, r.password, gone)
	}
	return text
}

// name returns the redacted name of a property, which may have a serial number in it.
func (r *redactor) name(name string) string { return r.replaceKnown(r.identities(name)) }

// identities replaces UUIDs and MAC addresses.
func (r *redactor) identities(text string) string {
	for _, form := range []*regexp.Regexp{uuidForm, macForm} {
		text = replaceForms(form, text, func(s string) string { return r.standIn(identity, s) })
	}
	return text
}

// address returns the stand-in of an IP address.
func (r *redactor) address(text string, mayBeVersion bool) string {
	a, err := netip.ParseAddr(text)
	if err != nil || !telling(a) || mayBeVersion && !a.IsPrivate() && r.standIns[a.String()] == "" {
		return text
	}
	return r.standIn(address, a.String())
}

// url replaces the host of a URL, and removes what is after a question mark, which may be a secret.
func (r *redactor) url(text string) string {
	part := urlForm.FindStringSubmatch(text)
	at := part[2][strings.LastIndex(part[2], "@")+1:]
	name, port := at, ""
	if i := strings.LastIndex(at, ":"); i > strings.LastIndex(at, "]") {
		name, port = at[:i], at[i:]
	}
	if standards.MatchString(strings.ToLower(name)) {
		return text
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err != nil {
		name = r.standIn(host, name)
	}
	return part[1] + name + port + part[3]
}

// standIn returns the stand-in of a value, and makes it if there is none.
func (r *redactor) standIn(k kind, value string) string {
	value = strings.TrimSpace(value)
	if placeholder(k, value) || strings.HasSuffix(value, example) {
		return value
	}
	id := keyOf(value)
	if r.standIns[id] == "" {
		r.counts[k]++
		r.standIns[id] = newStandIn(k, id, value, r.counts[k])
		r.look(id, value)
	}
	return shaped(r.standIns[id], value)
}

// keyOf returns a key that all spellings of a value have in common. Separators of hexadecimal values do not count.
func keyOf(value string) string {
	plain := letters(value)
	separated := uuidForm.MatchString(value) || macForm.MatchString(value)
	if hexForm.MatchString(plain) && (separated || len(plain) == len(value)) {
		return plain
	}
	return strings.ToLower(value)
}

// newStandIn returns the stand-in with a number.
func newStandIn(k kind, id, value string, number int) string {
	switch {
	case k == address && strings.Contains(value, ":"):
		return fmt.Sprintf("2001:db8::%x", number) // RFC 3849
	case k == address:
		return fmt.Sprintf("198.18.%d.%d", number>>8&0xff, number&0xff) // RFC 2544
	case k == identity && hexForm.MatchString(id):
		return fmt.Sprintf("02%0*x", len(id)-2, number) // a MAC address that is administered locally
	case k == identity:
		return fmt.Sprintf("SN%06d", number)
	case k == person && strings.Contains(value, "@"):
		return fmt.Sprintf("user-%d@%s", number, example)
	case k == person:
		return fmt.Sprintf("user-%d", number)
	case k == host:
		return fmt.Sprintf("host-%d.%s", number, example)
	default:
		return fmt.Sprintf("place-%d", number)
	}
}

// shaped returns a stand-in with the separators and the case of a value in hexadecimal digits.
func shaped(standIn, value string) string {
	plain := letters(value)
	if len(plain) != len(standIn) || !hexForm.MatchString(plain) || !hexForm.MatchString(standIn) {
		return standIn
	}
	if value != strings.ToLower(value) {
		standIn = strings.ToUpper(standIn)
	}
	i := 0
	return strings.Map(func(c rune) rune {
		if letters(string(c)) == "" {
			return c
		}
		i++
		return rune(standIn[i-1])
	}, value)
}

// look makes a value one that is looked for in every text, unless it is too short or plain for that.
func (r *redactor) look(id, value string) {
	const digits = "0123456789"
	plain := letters(value)
	number := strings.Trim(plain, digits) == ""
	switch {
	case len(plain) < shortest, version.MatchString(value), strings.ContainsAny(value, " \t\n"):
	case number && len(plain) >= shortestNumber, !number && strings.ContainsAny(plain, digits), strings.Contains(value, "."):
		first := id[:shortest]
		r.known[first] = append(r.known[first], id)
		slices.SortStableFunc(r.known[first], func(a, b string) int { return len(b) - len(a) })
	}
}

// replaceKnown replaces the known values in a text.
func (r *redactor) replaceKnown(text string) string {
	lower := strings.ToLower(text)
	if len(lower) != len(text) { // a letter whose lower case has another length
		text = lower
	}
	var b strings.Builder
	end := 0
	for i := 0; i+shortest <= len(text); i++ {
		for _, id := range r.known[lower[i:i+shortest]] {
			if strings.HasPrefix(lower[i:], id) {
				b.WriteString(text[end:i] + shaped(r.standIns[id], text[i:i+len(id)]))
				end = i + len(id)
				i = end - 1
				break
			}
		}
	}
	if end == 0 {
		return text
	}
	return b.String() + text[end:]
}
