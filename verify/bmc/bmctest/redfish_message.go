package bmctest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// reply is a response before it is sent.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// object is a JSON object.
type object = map[string]any

func newReply(status int, contentType string, body []byte) reply {
	h := http.Header{"Odata-Version": {"4.0"}, "Cache-Control": {"no-cache"}}
	if body != nil {
		h.Set("Content-Type", contentType)
	}
	return reply{status: status, header: h, body: body}
}

func noContent() reply { return newReply(http.StatusNoContent, "", nil) }

// show returns a resource as JSON, with its ETag.
func show(status int, resource object) reply {
	body, err := json.Marshal(resource)
	if err != nil {
		return problem(http.StatusInternalServerError, "Base.1.18.InternalError", err.Error())
	}
	p := newReply(status, "application/json", body)
	p.header.Set("ETag", etag(body))
	return p
}

// etag returns a strong entity tag: different bodies have different tags.
func etag(body []byte) string { return fmt.Sprintf(`"%x"`, sha256.Sum256(body))[:17] + `"` }

// problem returns an error response, DSP0266 "Error responses".
func problem(status int, messageID, text string, args ...string) reply {
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

func badJSON() reply {
	return problem(http.StatusBadRequest, "Base.1.18.MalformedJSON",
		"The request body submitted was malformed JSON and could not be parsed by the receiving service.")
}

func notInList(value, property string) reply {
	return problem(http.StatusBadRequest, "Base.1.18.PropertyValueNotInList", fmt.Sprintf(
		"The value '%s' for the property %s is not in the list of acceptable values.", value, property), value, property)
}

func missing(property string) reply {
	return problem(http.StatusBadRequest, "Base.1.18.PropertyMissing", fmt.Sprintf(
		"The property %s is a required property and must be included in the request.", property), property)
}

func unknownProperty(property string) reply {
	return problem(http.StatusBadRequest, "Base.1.18.PropertyUnknown", fmt.Sprintf(
		"The property %s is not in the list of valid properties for the resource.", property), property)
}

func notFound(path string) reply {
	return problem(http.StatusNotFound, "Base.1.18.ResourceMissingAtURI",
		fmt.Sprintf("The resource at the URI '%s' was not found.", path), path)
}

func notAllowed(allow []string) reply {
	p := problem(http.StatusMethodNotAllowed, "Base.1.18.OperationNotAllowed",
		"The HTTP method is not allowed on this resource.")
	p.header.Set("Allow", strings.Join(allow, ", "))
	return p
}

func unauthorized(messageID, text string, args ...string) reply {
	p := problem(http.StatusUnauthorized, messageID, text, args...)
	p.header.Set("WWW-Authenticate", `Basic realm="bmctest"`)
	return p
}

func noSession() reply {
	return unauthorized("Base.1.18.NoValidSession", "There is no valid session established with the implementation.")
}

func wrongCredentials(path string) reply {
	const reason = "Invalid username or password"
	return unauthorized("Base.1.18.ResourceAtUriUnauthorized", fmt.Sprintf(
		"While accessing the resource at '%s', the service received an authorization error '%s'.", path, reason), path, reason)
}

func locked() reply {
	return problem(http.StatusForbidden, "BMCTest.1.0.AccountLocked",
		"The account is locked after too many failed logins.")
}

// members decodes a JSON object and nothing else.
func members(body []byte) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	err := json.Unmarshal(body, &m)
	return m, err == nil && m != nil
}

// textOf decodes a JSON string and nothing else.
func textOf(raw json.RawMessage) (string, bool) {
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", false
	}
	return *s, true
}

// send writes the reply as an ordinary HTTP response.
func (p reply) send(w http.ResponseWriter) {
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(p.body)
}

// bytes returns the reply to r as sent over the connection, from the status line on.
func (p reply) bytes(r *http.Request) []byte {
	h := p.header.Clone()
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	var buf bytes.Buffer
	_ = (&http.Response{
		StatusCode:    p.status,
		ProtoMajor:    1,
		ProtoMinor:    1,
		Request:       r,
		Header:        h,
		Body:          io.NopCloser(bytes.NewReader(p.body)),
		ContentLength: int64(len(p.body)),
	}).Write(&buf)
	return buf.Bytes()
}
