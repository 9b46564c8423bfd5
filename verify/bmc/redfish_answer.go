// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

// serviceRoot is the path of a Redfish service's root (DSP0266). It is read without
// credentials.
const serviceRoot = "/redfish/v1/"

var (
	errNoServiceRoot = failure.Reason("there is no Redfish service root")
	errNoSessions    = failure.Reason("the service has no sessions")
)

// refusal returns the error of an error answer, nil for any other answer.
func (a *answer) refusal() error {
	said := strings.TrimSpace(a.reason + " " + a.message())
	atRoot := a.path == serviceRoot || a.path == strings.TrimSuffix(serviceRoot, "/")
	switch code := a.status; {
	case code == http.StatusUnauthorized:
		return a.fail(verify.Credentials, said, nil)
	case code == http.StatusForbidden && bytes.Contains(bytes.ToLower(a.body), []byte("lock")):
		return a.fail(verify.Locked, said, nil)
	case code == http.StatusForbidden:
		return a.fail(verify.Credentials, said, nil)
	case code == http.StatusNotFound && atRoot:
		return a.fail(verify.Unsupported, said, errNoServiceRoot)
	case a.absent():
		return a.fail(verify.Unsupported, said, nil)
	case code == http.StatusServiceUnavailable, code == http.StatusTooManyRequests:
		return a.fail(verify.Unreachable, said, nil)
	case code/100 != 2:
		return a.fail(verify.Protocol, said, nil)
	case len(a.body) == 0 || a.isJSON():
		return nil
	}
	said = fmt.Sprintf("%q is not JSON", a.header.Get("Content-Type"))
	if atRoot {
		return a.fail(verify.Protocol, said, errNoServiceRoot)
	}
	return a.fail(verify.Protocol, said, nil)
}

// fail returns a failure of the answer's request.
func (a *answer) fail(kind verify.Kind, said string, reason error) *failure.Error {
	text := said
	if reason != nil {
		text = reason.Error() + ": " + said
	}
	return &failure.Error{Kind: kind, Text: a.request.String() + ": " + text, Cause: reason}
}

// absent reports whether the answer says that the BMC lacks the resource or the
// method.
func (a *answer) absent() bool {
	switch a.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

func (a *answer) isJSON() bool {
	kind, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// message returns the message of a Redfish error body (DSP0266), if the body is one.
func (a *answer) message() string {
	var body struct {
		Error struct {
			Message  string `json:"message"`
			Extended []struct {
				Message string `json:"Message"`
			} `json:"@Message.ExtendedInfo"`
		} `json:"error"`
	}
	if a.status < 400 || json.Unmarshal(a.body, &body) != nil {
		return ""
	}
	if extended := body.Error.Extended; len(extended) > 0 && extended[0].Message != "" {
		return extended[0].Message
	}
	return body.Error.Message
}

// object is a JSON object whose members are decoded on demand.
type object map[string]json.RawMessage

// object returns the body as a JSON object, which every Redfish resource is.
func (a *answer) object() (object, error) {
	var o object
	if err := json.Unmarshal(a.body, &o); err != nil {
		return nil, a.fail(verify.Protocol, err.Error(), nil)
	}
	if o == nil {
		return nil, a.fail(verify.Protocol, "the answer is null, and should be a JSON object", nil)
	}
	return o, nil
}

// get decodes a member into a value; if the member is absent, the value is unchanged.
func (o object) get(name string, value any) error {
	raw, ok := o[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return failure.Protocolf("the property %s: %v", name, err)
	}
	return nil
}

// link reads a member that is a link, "" if there is none.
func (o object) link(name string) (string, error) {
	var l odataLink
	err := o.get(name, &l)
	return l.ID, err
}

// odataLink is a link to another resource.
type odataLink struct {
	ID string `json:"@odata.id"`
}
