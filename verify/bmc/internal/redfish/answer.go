// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// Answer is a response that has been read.
type Answer struct {
	Request Request // the last one, if the BMC has redirected it
	Status  int
	Header  http.Header
	Body    []byte

	reason string // the status line's
	// unproven: the request had the password, which the BMC had not accepted before.
	unproven bool
	// loggedIn: the BMC had accepted the password before the request.
	loggedIn bool
}

const (
	errNoRoot     = failure.Reason("there is no Redfish service root")
	errNoSessions = failure.Reason("the service has no sessions")
	errForbidden  = failure.Reason("the user lacks the permission")
)

// ErrUnlicensed is the cause of an error of the kind [verify.Unsupported] about what the BMC may well have, and does
// not do or tell without a licence.
const ErrUnlicensed = failure.Reason("the BMC has no licence for it")

// What an answer 403 says besides that a password is wrong: that the account is locked after too many of them, or
// blocked, as a Lenovo says, and not that the machine is in lockdown or a configuration is locked; and that the BMC has
// no licence for what is asked for, as a Supermicro says (OemLicenseNotPassed), some of them even of the service root.
//
// Source: get_secure_boot_state in ironic/drivers/modules/redfish/management.py.
var (
	accountLocked = regexp.MustCompile("(?i)" + strings.Join([]string{
		`(account|user|login)[ _.-]?(lock([^d]|$)|blocked)`,                            // AccountLocked, and not UserLockdown
		`(account|user|login)([^.,:;]|\.\w){0,40}\b(locked|lock on)\b`,                 // the account of 'j.doe' is locked
		`(account|user|login)( (account|name))?( (is|was|has been))?( \w+)? blocked\b`, // the login account is blocked
		`(\b|_)lock(ed)?[ _-]?out\b`,                                                   // you are locked out
		`\bb?locked (account|user|login)\b`,
	}, "|"))
	unlicensed = regexp.MustCompile(`(?i)licen[sc]e`)
)

// refusal returns the error of an error answer, nil for any other answer. The body of an answer to a change may be
// anything: the change is made.
func (a *Answer) refusal() error {
	said := strings.TrimSpace(a.reason + " " + a.message())
	switch code := a.Status; {
	case code == http.StatusUnauthorized:
		return a.fail(verify.Credentials, said, nil)
	case (code == http.StatusNotFound || a.unlicensed()) && a.atRoot():
		return a.fail(verify.Unsupported, said, errNoRoot)
	case a.unlicensed():
		return a.fail(verify.Unsupported, said, ErrUnlicensed)
	case a.absent():
		return a.fail(verify.Unsupported, said, nil)
	case code == http.StatusForbidden && accountLocked.Match(a.Body):
		return a.fail(verify.Locked, said, nil)
	case code == http.StatusForbidden && a.loggedIn:
		refused := a.fail(verify.Forbidden, said, nil)
		refused.Cause = errForbidden
		return refused
	case code == http.StatusForbidden:
		return a.fail(verify.Credentials, said, nil)
	case code == http.StatusServiceUnavailable, code == http.StatusTooManyRequests:
		return a.fail(verify.Unreachable, said, nil)
	case code/100 != 2:
		return a.fail(verify.Protocol, said, nil)
	case a.Request.Method != http.MethodGet, len(a.Body) == 0, a.isJSON():
		return nil
	}
	said = fmt.Sprintf("%q is not JSON", a.Header.Get("Content-Type"))
	if a.atRoot() {
		return a.fail(verify.Protocol, said, errNoRoot)
	}
	return a.fail(verify.Protocol, said, nil)
}

// atRoot reports whether the service root has answered, and not a path to which the BMC has redirected the request.
func (a *Answer) atRoot() bool {
	return a.Request.Path == Root || a.Request.Path == strings.TrimSuffix(Root, "/")
}

// fail returns a failure of the answer's request.
func (a *Answer) fail(kind verify.Kind, said string, reason error) *failure.Error {
	text := said
	if reason != nil {
		text = reason.Error() + ": " + said
	}
	return &failure.Error{Kind: kind, Text: fmt.Sprintf("%v: %s", a.Request, text), Cause: reason}
}

// tag returns the ETag of the resource, which some BMCs send in the body only; "" if there is none.
func (a *Answer) tag() string {
	var resource struct {
		Tag string `json:"@odata.etag"`
	}
	_ = json.Unmarshal(a.Body, &resource) // a tag that is no text is none
	return cmp.Or(a.Header.Get("ETag"), resource.Tag)
}

// Says reports whether the body has one of some words, such as the ID of a message.
func (a *Answer) Says(words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(a.Body, []byte(word)) })
}

// absent reports whether the answer says that the BMC lacks the resource or the method.
func (a *Answer) absent() bool {
	switch a.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

// Allows reports whether the resource has a method: all but the others of its Allow header (DSP0266), if it has one.
func (a *Answer) Allows(method string) bool {
	allowed := a.Header.Get("Allow")
	return allowed == "" || strings.Contains(allowed, method)
}

// unlicensed reports whether a message of the answer, or its ID, says that the BMC has no licence for what is asked
// for. A password that is not proven may be what is wrong.
func (a *Answer) unlicensed() bool {
	if a.Status != http.StatusForbidden || a.unproven {
		return false
	}
	general, all := a.messages()
	return slices.ContainsFunc(append(all, general), func(m message) bool { return unlicensed.MatchString(m.ID + " " + m.Text) })
}

func (a *Answer) isJSON() bool {
	kind, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// extendedInfo ends the names of members with messages: of the error, or of a property of the body.
const extendedInfo = "@Message.ExtendedInfo"

// message is a message of an error body.
type message struct {
	Text string `json:"Message"`
	ID   string `json:"MessageId"` // encoding/json takes MessageID as well
	Args []any  `json:"MessageArgs"`
}

// String returns the text. An iLO sends messages without a text: their ID and arguments then stand for it.
func (m message) String() string {
	if m.Text != "" {
		return m.Text
	}
	var args []string
	for _, arg := range m.Args {
		args = append(args, fmt.Sprint(arg))
	}
	return strings.TrimSpace(m.ID + " " + strings.Join(args, ", "))
}

// message returns the texts of the messages of an error body, of the general one only if there is no other; "" if the
// body has none.
func (a *Answer) message() string {
	var texts []string
	general, all := a.messages()
	for _, m := range all {
		if text := m.String(); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return general.Text
	}
	return strings.Join(slices.Compact(texts), " ")
}

// messages returns the messages of a Redfish error body (DSP0266): the general one, and all of the error, then all of
// properties.
func (a *Answer) messages() (general message, all []message) {
	var body, failed Object
	if a.Status < 400 || json.Unmarshal(a.Body, &body) != nil {
		return general, nil
	}
	_ = body.Get("error", &failed)                                        // of another type, it tells nothing
	general.Text = cmp.Or(failed.Text("message"), failed.Text("Message")) // some spell it as in the messages of a list
	general.ID = failed.Text("code")
	all = failed.messages(extendedInfo)
	for name := range sorted.All(body) {
		if strings.HasSuffix(name, extendedInfo) {
			all = append(all, body.messages(name)...)
		}
	}
	return general, all
}

// messages returns a member's messages. Some BMCs send one message in place of a list.
//
// Source: _get_most_severe_msg in sushy/exceptions.py.
func (o Object) messages(name string) (all []message) {
	_ = o.Get(name, &all) // what can be decoded tells something
	if all == nil {
		all = append(all, message{})
		_ = o.Get(name, &all[0])
	}
	return all
}

// Object is a JSON object whose members are decoded on demand.
type Object map[string]json.RawMessage

// Object returns the body as a JSON object, which every Redfish resource is.
func (a *Answer) Object() (Object, error) {
	var o Object
	if err := json.Unmarshal(a.Body, &o); err != nil {
		return nil, a.fail(verify.Protocol, err.Error(), nil)
	}
	if o == nil {
		return nil, a.fail(verify.Protocol, "the answer is null, and should be a JSON object", nil)
	}
	return o, nil
}

// Get decodes a member into a value; if the member is absent, the value is unchanged.
func (o Object) Get(name string, value any) error {
	raw, ok := o[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return failure.Protocolf("the property %s: %v", name, err)
	}
	return nil
}

// Text returns a member that is a text, "" if it is absent or has another type.
func (o Object) Text(name string) (text string) {
	_ = json.Unmarshal(o[name], &text)
	return text
}

// Link reads a member that is a link, "" if there is none.
func (o Object) Link(name string) (string, error) {
	var l Link
	err := o.Get(name, &l)
	return l.ID, err
}

// Link is a link to another resource.
type Link struct {
	ID string `json:"@odata.id"`
}
