// SPDX-License-Identifier: Apache-2.0

package differ

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

//go:embed compare.json
var comparedText []byte

// compared says what is compared, and how.
var compared = parseCompared(comparedText)

type comparedParts struct {
	Headers   []string         // that clients read; of the last two only the presence is compared
	Unordered []*regexp.Regexp // of texts; the group matches names in the order of a Python set
	Sets      *regexp.Regexp   // of the paths of fields that Ironic keeps in a Python set, whose order differs from process to process
	Free      *regexp.Regexp   // of the paths below fields whose keys a client chooses
	Variables []struct {       // of texts, which vary from request to request
		Of   *regexp.Regexp
		With string
	}
}

// parseCompared parses compare.json. It panics for malformed data.
func parseCompared(text []byte) (c comparedParts) {
	if err := json.Unmarshal(text, &c); err != nil {
		panic(fmt.Sprintf("differ: compare.json: %v", err))
	}
	return c
}

const (
	maximumHeader   = "X-Openstack-Ironic-Api-Maximum-Version"
	requestIDHeader = "Openstack-Request-Id"
)

// uuids maps the UUIDs that a server chose to those that the other server chose.
type uuids struct {
	fixed map[string]bool   // those that requests have chosen
	made  map[string]string // ironstate's by Ironic's, and Ironic's by ironstate's
}

// same reports whether two UUIDs stand for the same object. Two that are new are the
// same from then on.
func (u *uuids) same(ironic, ironstate string) bool {
	if ironic == ironstate {
		return true
	}
	if u.fixed[ironic] || u.fixed[ironstate] {
		return false
	}
	ofIronic, knownIronic := u.made[ironic]
	ofIronstate, knownIronstate := u.made[ironstate]
	if !knownIronic && !knownIronstate {
		u.made[ironic], u.made[ironstate] = ironstate, ironic
		return true
	}
	return ofIronic == ironstate && ofIronstate == ironic
}

// translate returns a request to Ironic in which ironstate's UUIDs replace those that Ironic has
// chosen.
func (u *uuids) translate(r Request) Request {
	counterpart := func(id string) string {
		if made := u.made[id]; made != "" {
			return made
		}
		return id
	}
	r.Path = uuidPattern.ReplaceAllStringFunc(r.Path, counterpart)
	if r.Body != nil {
		r.Body = []byte(uuidPattern.ReplaceAllStringFunc(string(r.Body), counterpart))
	}
	return r
}

var (
	uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?$`)
)

// sameText reports whether two texts are equal except for times and for the UUIDs of the
// same objects.
func (u *uuids) sameText(ironic, ironstate string) bool {
	ironic, ironstate = inOrder(ironic), inOrder(ironstate)
	if ironic == ironstate || timePattern.MatchString(ironic) && timePattern.MatchString(ironstate) {
		return true
	}
	want, got := uuidPattern.FindAllString(ironic, -1), uuidPattern.FindAllString(ironstate, -1)
	if len(want) == 0 || len(want) != len(got) ||
		uuidPattern.ReplaceAllString(ironic, "") != uuidPattern.ReplaceAllString(ironstate, "") {
		return false
	}
	for i := range want {
		if !u.same(want[i], got[i]) {
			return false
		}
	}
	return true
}

// inOrder sorts the names of a refusal in which they have the order of a Python set.
func inOrder(text string) string {
	for _, unordered := range compared.Unordered {
		if at := unordered.FindStringSubmatchIndex(text); at != nil {
			names := slices.Sorted(strings.SplitSeq(text[at[2]:at[3]], ", "))
			return text[:at[2]] + strings.Join(names, ", ") + text[at[3]:]
		}
	}
	return text
}

// compareAnswers returns what differs between two answers to a request, one text for
// each class.
func (u *uuids) compareAnswers(ironic, ironstate Answer) []string {
	if ironic.Status != ironstate.Status {
		return []string{fmt.Sprintf("%d -> %d: %s -> %s", ironic.Status, ironstate.Status, outline(ironic), outline(ironstate))}
	}
	found := u.compareBodies(ironic, ironstate)
	if headers := u.compareHeaders(ironic.Header, ironstate.Header); headers != "" {
		found = append(found, fmt.Sprintf("%d headers: %s", ironic.Status, headers))
	}
	return found
}

// compareHeaders returns the headers that differ as one text. Headers that only one side
// has are listed together.
func (u *uuids) compareHeaders(ironic, ironstate http.Header) string {
	var differing, onlyIronic, onlyIronstate []string
	for _, name := range compared.Headers {
		want, got := headerText(ironic, name), headerText(ironstate, name)
		short := strings.TrimPrefix(strings.TrimPrefix(name, "X-"), "Openstack-")
		switch {
		case u.sameText(want, got):
		case want == absent:
			onlyIronstate = append(onlyIronstate, short)
		case got == absent:
			onlyIronic = append(onlyIronic, short)
		default:
			differing = append(differing, fmt.Sprintf("%s %s -> %s", short, pattern(want), pattern(got)))
		}
	}
	if len(onlyIronic) > 0 {
		differing = append(differing, "only Ironic's: "+strings.Join(onlyIronic, " "))
	}
	if len(onlyIronstate) > 0 {
		differing = append(differing, "only ironstate's: "+strings.Join(onlyIronstate, " "))
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
	case strings.HasSuffix(name, requestIDHeader):
		return "present"
	default:
		return strings.Join(values, ", ")
	}
}

func (u *uuids) compareBodies(ironic, ironstate Answer) []string {
	status := fmt.Sprint(ironic.Status)
	want, got := decode(ironic.Body), decode(ironstate.Body)
	if ironic.Status < http.StatusBadRequest {
		return u.compareValues(status+" body", want, got)
	}
	want, got = unwrap(want), unwrap(got)
	switch {
	case len(u.compareValues("", want, got)) == 0:
		return nil
	case u.sameText(fmt.Sprint(words(ironic)), fmt.Sprint(words(ironstate))):
		return []string{fmt.Sprintf("%s body in another order: %s", status, outline(ironic))}
	default:
		return []string{fmt.Sprintf("%s body: %s -> %s", status, outline(ironic), outline(ironstate))}
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

// compareValues compares two values of JSON and returns a text for each difference.
func (u *uuids) compareValues(path string, ironic, ironstate any) []string {
	switch want := ironic.(type) {
	case map[string]any:
		if got, ok := ironstate.(map[string]any); ok {
			return u.compareObjects(path, want, got)
		}
	case []any:
		if got, ok := ironstate.([]any); ok {
			return u.compareLists(path, want, got)
		}
	case string:
		if got, ok := ironstate.(string); ok && u.sameText(want, got) {
			return nil
		}
	default:
		if ironic == ironstate {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: %s -> %s", path, valuePattern(ironic), valuePattern(ironstate))}
}

func (u *uuids) compareObjects(path string, want, got map[string]any) (found []string) {
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		below := path + "." + name
		if compared.Free.MatchString(below) {
			below = path + ".*"
		}
		a, inIronic := want[name]
		b, inIronstate := got[name]
		switch {
		case !inIronic:
			found = append(found, fmt.Sprintf("%s: absent -> %s", below, valuePattern(b)))
		case !inIronstate:
			found = append(found, fmt.Sprintf("%s: %s -> absent", below, valuePattern(a)))
		default:
			found = append(found, u.compareValues(below, a, b)...)
		}
	}
	return unique(found)
}

func (u *uuids) compareLists(path string, want, got []any) (found []string) {
	if len(want) != len(got) {
		return []string{fmt.Sprintf("%s: %s -> %s", path, length(want), length(got))}
	}
	if compared.Sets.MatchString(path) {
		want, got = sorted(want), sorted(got)
	}
	for i := range want {
		found = append(found, u.compareValues(path+"[]", want[i], got[i])...)
	}
	if len(found) > 0 && reflect.DeepEqual(sorted(want), sorted(got)) {
		return []string{path + ": in another order"}
	}
	return unique(found)
}

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

// refusal returns the text of a refusal and its form: Ironic's, its web framework's, or empty for a body in neither
// form.
func refusal(a Answer) (form, text string) {
	if outer, ok := unwrap(decode(a.Body)).(map[string]any); ok {
		if inner, ok := outer["error_message"].(map[string]any); ok {
			if text, ok := inner["faultstring"].(string); ok {
				return "fault", text
			}
			if text, ok := inner["description"].(string); ok {
				return "bare", text
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

const maxPattern = 200

// pattern returns a text without the parts that vary from request to request.
func pattern(text string) string {
	for _, v := range compared.Variables {
		text = v.Of.ReplaceAllString(text, v.With)
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxPattern {
		text = strings.ToValidUTF8(text[:maxPattern], "") + "…"
	}
	return "«" + text + "»"
}
