// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// TestStoredObjectsAreShownAsTheFileSays compares the answers for stored records with those in the file.
func TestStoredObjectsAreShownAsTheFileSays(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	file, err := os.Open("testdata/objects.jsonl")
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
	for _, r := range records {
		for s.do("GET", r.Path, "latest", "").status == http.StatusNotFound { // until the conductor has seen the record
			time.Sleep(time.Millisecond)
		}
	}
	for _, r := range records {
		require.Equal(t, r.Body, strings.TrimSpace(s.do("GET", r.Path, "latest", "").body), r.Path)
	}
}

func TestThePagesOfAListOfPortsAreTheList(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	node, other := s.create(`{"driver": "fake-hardware", "name": "n"}`), s.create(`{"driver": "fake-hardware"}`)
	var all, ofNode []string
	for i := range 9 {
		owner := []string{node, node, other}[i%3]
		port := s.do("POST", "/v1/ports", "latest",
			fmt.Sprintf(`{"address": "52:54:00:00:00:%02x", "node_uuid": "%s"}`, i, owner)).must(http.StatusCreated)
		all = append(all, port["uuid"].(string))
		if owner == node {
			ofNode = append(ofNode, port["uuid"].(string))
		}
	}
	for path, list := range map[string][]string{"/v1/ports?": all, "/v1/ports?node=n&": ofNode, "/v1/nodes/n/ports?": ofNode} {
		for _, direction := range []string{"asc", "desc"} {
			want := slices.Clone(list)
			if direction == "desc" {
				slices.Reverse(want)
			}
			for _, key := range []string{"id", "created_at"} {
				var got []string
				for marker := ""; ; marker = "&marker=" + got[len(got)-1] {
					page := s.do("GET", path+"limit=2&sort_key="+key+"&sort_dir="+direction+marker, "latest", "").must(http.StatusOK)["ports"].([]any)
					for _, port := range page {
						got = append(got, port.(map[string]any)["uuid"].(string))
					}
					if len(page) < 2 {
						break
					}
				}
				require.Equal(t, want, got, "%s %s %s", path, key, direction)
			}
		}
	}
}

func TestAPortWithoutValuesHasTheDefaultsForARule(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	n, err := s.conductor.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
	require.NoError(t, err)
	port, err := s.conductor.CreateObject(t.Context(),
		&conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:12:34:56"})
	require.NoError(t, err)
	patch := func(field, value string) reply {
		return s.do("PATCH", "/v1/ports/"+port.Meta().UUID, "latest", `[{"op": "add", "path": "/`+field+`", "value": `+value+`}]`)
	}
	patch("extra", `{"a": 1}`).must(http.StatusOK)
	patch("pxe_enabled", "true").must(http.StatusOK)
	patch("pxe_enabled", "false").must(http.StatusConflict)
}

func TestNewStepsOfATemplateReplaceTheOldOnes(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	steps := func(args string) string {
		return `[{"interface": "deploy", "step": "deploy", "args": ` + args + `, "priority": 60}]`
	}
	s.do("POST", "/v1/deploy_templates", "latest", `{"name": "CUSTOM_A", "steps": `+steps(`{"k": 1}`)+`}`).must(http.StatusCreated)
	before, err := s.conductor.Object(t.Context(), conductor.KindDeployTemplate, "CUSTOM_A")
	require.NoError(t, err)
	got := s.do("PATCH", "/v1/deploy_templates/CUSTOM_A", "latest",
		`[{"op": "replace", "path": "/steps", "value": `+steps(`{}`)+`}]`).must(http.StatusOK)
	require.Empty(t, got["steps"].([]any)[0].(map[string]any)["args"])
	require.Contains(t, before.(*conductor.DeployTemplate).Steps[0].Args, "k", "a shared object does not change")
}
