// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// problem returns an error response, DSP0266 "Error responses".
func problem(status int, messageID, text string, args ...string) *reply {
	info := object{
		"@odata.type":     "#Message.v1_1_1.Message",
		"MessageId":       messageID,
		"Message":         text,
		"MessageSeverity": "Critical",
	}
	if len(args) > 0 {
		info["MessageArgs"] = args
	}
	body, _ := json.Marshal(object{"error": object{
		"code":                  messageID,
		"message":               text,
		"@Message.ExtendedInfo": []object{info},
	}})
	return newReply(status, "application/json", body)
}

func internalError(text string) *reply {
	return problem(http.StatusInternalServerError, "Base.1.18.InternalError", text)
}

func badJSON() *reply {
	return problem(http.StatusBadRequest, "Base.1.18.MalformedJSON",
		"The request body submitted was malformed JSON and could not be parsed by the receiving service.")
}

func otherETag() *reply {
	return problem(http.StatusPreconditionFailed, "Base.1.18.PreconditionFailed",
		"The ETag supplied did not match the ETag required to change this resource.")
}

// member is a member of a request's body: a property of a resource or, if action is not empty, a parameter of that
// action.
type member struct{ name, action string }

func (m member) missing() *reply {
	if m.action == "" {
		return problem(http.StatusBadRequest, "Base.1.18.PropertyMissing", fmt.Sprintf(
			"The property %s is a required property and must be included in the request.", m.name), m.name)
	}
	return problem(http.StatusBadRequest, "Base.1.18.ActionParameterMissing", fmt.Sprintf(
		"The action %s requires the parameter %s to be present in the request body.", m.action, m.name), m.action, m.name)
}

func (m member) unknown() *reply {
	if m.action == "" {
		return problem(http.StatusBadRequest, "Base.1.18.PropertyUnknown", fmt.Sprintf(
			"The property %s is not in the list of valid properties for the resource.", m.name), m.name)
	}
	return problem(http.StatusBadRequest, "Base.1.18.ActionParameterUnknown", fmt.Sprintf(
		"The action %s was submitted with the invalid parameter %s.", m.action, m.name), m.action, m.name)
}

func (m member) readOnly() *reply {
	return problem(http.StatusBadRequest, "Base.1.18.PropertyNotWritable", fmt.Sprintf(
		"The property %s is a read-only property and cannot be assigned a value.", m.name), m.name)
}

func (m member) notInList(value string) *reply {
	return m.badValue("ValueNotInList", value, "not in the list of acceptable values")
}

func (m member) outOfRange(value string) *reply {
	return m.badValue("ValueOutOfRange", value, "not in the supported range of acceptable values")
}

func (m member) wrongFormat(value string) *reply {
	return m.badValue("ValueFormatError", value, "not in a format that the service can accept")
}

func (m member) wrongType(value json.RawMessage) *reply {
	return m.badValue("ValueTypeError", string(value), "not of a type that the service can accept")
}

func (m member) badValue(kind, value, complaint string) *reply {
	if m.action == "" {
		return problem(http.StatusBadRequest, "Base.1.18.Property"+kind, fmt.Sprintf(
			"The value '%s' for the property %s is %s.", value, m.name, complaint), value, m.name)
	}
	return problem(http.StatusBadRequest, "Base.1.18.ActionParameter"+kind, fmt.Sprintf(
		"The value '%s' for the parameter %s in the action %s is %s.", value, m.name, m.action, complaint),
		value, m.name, m.action)
}

func notFound(path string) *reply {
	return problem(http.StatusNotFound, "Base.1.18.ResourceMissingAtURI",
		fmt.Sprintf("The resource at the URI '%s' was not found.", path), path)
}

func notAllowed(allow []string) *reply {
	p := problem(http.StatusMethodNotAllowed, "Base.1.18.OperationNotAllowed",
		"The HTTP method is not allowed on this resource.")
	p.header.Set("Allow", strings.Join(allow, ", "))
	return p
}

func unauthorized(messageID, text string, args ...string) *reply {
	p := problem(http.StatusUnauthorized, messageID, text, args...)
	p.header.Set("WWW-Authenticate", `Basic realm="bmctest"`)
	return p
}

func noSession() *reply {
	return unauthorized("Base.1.18.NoValidSession", "There is no valid session established with the implementation.")
}

func wrongCredentials(path string) *reply {
	const reason = "Invalid username or password"
	return unauthorized("Base.1.18.ResourceAtUriUnauthorized", fmt.Sprintf(
		"While accessing the resource at '%s', the service received an authorization error '%s'.", path, reason), path, reason)
}

func locked() *reply {
	return problem(http.StatusForbidden, "BMCTest.1.0.AccountLocked",
		"The account is locked after too many failed logins.")
}
