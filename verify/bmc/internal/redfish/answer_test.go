// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

func TestAResourceHasTheMethodsOfItsAllowHeader(t *testing.T) {
	for allow, want := range map[string]bool{"": true, "GET, HEAD": false, "GET, PATCH": true} {
		a := Answer{Header: http.Header{"Allow": {allow}}}
		require.Equal(t, want, a.Allows(http.MethodPatch), allow)
	}
}

func TestAMemberOfAnotherTypeIsNoText(t *testing.T) {
	for text, want := range map[string]string{`{"a": "b"}`: "b", `{"a": null}`: "", `{"a": ["b"]}`: "", "{}": ""} {
		o, err := (&Answer{Body: []byte(text)}).Object()
		require.NoError(t, err)
		require.Equal(t, want, o.Text("a"), text)
	}
}

func TestARefusalHasTheKindOfItsStatus(t *testing.T) {
	const system, noRoot = "/redfish/v1/Systems/1", "there is no Redfish service root: "
	of := func(kind string) http.Header { return http.Header{"Content-Type": {kind}} }
	page, object := of("text/html"), of("application/json; odata.metadata=minimal")
	for _, test := range []struct {
		answer Answer
		path   string
		want   string // the text; empty for no refusal
		kind   verify.Kind
		cause  error
	}{
		{Answer{Status: 200, Header: object, Body: []byte("{}")}, system, "", 0, nil},
		{Answer{Status: 200, Header: of("application/problem+json"), Body: []byte("{}")}, system, "", 0, nil},
		{Answer{Status: 204}, system, "", 0, nil},
		{Answer{Status: 299, Header: object, Body: []byte(`"lock"`)}, system, "", 0, nil},
		{Answer{Status: 200, Header: page, Body: []byte("<p>")}, system, `"text/html" is not JSON`, verify.Protocol, nil},
		{Answer{Status: 200, Header: page, Body: []byte("<p>")}, Root, noRoot + `"text/html" is not JSON`, verify.Protocol, errNoRoot},
		{Answer{Status: 200, Header: of("text/json;;"), Body: []byte("{}")}, system, `"text/json;;" is not JSON`, verify.Protocol, nil},
		{Answer{Status: 200, Body: []byte("{}")}, system, `"" is not JSON`, verify.Protocol, nil},
		{Answer{Status: 300}, system, "refused", verify.Protocol, nil},
		{Answer{Status: 401, Body: []byte("locked")}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, loggedIn: true}, system, "refused", verify.Forbidden, errForbidden},
		{Answer{Status: 401, loggedIn: true}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, loggedIn: true, Body: []byte("a locked account")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("the account is LOCKED")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("BMC.1.0.AccountLocked")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("user lockout")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("in lockdown mode")}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, Body: []byte("blocked until the clock is set")}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, Body: []byte("ACCOUNT_LOCKED")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("LoginLock")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("user lock-out")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("the account has a lock on it")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("no user in lockdown, UserLockdown or lock-down")}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, Body: []byte("the configuration is locked")}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, Body: []byte("the configuration is locked by another user")}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, Body: []byte("login failed: the configuration is locked")}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, Body: []byte("the account of 'admin' is locked for a while")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("the account 'svc.ironic' is locked")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("Account.Locked")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("not for this user.<br>The configuration is locked")}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, Body: []byte("login done. The configuration is locked")}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, Body: []byte("a locked account")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("you are locked out")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("The login account is blocked.")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("a blocked account")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("AccountBlocked")}, system, "refused", verify.Locked, nil},
		{Answer{Status: 403, Body: []byte("for this user, the port is blocked")}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, Body: []byte("<!-- MIT license -->")}, system, "refused", verify.Credentials, nil},
		{Answer{Status: 403, Body: []byte("<!-- MIT license -->")}, Root, "refused", verify.Credentials, nil},
		{Answer{Status: 404}, Root, noRoot + "refused", verify.Unsupported, errNoRoot},
		{Answer{Status: 404}, "/redfish/v1", noRoot + "refused", verify.Unsupported, errNoRoot},
		{Answer{Status: 405}, Root, "refused", verify.Unsupported, nil},
		{Answer{Status: 404}, system, "refused", verify.Unsupported, nil},
		{Answer{Status: 405}, system, "refused", verify.Unsupported, nil},
		{Answer{Status: 501}, system, "refused", verify.Unsupported, nil},
		{Answer{Status: 429}, system, "refused", verify.Unreachable, nil},
		{Answer{Status: 503}, system, "refused", verify.Unreachable, nil},
		{Answer{Status: 500, Body: []byte("lock")}, system, "refused", verify.Protocol, nil},
		{Answer{Status: 400, Header: object, Body: []byte("{}")}, system, "refused", verify.Protocol, nil},
	} {
		a := test.answer
		a.reason, a.Request = "refused", Request{Method: http.MethodGet, Path: test.path}
		err := a.refusal()
		if test.want == "" {
			require.NoError(t, err)
			continue
		}
		var failed *failure.Error
		require.True(t, errors.As(err, &failed))
		require.Equal(t, test.kind, failed.Kind, "%d", a.Status)
		require.EqualError(t, err, "GET "+test.path+": "+test.want)
		require.Equal(t, test.cause, failed.Cause)
	}
}

// The BMC says it in a message or in the ID of one. The rest of an answer may have the word for another reason.
func TestTheLackOfALicenceIsSaidByAMessage(t *testing.T) {
	for body, want := range map[string]error{
		`{"error": {"message": "Not licensed to perform this request."}}`:                                                        ErrUnlicensed,
		`{"error": {"code": "SMC.1.0.OemLicenseNotPassed", "message": "refused"}}`:                                               ErrUnlicensed,
		`{"error": {"@Message.ExtendedInfo": [{"Message": "a"}, {"MessageId": "LicenseRequired", "Message": "b"}]}}`:             ErrUnlicensed,
		`{"error": {"message": "a licence", "@Message.ExtendedInfo": {"Message": "b"}}}`:                                         ErrUnlicensed,
		`{"A@Message.ExtendedInfo": [{"Message": "It requires a licence."}]}`:                                                    ErrUnlicensed,
		`{"error": {"@Message.ExtendedInfo": [{"Message": "a", "Resolution": "See the license.", "MessageArgs": ["License"]}]}}`: nil,
		`{"error": {"message": "wrong password"}, "License": "MIT"}`:                                                             nil,
		`<html><!-- MIT license --></html>`:                                                                                      nil,
	} {
		err := (&Answer{Status: http.StatusForbidden, Body: []byte(body)}).refusal()
		var failed *failure.Error
		require.True(t, errors.As(err, &failed), body)
		require.Equal(t, want, failed.Cause, body)
		require.Equal(t, want != nil, failed.Kind == verify.Unsupported, body)
	}
	require.NotErrorIs(t, (&Answer{Status: http.StatusBadRequest, Body: []byte(`{"error": {"message": "license"}}`)}).refusal(), ErrUnlicensed)
	atRoot := Answer{Status: http.StatusForbidden, Body: []byte(`{"error": {"message": "license"}}`), Request: Request{Path: Root}}
	require.ErrorIs(t, atRoot.refusal(), errNoRoot)
}

// The answer to a change says by its status alone that the change is made.
func TestAChangeWhoseAnswerHasAnyBodyIsMade(t *testing.T) {
	for name, answer := range map[string]string{
		"no type":         "Content-Length: 2\r\n\r\nOK",
		"text":            "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nOK",
		"a page":          "Content-Type: text/html\r\n\r\n<p>",
		"a cut page":      "Content-Type: text/html\r\nContent-Length: 200\r\n\r\n<p>",
		"JSON":            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"JSON of no type": "Content-Length: 2\r\n\r\n{}",
	} {
		s := start(t, func(w http.ResponseWriter, _ *http.Request) { raw(w, "HTTP/1.1 200 OK\r\n"+answer) })
		for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodDelete} {
			_, err := s.client().Do(t.Context(), Request{Method: method, Path: "/a"})
			require.NoError(t, err, "%s %s", method, name)
		}
		_, _, err := s.client().Get(t.Context(), "/a")
		require.Equal(t, name == "JSON", err == nil, name)
	}
}

func TestTheMessagesOfAnErrorAreTheMostExact(t *testing.T) {
	for body, want := range map[string]string{
		"":                                     "",
		"no JSON":                              "",
		"{}":                                   "",
		`{"error": {"message": "in general"}}`: "in general",
		`{"error": {"Message": "in general"}}`: "in general",
		`{"error": {"message": "", "Message": "in general"}}`:                                                          "in general",
		`{"error": {"message": "in general", "@Message.ExtendedInfo": []}}`:                                            "in general",
		`{"error": {"message": "in general", "@Message.ExtendedInfo": [{"Message": ""}]}}`:                             "in general",
		`{"error": {"message": "in general", "@Message.ExtendedInfo": [{"Message": "exactly"}, {"Message": "also"}]}}`: "exactly also",
		// An iLO sends no text.
		`{"error": {"message": "See it", "@Message.ExtendedInfo": [{"MessageArgs": ["Off"], "MessageId": "iLO.2.X"}]}}`: "iLO.2.X Off",
		`{"error": {"@Message.ExtendedInfo": [{"MessageArgs": ["Tape", 7], "MessageID": "N"}]}}`:                        "N Tape, 7",
		// Others send one message in place of a list.
		`{"error": {"message": "in general", "@Message.ExtendedInfo": {"MessageId": "N", "Message": "exactly"}}}`: "exactly",
		`{"error": {"message": "in general", "@Message.ExtendedInfo": {"MessageId": "N", "Message": 7}}}`:         "N",
		`{"error": {"message": "in general", "@Message.ExtendedInfo": {}}}`:                                       "in general",
		// bmcweb sends the errors of properties without error.
		`{"B@Message.ExtendedInfo": [{"Message": "b"}, {"MessageId": "c"}], "A@Message.ExtendedInfo": [{"Message": "a"}]}`: "a b c",
		`{"C": [{"Message": "d"}], "error": {"message": "in general"}, "A@Message.ExtendedInfo": [{"Message": "a"}]}`:      "a",
		`{"error": {"@Message.ExtendedInfo": [{"Message": "a"}]}, "@Message.ExtendedInfo": [{"Message": "a"}]}`:            "a",
		`{"error": 7, "A@Message.ExtendedInfo": 7, "B@Message.ExtendedInfo": [{"Message": 7, "MessageId": "b"}]}`:          "b",
	} {
		for status, said := range map[int]string{399: "", 400: want, 500: want} {
			require.Equal(t, said, (&Answer{Status: status, Body: []byte(body)}).message(), "%d %s", status, body)
		}
	}
}
