// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

const (
	secretURL = "http://user:hunter2@h/x"
	maskedURL = "http://user:******@h/x"
)

// SECURITY.md: The passwords in URLs, such as `http://user:PASSWORD@host`, are masked in every answer and on the live
// page.
func TestPasswordsInURLsAreMaskedInEveryAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	const object = `{"a": {"b": ["at ` + secretURL + `"]}}`
	node := s.create(`{"driver": "fake-hardware", "name": "n", "description": "` + secretURL + `", "owner": "` + secretURL + `",
		"driver_info": {"deploy_iso": "` + secretURL +
		`", "image_http_proxy": "user:hunter2@proxy:3128", "image_https_proxy": "//user:hunter2@proxy",
			"snmp_community": "hunter2", "ipmi_hex_kg_key": "hunter2"},
		"instance_info": {"image_source": "` + secretURL + `", "kernel": "` + secretURL + `"}, "properties": ` + object +
		`, "extra": {"` + secretURL + `": ` + object + `}}`)
	s.do("PUT", "/v1/nodes/n/maintenance", "latest", `{"reason": "`+secretURL+`"}`)
	shown := s.do("GET", "/v1/nodes/n", "latest", "").must(http.StatusOK)
	require.Equal(t, map[string]any{
		"deploy_iso":        maskedURL,
		"image_http_proxy":  "user:******@proxy:3128",
		"image_https_proxy": "//user:******@proxy",
		"snmp_community":    "******",
		"ipmi_hex_kg_key":   "******",
	}, shown["driver_info"])
	require.Equal(t, map[string]any{"image_source": maskedURL, "kernel": maskedURL}, shown["instance_info"])
	require.Equal(t, maskedURL, shown["description"])
	require.Equal(t, maskedURL, shown["maintenance_reason"])
	require.Contains(t, shown["extra"], maskedURL)

	waiting := s.have(&conductor.Node{
		Name: "w", ProvisionState: states.DeployWait, LastError: secretURL, Agent: conductor.AgentInfo{URL: secretURL},
		InstanceInfo: map[string]any{"image_source": secretURL, "image_url": secretURL},
		DeploySteps:  &conductor.Steps{Current: &conductor.Step{Interface: "deploy", Step: "x", Args: map[string]any{"url": secretURL}}},
		RAIDConfig:   map[string]any{"a": secretURL}, BIOSSettings: []conductor.BIOSSetting{{Name: "a", Value: secretURL}},
		Firmware: []conductor.FirmwareComponent{{Component: "bmc", CurrentVersion: secretURL}},
	})
	for _, o := range []conductor.Object{
		&conductor.Inventory{ObjectMeta: conductor.ObjectMeta{UUID: waiting, NodeUUID: waiting},
			Inventory: map[string]any{"a": secretURL}, PluginData: map[string]any{"b": []any{secretURL}}},
		&conductor.HistoryEntry{ObjectMeta: conductor.ObjectMeta{NodeUUID: waiting},
			Event: strings.Repeat("x", 230) + " " + secretURL, EventType: "deploying"},
		&conductor.Allocation{ObjectMeta: conductor.ObjectMeta{Name: "failed"}, State: states.AllocationError, LastError: secretURL},
	} {
		_, err := s.conductor.CreateObject(t.Context(), o)
		require.NoError(t, err)
	}
	for path, fields := range map[string]string{
		"ports":             `"node_uuid": "NODE", "address": "52:54:00:00:00:01", "local_link_connection": {}, "extra": OBJECT`,
		"portgroups":        `"node_uuid": "NODE", "properties": OBJECT`,
		"chassis":           `"description": "URL", "extra": OBJECT`,
		"volume/connectors": `"node_uuid": "NODE", "type": "iqn", "connector_id": "URL", "extra": OBJECT`,
		"volume/targets":    `"node_uuid": "NODE", "volume_type": "iscsi", "volume_id": "URL", "boot_index": 0, "properties": OBJECT`,
		"deploy_templates":  `"name": "CUSTOM_A", "steps": [{"interface": "deploy", "step": "x", "args": OBJECT, "priority": 1}]`,
		"runbooks":          `"name": "CUSTOM_A", "steps": [{"interface": "deploy", "step": "x", "args": OBJECT, "order": 1}]`,
	} {
		created := s.do("POST", "/v1/"+path, "latest",
			"{"+strings.NewReplacer("NODE", node, "URL", secretURL, "OBJECT", object).Replace(fields)+"}")
		uuid := created.must(http.StatusCreated)["uuid"].(string)
		for _, a := range []reply{created, s.do("GET", "/v1/"+path+"/"+uuid, "latest", "")} {
			require.Contains(t, a.body, maskedURL, path)
			require.NotContains(t, a.body, "hunter2", path)
		}
	}
	for _, path := range []string{
		"nodes/w", "nodes/detail", "nodes/w/inventory", "nodes/w/history", "nodes/w/history?detail=true", "nodes/w/states",
		"nodes/w/validate", "nodes/w/bios?detail=true",
		"nodes/w/firmware", "allocations", "lookup?node_uuid=" + waiting, "ports/detail", "volume/targets?detail=true",
	} {
		a := s.do("GET", "/v1/"+path, "latest", "")
		require.Equal(t, http.StatusOK, a.status, path)
		require.NotContains(t, a.body, "hunter2", path)
	}
	long := `"` + strings.Repeat("x", 4080) + " " + secretURL + `"`
	for path, bodies := range map[string][]string{
		"PATCH /v1/nodes/n": {
			`[{"op": "add", "path": "/owner", "value": {"a": "` + secretURL + `"}}]`,
			`[{"op": "replace", "path": "/extra/none/x", "value": "` + secretURL + `"}]`,
			`[{"op": "add", "path": "/chassis_uuid", "value": ` + long + `}]`, `[{"op": "add", "path": "/extra/none/x", "value": [` + long + `]}]`,
		},
		"POST /v1/nodes": {`{"driver": "` + secretURL + `"}`, `{"driver": "fake-hardware", "owner": ["` + secretURL + `"]}`,
			`{"driver": "fake-hardware", "name": ` + long + `}`},
	} {
		for _, body := range bodies {
			method, path, _ := strings.Cut(path, " ")
			a := s.do(method, path, "latest", body)
			require.GreaterOrEqual(t, a.status, 400, body)
			require.NotContains(t, a.fault(), "hunter2")
			require.NotContains(t, a.fault(), "hunt")
		}
	}
}

func TestAMaskedURLThatComesBackIsStoredAsItIsLikeEveryMaskedValue(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n", "driver_info": {"deploy_iso": "` + secretURL + `", "ipmi_password": "hunter2"}}`)
	s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "add", "path": "/driver_info/a", "value": "b"}]`).must(http.StatusOK)
	n, err := s.conductor.Node(t.Context(), "n")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"deploy_iso": secretURL, "ipmi_password": "hunter2", "a": "b"}, n.DriverInfo, "other values stay")
	s.do("PATCH", "/v1/nodes/n", "latest", `[{"op": "replace", "path": "/driver_info", "value": {"deploy_iso": "`+maskedURL+
		`", "ipmi_password": "******"}}]`).must(http.StatusOK)
	n, err = s.conductor.Node(t.Context(), "n")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"deploy_iso": maskedURL, "ipmi_password": "******"}, n.DriverInfo)
}

func TestPasswordsOfVolumeTargetsAreMasked(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	node := s.have(&conductor.Node{ProvisionState: states.Manageable, Power: states.PowerOff})
	created := s.do("POST", "/v1/volume/targets", "latest", `{"node_uuid": "`+node+`", "volume_type": "iscsi", "volume_id": "v",
		"boot_index": 0, "properties": {"auth_username": "u", "auth_password": "hunter2", "target_iqn": "i"}}`)
	path := "/v1/volume/targets/" + created.must(http.StatusCreated)["uuid"].(string)
	masked := map[string]any{"auth_username": "u", "auth_password": "******", "target_iqn": "i"}
	for _, a := range []reply{
		created, s.do("GET", path, "latest", ""), s.do("PATCH", path, "latest", `[{"op": "replace", "path": "/boot_index", "value": 1}]`),
	} {
		require.Equal(t, masked, a.json()["properties"], a.body)
	}
	require.Equal(t, []any{masked}, s.do("GET", "/v1/volume/targets?detail=true", "latest", "").values("targets", "properties"))
}
