// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// TestStepsAreShownAsIronicStoresThem compares the step fields of responses with those that Ironic has in
// its records.
func TestStepsAreShownAsIronicStoresThem(t *testing.T) {
	text, err := os.ReadFile("testdata/nodes-steps.jsonl")
	require.NoError(t, err)
	store := &conductor.Memory{}
	c, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
	require.NoError(t, err)
	handler := api.New(c, api.Config{})
	shown := map[string]bool{}
	for line := range bytes.Lines(text) {
		var node struct {
			Record json.RawMessage
			Shown  map[string]map[string]any
		}
		require.NoError(t, json.Unmarshal(line, &node))
		var stored struct{ UUID string }
		require.NoError(t, json.Unmarshal(node.Record, &stored))
		_, err := store.Create(t.Context(), conductor.Record{Kind: conductor.KindNode, ID: stored.UUID, Value: node.Record})
		require.NoError(t, err)
		r := httptest.NewRequest("GET", "/v1/nodes/"+stored.UUID, nil)
		r.Header.Set("X-OpenStack-Ironic-API-Version", states.Latest().MaxAPIVersion().String())
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var got map[string]any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got), w.Body.String())
		for field, want := range node.Shown {
			require.Equal(t, want, got[field], "%s of %s", field, node.Record)
			for key := range want {
				shown[key] = true
			}
		}
	}
	for _, key := range []string{
		"abort_after", "argsinfo", "clean_step_index", "deploy_step_index", "service_step_index", "user_deploy_steps",
		"cleaning_disable_ramdisk", "service_disable_ramdisk",
	} {
		require.True(t, shown[key], "no record has %s", key)
	}
}
