package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// TestObjectsOfVersion1AreShownAsBefore reads records of version 1, from which an earlier release
// has made the answers in the file.
func TestObjectsOfVersion1AreShownAsBefore(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	file, err := os.Open("testdata/objects-v1.jsonl")
	require.NoError(t, err)
	defer file.Close()
	type record struct {
		Kind       conductor.Kind
		ID         string
		Keys       []string
		Value      json.RawMessage
		Path, Body string
	}
	var records []record
	for lines := json.NewDecoder(file); lines.More(); {
		var r record
		require.NoError(t, lines.Decode(&r))
		records = append(records, r)
	}
	for _, r := range records {
		_, err := s.store.Create(t.Context(), conductor.Record{Kind: r.Kind, ID: r.ID, Keys: r.Keys, Value: r.Value})
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return s.do("GET", "/v1/nodes/n", "latest", "").status == http.StatusOK }, waitTime, tick)
	for _, r := range records {
		require.Equal(t, r.Body, strings.TrimSpace(s.do("GET", r.Path, "latest", "").body), r.Path)
	}
}
