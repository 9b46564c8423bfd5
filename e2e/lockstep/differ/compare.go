// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// comparedHeaders are the headers that clients read. Of the last one only the presence is
// compared.
var comparedHeaders = []string{
	"Content-Type", "Location", "Vary", "Allow", "Www-Authenticate", "Retry-After",
	"X-Openstack-Ironic-Api-Version", "X-Openstack-Ironic-Api-Minimum-Version",
	"X-Openstack-Ironic-Api-Maximum-Version", requestIDHeader,
}

const requestIDHeader = "Openstack-Request-Id"

// uuids maps the UUIDs that a server chose to those that the other server chose.
type uuids struct {
	fixed map[string]bool   // those that requests have chosen
	made  map[string]string // ours by Ironic's, and Ironic's by ours
}

// same reports whether two UUIDs stand for the same object. Two that are new are the
// same from then on.
func (u *uuids) same(theirs, ours string) bool {
	if theirs == ours {
		return true
	}
	if u.fixed[theirs] || u.fixed[ours] {
		return false
	}
	their, hasTheirs := u.made[theirs]
	our, hasOurs := u.made[ours]
	if !hasTheirs && !hasOurs {
		u.made[theirs], u.made[ours] = ours, theirs
		return true
	}
	return their == ours && our == theirs
}

// translate returns a request to Ironic in which our UUIDs replace those that Ironic has
// chosen.
func (u *uuids) translate(r Request) Request {
	ours := func(id string) string {
		if made := u.made[id]; made != "" {
			return made
		}
		return id
	}
	r.Path = uuidPattern.ReplaceAllStringFunc(r.Path, ours)
	if r.Body != nil {
		r.Body = []byte(uuidPattern.ReplaceAllStringFunc(string(r.Body), ours))
	}
	return r
}

var (
	uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?$`)
)

// sameText reports whether two texts are equal except for times and for the UUIDs of the
// same objects.
func (u *uuids) sameText(theirs, ours string) bool {
	theirs, ours = inOrder(theirs), inOrder(ours)
	if theirs == ours || timePattern.MatchString(theirs) && timePattern.MatchString(ours) {
		return true
	}
	their, our := uuidPattern.FindAllString(theirs, -1), uuidPattern.FindAllString(ours, -1)
	if len(their) == 0 || len(their) != len(our) ||
		uuidPattern.ReplaceAllString(theirs, "") != uuidPattern.ReplaceAllString(ours, "") {
		return false
	}
	for i := range their {
		if !u.same(their[i], our[i]) {
			return false
		}
	}
	return true
}

// inOrder sorts the names of a refusal in which they have the order of a Python set.
func inOrder(text string) string {
	for _, start := range []string{"Unexpected arguments: ", "Nodes cannot be found: "} {
		if names, is := strings.CutPrefix(text, start); is {
			return start + sortedNames(names)
		}
	}
	if names, is := strings.CutPrefix(text, `Field(s) "`); is {
		names, rest, _ := strings.Cut(names, `"`)
		return `Field(s) "` + sortedNames(names) + `"` + rest
	}
	return text
}

func sortedNames(names string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(names, ", ")), ", ")
}

// compareAnswers returns what differs between two answers to a request, one text for
// each class.
func (u *uuids) compareAnswers(theirs, ours Answer) []string {
	if theirs.Status != ours.Status {
		return []string{fmt.Sprintf("%d -> %d: %s -> %s", theirs.Status, ours.Status, outline(theirs), outline(ours))}
	}
	found := u.compareBodies(theirs, ours)
	if headers := u.compareHeaders(theirs.Header, ours.Header); headers != "" {
		found = append(found, fmt.Sprintf("%d headers: %s", theirs.Status, headers))
	}
	return found
}

// compareHeaders returns the headers that differ as one text. Headers that only one side
// has are listed together.
func (u *uuids) compareHeaders(theirs, ours http.Header) string {
	var differing, onlyTheirs, onlyOurs []string
	for _, name := range comparedHeaders {
		their, our := headerText(theirs, name), headerText(ours, name)
		short := strings.TrimPrefix(strings.TrimPrefix(name, "X-"), "Openstack-")
		switch {
		case u.sameText(their, our):
		case their == absent:
			onlyOurs = append(onlyOurs, short)
		case our == absent:
			onlyTheirs = append(onlyTheirs, short)
		default:
			differing = append(differing, fmt.Sprintf("%s %s -> %s", short, pattern(their), pattern(our)))
		}
	}
	if len(onlyTheirs) > 0 {
		differing = append(differing, "only Ironic's: "+strings.Join(onlyTheirs, " "))
	}
	if len(onlyOurs) > 0 {
		differing = append(differing, "only ours: "+strings.Join(onlyOurs, " "))
	}
	return strings.Join(differing, ", ")
}

const absent = "absent"

// headerText returns a header as a text, "absent" if there is none.
func headerText(header http.Header, name string) string {
	values, has := header[name]
	switch {
	case !has:
		return absent
	case name == requestIDHeader:
		return "present"
	default:
		return strings.Join(values, ", ")
	}
}

func (u *uuids) compareBodies(theirs, ours Answer) []string {
	status := fmt.Sprint(theirs.Status)
	their, our := decode(theirs.Body), decode(ours.Body)
	if theirs.Status < http.StatusBadRequest {
		return u.compareValues(status+" body", their, our)
	}
	their, our = unwrap(their), unwrap(our)
	switch {
	case len(u.compareValues("", their, our)) == 0:
		return nil
	case u.sameText(fmt.Sprint(words(theirs)), fmt.Sprint(words(ours))):
		return []string{fmt.Sprintf("%s body in another order: %s", status, outline(theirs))}
	default:
		return []string{fmt.Sprintf("%s body: %s -> %s", status, outline(theirs), outline(ours))}
	}
}

// words returns the words of a refusal, sorted. Two refusals with the same words differ in the order of names.
func words(a Answer) []string {
	_, text := refusal(a)
	return slices.Sorted(slices.Values(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,()[]{}", r) })))
}

// unwrap returns the JSON in the text of a refusal.
func unwrap(body any) any {
	fields, ok := body.(map[string]any)
	text, isText := fields["error_message"].(string)
	if !ok || !isText {
		return body
	}
	var inner map[string]any
	if json.Unmarshal([]byte(text), &inner) != nil {
		return body
	}
	return map[string]any{"error_message": inner}
}

// decode returns a body's JSON, or its text if it is none.
func decode(body []byte) any {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return "not JSON: " + string(body)
	}
	return value
}

// freeFields are the fields whose keys a client chooses.
var freeFields = regexp.MustCompile(`\.(extra|driver_info|instance_info|properties|internal_info|local_link_connection|raid_config|target_raid_config|args|methods)\.`)

// compareValues compares two values of JSON and returns a text for each difference.
func (u *uuids) compareValues(path string, theirs, ours any) []string {
	switch their := theirs.(type) {
	case map[string]any:
		our, ok := ours.(map[string]any)
		if !ok {
			break
		}
		var found []string
		names := maps.Clone(their)
		maps.Copy(names, our)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			below := path + "." + name
			if freeFields.MatchString(below) {
				below = path + ".*"
			}
			a, inTheirs := their[name]
			b, inOurs := our[name]
			switch {
			case !inTheirs:
				found = append(found, fmt.Sprintf("%s: absent -> %s", below, valuePattern(b)))
			case !inOurs:
				found = append(found, fmt.Sprintf("%s: %s -> absent", below, valuePattern(a)))
			default:
				found = append(found, u.compareValues(below, a, b)...)
			}
		}
		return unique(found)
	case []any:
		our, ok := ours.([]any)
		if !ok {
			break
		}
		if len(their) != len(our) {
			return []string{fmt.Sprintf("%s: %s -> %s", path, length(their), length(our))}
		}
		var found []string
		if setFields.MatchString(path) {
			their, our = sorted(their), sorted(our)
		}
		for i := range their {
			found = append(found, u.compareValues(path+"[]", their[i], our[i])...)
		}
		if len(found) > 0 && reflect.DeepEqual(sorted(their), sorted(our)) {
			return []string{path + ": in another order"}
		}
		return unique(found)
	case string:
		if our, ok := ours.(string); ok && u.sameText(their, our) {
			return nil
		}
	default:
		if theirs == ours {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: %s -> %s", path, valuePattern(theirs), valuePattern(ours))}
}

// setFields are the fields whose order in Ironic is that of a Python set, which differs
// from process to process.
var setFields = regexp.MustCompile(`\.enabled_\w+_interfaces$`)

func sorted(list []any) []any {
	return slices.SortedFunc(slices.Values(list), func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

func unique(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

func length(list []any) string {
	if len(list) < 3 {
		return fmt.Sprintf("%d items", len(list))
	}
	return "more items"
}

// outline returns the text of a refusal as a pattern, with its form. Without a refusal it is "accepted".
func outline(a Answer) string {
	if a.Status < http.StatusBadRequest {
		return "accepted"
	}
	form, text := refusal(a)
	return strings.TrimPrefix(form+" "+pattern(text), " ")
}

// refusal returns the text of a refusal and its form: that of Ironic's faults, that of its web framework, or empty for
// a body in no such form.
func refusal(a Answer) (form, text string) {
	if outer, ok := unwrap(decode(a.Body)).(map[string]any); ok {
		if inner, ok := outer["error_message"].(map[string]any); ok {
			for name, form := range map[string]string{"faultstring": "fault", "description": "bare"} {
				if text, ok := inner[name].(string); ok {
					return form, text
				}
			}
		}
	}
	return "", string(a.Body)
}

// valuePattern describes a value so that similar values have the same description.
func valuePattern(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return pattern(value)
	case bool:
		return fmt.Sprint(value)
	case float64:
		return "number"
	case []any:
		return "list"
	case map[string]any:
		if len(value) == 0 {
			return "{}"
		}
		return "object"
	default:
		return fmt.Sprint(value)
	}
}

var variables = []struct {
	of   *regexp.Regexp
	with string
}{
	{uuidPattern, "UUID"},
	{regexp.MustCompile(`'[^']*'`), "'Q'"},
	{regexp.MustCompile(`"[^"]*"`), `"Q"`},
	{regexp.MustCompile(`node-\d`), "NODE"},
	{regexp.MustCompile(`\d+`), "N"},
}

const maxPattern = 200

// pattern returns a text without the parts that vary from request to request.
func pattern(text string) string {
	for _, v := range variables {
		text = v.of.ReplaceAllString(text, v.with)
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxPattern {
		text = strings.ToValidUTF8(text[:maxPattern], "") + "…"
	}
	return "«" + text + "»"
}
