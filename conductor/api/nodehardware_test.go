// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestBIOSSettings(t *testing.T) {
	s := start(t, states.Epoxy, api.Config{})
	_, err := s.conductor.CreateNode(t.Context(), &conductor.Node{
		Name: "n", Driver: "fake-hardware", ProvisionState: states.Manageable,
		BIOSSettings: []conductor.BIOSSetting{
			{Name: "noise"},
			{Name: "speed", Value: "full", Registry: map[string]any{"attribute_type": "Enumeration", "allowable_values": []any{"full", "half"}}},
		},
	})
	require.NoError(t, err)
	names := func(query, version string) (fields []string) {
		list := s.do("GET", "/v1/nodes/n/bios"+query, version, "").must(http.StatusOK)["bios"].([]any)
		require.Len(t, list, 2)
		require.Equal(t, "noise", list[0].(map[string]any)["name"])
		require.Nil(t, list[0].(map[string]any)["value"], "Ironic shows the value of a password as null")
		return slices.Sorted(maps.Keys(list[1].(map[string]any)))
	}
	few := []string{"created_at", "links", "name", "updated_at", "value"}
	all := []string{
		"allowable_values", "attribute_type", "created_at", "links", "lower_bound", "max_length", "min_length", "name",
		"read_only", "reset_required", "unique", "updated_at", "upper_bound", "value",
	}
	require.Equal(t, few, names("", "1.40"))
	require.Equal(t, few, names("", "latest"))
	require.Equal(t, all, names("?detail=true", "1.74"))
	require.Equal(t, []string{"created_at", "links", "name", "unique", "updated_at"}, names("?fields=name,unique", "1.74"))
	require.Equal(t, "Invalid query parameter ?fields=['name'] received.", s.do("GET", "/v1/nodes/n/bios?fields=name", "1.73", "").fault())
	require.Equal(t, http.StatusBadRequest, s.do("GET", "/v1/nodes/n/bios?detail=true", "1.73", "").status)
	require.Equal(t, []string{"created_at", "links", "name", "updated_at"}, names("?fields=nope,name", "latest"))

	speed := s.do("GET", "/v1/nodes/n/bios/speed", "latest", "").must(http.StatusOK)["speed"].(map[string]any)
	require.Equal(t, all, slices.Sorted(maps.Keys(speed)))
	require.Equal(t, []any{"full", "half"}, speed["allowable_values"])
	speed = s.do("GET", "/v1/nodes/n/bios/speed", "1.40", "").must(http.StatusOK)["speed"].(map[string]any)
	require.Equal(t, few, slices.Sorted(maps.Keys(speed)))
	require.Equal(t, http.StatusNotFound, s.do("GET", "/v1/nodes/n/bios/nope", "latest", "").status)
}

func TestFirmwareComponents(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	n := &conductor.Node{Name: "n", Driver: "fake-hardware", ProvisionState: states.Manageable}
	n.SetFirmware([]conductor.FirmwareComponent{{Component: "bios", CurrentVersion: "1"},
		{Component: "bmc", CurrentVersion: "1", Model: "M1"}})
	n.SetFirmware([]conductor.FirmwareComponent{{Component: "bios", CurrentVersion: "2"}})
	_, err := s.conductor.CreateNode(t.Context(), n)
	require.NoError(t, err)
	for query, want := range map[string]string{
		"": `{"firmware": [
			{"created_at": "TIME", "updated_at": "TIME", "component": "bios",
				"initial_version": "1", "current_version": "2", "last_version_flashed": "2"},
			{"created_at": "TIME", "updated_at": null, "component": "bmc",
				"initial_version": "1", "current_version": "1", "last_version_flashed": null}
		]}`,
		"?fields=component": `{"firmware": [{"created_at": "TIME", "updated_at": "TIME", "component": "bios"}, ` +
			`{"created_at": "TIME", "updated_at": null, "component": "bmc"}]}`,
	} {
		a := s.do("GET", "/v1/nodes/n/firmware"+query, "1.86", "")
		require.JSONEq(t, want, timePattern.ReplaceAllString(a.body, "TIME"), query)
	}
	require.Equal(t, "Schema error: 'true' is not of type 'boolean'",
		s.do("GET", "/v1/nodes/n/firmware?detail=true", "1.86", "").fault(), "as Ironic 39.0.0")
	require.Equal(t, http.StatusBadRequest, s.do("GET", "/v1/nodes/n/firmware?detail=true&fields=component", "1.86", "").status)
	require.Equal(t, http.StatusNotFound, s.do("GET", "/v1/nodes/n/firmware", "1.85", "").status)

	shown := s.do("GET", "/v1/nodes/n/firmware?fields=model,component,serial_number,vendor", "1.114",
		"").must(http.StatusOK)["firmware"].([]any)[1].(map[string]any)
	delete(shown, "created_at")
	require.Equal(t, map[string]any{"component": "bmc", "updated_at": nil, "vendor": nil, "model": "M1", "serial_number": nil}, shown)
	require.Equal(t, "Fields model, vendor are not allowed in this API version. They require at least API version 1.114.",
		s.do("GET", "/v1/nodes/n/firmware?fields=vendor,model,component", "1.113", "").fault())
}
