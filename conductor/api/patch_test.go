// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestAPatchHasEscapesSince198(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	const body = `[{"op": "add", "path": "/extra/a~1b~0c", "value": "x"}]`
	require.Equal(t, http.StatusBadRequest, s.do("PATCH", "/v1/nodes/n", "1.97", body).status)
	require.Equal(t, map[string]any{"a/b~c": "x"}, s.do("PATCH", "/v1/nodes/n", "1.98", body).must(http.StatusOK)["extra"])
}

func TestAPatchThatFailsIsShownWithoutSecrets(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	for operation, want := range map[string]string{
		`{"op": "replace", "path": "/instance_info/image_url", "value": "http://u:hunter2@h/"}`: "Couldn't apply patch '{'op': 'replace', 'path': '/instance_info/image_url', 'value': '******'}'. Reason: can't replace a non-existent object 'image_url'",
		`{"op": "replace", "path": "/instance_info/image_url", "value": null}`:                  "Couldn't apply patch '{'op': 'replace', 'path': '/instance_info/image_url', 'value': None}'. Reason: can't replace a non-existent object 'image_url'",
		`{"op": "replace", "path": "/extra/a", "value": "b"}`:                                   "Couldn't apply patch '{'op': 'replace', 'path': '/extra/a', 'value': 'b'}'. Reason: can't replace a non-existent object 'a'",
		`{"op": "remove", "path": "/extra/a"}`:                                                  "Couldn't apply patch '{'op': 'remove', 'path': '/extra/a'}'. Reason: can't remove a non-existent object 'a'",
		`{"op": "add", "path": "/extra/a"}`:                                                     "Couldn't apply patch '{'op': 'add', 'path': '/extra/a'}'. Reason: The operation does not contain a 'value' member",
	} {
		require.Equal(t, want, s.do("PATCH", "/v1/nodes/n", "latest", "["+operation+"]").fault())
	}
}
