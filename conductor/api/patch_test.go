// SPDX-License-Identifier: Apache-2.0

package api_test

import (
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
