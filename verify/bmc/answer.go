package bmc

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/verify"
)

// serviceRoot is where a Redfish service begins (DSP0266). It is read
// without credentials.
const serviceRoot = "/redfish/v1/"

var errNoServiceRoot = errors.New("there is no Redfish service root")

// judge returns what a response says is wrong, nil if nothing is.
func (t *transport) judge(req *http.Request, resp *http.Response, body []byte) *failure {
	said := errors.New(strings.TrimSpace(resp.Status + " " + t.message(body)))
	atRoot := req.URL.Path == serviceRoot || req.URL.Path == strings.TrimSuffix(serviceRoot, "/")
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		return &failure{verify.Credentials, said}
	case code == http.StatusForbidden && strings.Contains(strings.ToLower(string(body)), "lock"):
		return &failure{verify.Locked, said}
	case code == http.StatusForbidden:
		return &failure{verify.Credentials, said}
	case code == http.StatusNotFound && atRoot:
		return &failure{verify.Unsupported, fmt.Errorf("%w: %w", errNoServiceRoot, said)}
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed, code == http.StatusNotImplemented:
		return &failure{verify.Unsupported, said}
	case code == http.StatusServiceUnavailable, code == http.StatusTooManyRequests:
		return &failure{verify.Unreachable, said}
	case code >= 400:
		return &failure{verify.Protocol, said}
	case code/100 != 2 || len(body) == 0 || isJSON(resp):
		return nil
	case atRoot:
		return &failure{verify.Protocol, fmt.Errorf("%w: %q is not JSON", errNoServiceRoot, resp.Header.Get("Content-Type"))}
	default:
		return &failure{verify.Protocol, fmt.Errorf("%q is not JSON", resp.Header.Get("Content-Type"))}
	}
}

func isJSON(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// message returns what a Redfish error body says (DSP0266), if it is one.
func (t *transport) message(body []byte) string {
	var answer struct {
		Error struct {
			Message  string `json:"message"`
			Extended []struct {
				Message string `json:"Message"`
			} `json:"@Message.ExtendedInfo"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	said := answer.Error.Message
	if len(answer.Error.Extended) > 0 && answer.Error.Extended[0].Message != "" {
		said = answer.Error.Extended[0].Message
	}
	const most = 200
	if said = t.config.scrub(said); len(said) > most {
		said = strings.ToValidUTF8(said[:most], "") + "..."
	}
	return said
}

// bootTarget reports whether a body is a ComputerSystem, and whether that has a
// boot override.
func bootTarget(body []byte) (system, target bool) {
	var resource struct {
		Type string `json:"@odata.type"`
		Boot struct {
			Target *string `json:"BootSourceOverrideTarget"`
		}
	}
	if json.Unmarshal(body, &resource) != nil {
		return false, false
	}
	return strings.HasPrefix(resource.Type, "#ComputerSystem."), resource.Boot.Target != nil
}

// onlySystem returns a collection of systems with one member left, the one whose
// path ends in id; any other body as it is. bmclib chooses by name alone, and
// without one takes the only system that there is.
func onlySystem(body []byte, id string) []byte {
	type member struct {
		ID string `json:"@odata.id"`
	}
	var (
		collection map[string]json.RawMessage
		kind       string
		members    []member
	)
	if json.Unmarshal(body, &collection) != nil || json.Unmarshal(collection["@odata.type"], &kind) != nil ||
		!strings.HasPrefix(kind, "#ComputerSystemCollection") || json.Unmarshal(collection["Members"], &members) != nil {
		return body
	}
	members = slices.DeleteFunc(members, func(m member) bool { return path.Base(m.ID) != id })
	left, err := json.Marshal(members)
	if err != nil {
		return body
	}
	collection["Members"] = left
	collection["Members@odata.count"], _ = json.Marshal(len(members))
	if only, err := json.Marshal(collection); err == nil {
		return only
	}
	return body
}
