// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestAPatchHasNoEscapesAsInIronic39(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	const body = `[{"op": "add", "path": "/extra/a~1b~0c", "value": "x"}]`
	for _, version := range []string{"1.97", "1.98", "latest"} {
		require.Equal(t, `Schema error for patch: '/extra/a~1b~0c' does not match '^(/[\\w-]+)+$'`,
			s.do("PATCH", "/v1/nodes/n", version, body).fault())
	}
}

// SECURITY.md: The API masks passwords in `driver_info` and does not repeat them in errors.
func TestAPatchThatFailsIsShownWithoutSecrets(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	for operation, want := range map[string]string{
		`{"op": "replace", "path": "/instance_info/image_url", "value": "http://u:hunter2@h/"}`: "Couldn't apply patch " +
			"'{'op': 'replace', 'path': '/instance_info/image_url', 'value': '******'}'. Reason: can't replace a non-existent object 'image_url'",
		`{"op": "replace", "path": "/instance_info/image_url", "value": null}`: "Couldn't apply patch " +
			"'{'op': 'replace', 'path': '/instance_info/image_url', 'value': None}'. Reason: can't replace a non-existent object 'image_url'",
		`{"op": "replace", "path": "/extra/a", "value": "b"}`: "Couldn't apply patch '{'op': 'replace', 'path': '/extra/a', 'value': 'b'}'. " +
			"Reason: can't replace a non-existent object 'a'",
		`{"op": "remove", "path": "/extra/a"}`: "Couldn't apply patch '{'op': 'remove', 'path': '/extra/a'}'. " +
			"Reason: can't remove a non-existent object 'a'",
		`{"op": "add", "path": "/extra/a"}`: "Couldn't apply patch '{'op': 'add', 'path': '/extra/a'}'. " +
			"Reason: The operation does not contain a 'value' member",
	} {
		require.Equal(t, want, s.do("PATCH", "/v1/nodes/n", "latest", "["+operation+"]").fault())
	}
}

// SECURITY.md: The API masks passwords in `driver_info` and does not repeat them in errors.
func TestAPatchThatMissesAMemberRepeatsNothingThatResponsesHide(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	const node = "/v1/nodes/n"
	s.create(`{"driver": "fake-hardware", "name": "n", "driver_info": {"a": "seen", "ipmi_password": "hunter2"},
		"instance_info": {"a": "seen", "image_url": {"z": "hunter2"}}, "extra": {"a": "seen"}}`)
	const actions = `"actions": [{"op": "fail", "args": {"msg": "hunter2"}}]`
	sensitive := s.post(rulesPath, `{"sensitive": true, `+actions+`}`)
	for _, c := range []struct{ path, at, want string }{
		{node, "/extra/x/y", "member 'x' not found in {'a': 'seen'}"},
		{node, "/driver_info/x/y", "member 'x' not found in {'a': 'seen', 'ipmi_password': '******'}"},
		{node, "/instance_info/x/y", "member 'x' not found in {'a': 'seen', 'image_url': '******'}"},
		{node, "/instance_info/image_url/x/y", "member 'x' not found"},
		{sensitive, "/actions/0/args/x/y", "member 'x' not found"},
		{sensitive, "/scope_/x", "member 'scope_' not found"},
	} {
		a := s.do("PATCH", c.path, "latest", `[{"op": "add", "path": "`+c.at+`", "value": 1}]`)
		require.Equal(t, http.StatusBadRequest, a.status, a.body)
		_, reason, _ := strings.Cut(a.fault(), "Reason: ")
		require.Equal(t, c.want, reason, c.at)
	}
	loop := s.post(rulesPath, `{"sensitive": true, `+actions+`,
		"conditions": [{"op": "matches", "args": ["a", "(?=hunter2)"], "loop": [1]}]}`)
	require.Equal(t, "Invalid rule: an operation is not supported",
		s.do("PATCH", loop, "latest", `[{"op": "remove", "path": "/conditions/0/loop"}]`).fault())
	for field, value := range map[string]string{"instance_info": `["a"]`, "driver_info": `"a"`} { // before its schema is checked
		a := s.do("PATCH", node, "latest", `[{"op": "replace", "path": "/`+field+`", "value": `+value+`},
			{"op": "add", "path": "/`+field+`/0/x", "value": 1}]`)
		require.Equal(t, http.StatusBadRequest, a.status, a.body)
	}
}
