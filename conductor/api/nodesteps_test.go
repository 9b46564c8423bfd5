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

// TestStepsOfRecordsOfVersion1AreShownAsTheyWereStored compares the step fields of responses with
// those of records that the first release has stored, which were Ironic's.
func TestStepsOfRecordsOfVersion1AreShownAsTheyWereStored(t *testing.T) {
	text, err := os.ReadFile("../testdata/nodes-v1-steps.jsonl")
	require.NoError(t, err)
	store := &conductor.Memory{}
	c, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}}})
	require.NoError(t, err)
	handler := api.New(c, api.Config{})
	shown := map[string]bool{}
	for record := range bytes.Lines(text) {
		var stored, got map[string]any
		require.NoError(t, json.Unmarshal(record, &stored))
		id := stored["uuid"].(string)
		_, err := store.Create(t.Context(), conductor.Record{Kind: conductor.KindNode, ID: id, Value: record})
		require.NoError(t, err)
		r := httptest.NewRequest("GET", "/v1/nodes/"+id, nil)
		r.Header.Set("X-OpenStack-Ironic-API-Version", states.Latest().MaxAPIVersion().String())
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got), w.Body.String())
		for _, field := range []string{"clean_step", "deploy_step", "service_step", "driver_internal_info"} {
			want, ok := stored[field].(map[string]any)
			if !ok {
				want = map[string]any{}
			}
			require.Equal(t, want, got[field], "%s of %s", field, record)
			for key := range want {
				shown[key] = true
			}
		}
	}
	for _, key := range []string{"abort_after", "argsinfo", "clean_step_index", "deploy_step_index", "service_step_index", "user_deploy_steps", "cleaning_disable_ramdisk", "servicing_disable_ramdisk"} {
		require.True(t, shown[key], "no record has %s", key)
	}
}
