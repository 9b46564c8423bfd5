// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestTheArgumentsOfAProvisionRequestExistSinceTheirVersion(t *testing.T) {
	const accepted = ""
	const step = `[{"interface": "bios", "step": "factory_reset"}]`
	for _, test := range []struct {
		name    string
		series  states.Series
		in      states.State
		version string
		body    string
		fault   string
	}{
		{"a config drive as text", states.Latest(), states.Available, "1.55", `{"target": "active", "configdrive": "YWJj"}`, accepted},
		{"a config drive as JSON", states.Latest(), states.Available, "1.55", `{"target": "active", "configdrive": {"meta_data": {}}}`,
			"Providing a JSON object for configdrive is only supported starting with API version 1.56"},
		{"a config drive as JSON", states.Latest(), states.Available, "1.56", `{"target": "active", "configdrive": {"meta_data": {}}}`, accepted},
		{"an empty config drive", states.Latest(), states.Available, "1.55", `{"target": "active", "configdrive": {}}`, accepted},
		{"a list as user data", states.Latest(), states.Available, "1.56",
			`{"target": "active", "configdrive": {"user_data": [], "network_data": {}}}`, accepted},
		{"a text as user data", states.Latest(), states.Available, "1.56", `{"target": "active", "configdrive": {"user_data": "x"}}`, accepted},
		{"an object as user data", states.Latest(), states.Available, "1.56",
			`{"target": "active", "configdrive": {"user_data": {"a": 1}}}`, accepted},
		{"no user data", states.Latest(), states.Available, "1.56", `{"target": "active", "configdrive": {"user_data": null}}`, accepted},
		{"a number as user data", states.Latest(), states.Available, "1.56", `{"target": "active", "configdrive": {"user_data": 1}}`,
			"Invalid configdrive format: user_data is not of type 'object', 'array', 'string', 'null'"},
		{"a list as metadata", states.Latest(), states.Available, "1.56", `{"target": "active", "configdrive": {"meta_data": []}}`,
			"Invalid configdrive format: meta_data is not of type 'object'"},
		{"an unknown part of a config drive", states.Latest(), states.Available, "1.56", `{"target": "active", "configdrive": {"other": {}}}`,
			"Invalid configdrive format: Additional properties are not allowed ('other' was unexpected)"},
		{"the order of a step", states.Bobcat, states.Manageable, "1.87",
			`{"target": "clean", "clean_steps": [{"interface": "bios", "step": "factory_reset", "order": 1}]}`, accepted},
		{"the order of a step", states.Antelope, states.Manageable, "1.82",
			`{"target": "clean", "clean_steps": [{"interface": "bios", "step": "factory_reset", "order": 1}]}`,
			"Invalid clean_steps: Additional properties are not allowed ('order' was unexpected)"},
		{"vendor data", states.Latest(), states.Available, "1.58", `{"target": "active", "configdrive": {"vendor_data": {}}}`,
			"Providing vendor_data in configdrive is only supported starting with API version 1.59"},
		{"vendor data", states.Latest(), states.Available, "1.59", `{"target": "active", "configdrive": {"vendor_data": {}}}`, accepted},
		{"a config drive of a rebuild", states.Latest(), states.Active, "1.34", `{"target": "rebuild", "configdrive": "YWJj"}`,
			"Adding a config drive is only supported when setting provision state to active"},
		{"a config drive of a rebuild", states.Latest(), states.Active, "1.35", `{"target": "rebuild", "configdrive": "YWJj"}`, accepted},
		{"a config drive of a tear-down", states.Latest(), states.Active, "1.35", `{"target": "deleted", "configdrive": "YWJj"}`,
			"Adding a config drive is only supported when setting provision state to active, rebuild"},
		{"a config drive in base64", states.Latest(), states.Available, "latest",
			`{"target": "active", "configdrive": "azAZ09+/=\n\r\t "}`, accepted},
		{"the address of a config drive", states.Latest(), states.Available, "latest",
			`{"target": "active", "configdrive": "http://a.example/?b"}`, accepted},
		{"a rescue with a password", states.Latest(), states.Active, "latest", `{"target": "rescue", "rescue_password": " x "}`, accepted},
		{"a rescue with a blank password", states.Latest(), states.Active, "latest", `{"target": "rescue", "rescue_password": " "}`,
			`A non-empty "rescue_password" is required when setting target provision state to rescue`},
		{"a rescue without a password", states.Latest(), states.Active, "latest", `{"target": "rescue"}`,
			`A non-empty "rescue_password" is required when setting target provision state to rescue`},
		{"a password of a cleaning", states.Latest(), states.Manageable, "latest",
			`{"target": "clean", "clean_steps": ` + step + `, "rescue_password": "x"}`,
			`"rescue_password" is only valid when setting target provision state to rescue`},
		{"a cleaning without steps", states.Latest(), states.Manageable, "latest", `{"target": "clean"}`,
			`"clean_steps" is required when setting target provision state to clean`},
		{"a service without steps", states.Latest(), states.Active, "latest", `{"target": "service"}`,
			`"service_steps" is required when setting target provision state to service`},
		{"clean steps of a service", states.Latest(), states.Active, "latest", `{"target": "service", "clean_steps": ` + step + `}`,
			`"clean_steps" is only valid when setting target provision state to clean`},
		{"clean steps of a service that the state does not allow", states.Latest(), states.Manageable, "latest",
			`{"target": "service", "clean_steps": ` + step + `}`,
			`The requested action "service" can not be performed on node "UUID" while it is in state "manageable".`},
		{"service steps of a cleaning", states.Latest(), states.Manageable, "latest",
			`{"target": "clean", "clean_steps": ` + step + `, "service_steps": ` + step + `}`,
			`"service_steps" is only valid when setting target provision state to service`},
		{"a service before its version", states.Latest(), states.Active, "1.86", `{"target": "service", "service_steps": ` + step + `}`,
			"Request not acceptable."},
		{"a config drive of a service before its version", states.Latest(), states.Active, "1.86", `{"target": "service", "configdrive": "YWJj"}`,
			"Adding a config drive is only supported when setting provision state to active, rebuild"},
		{"service steps of an end of a hold before its version", states.Latest(), states.CleanHold, "1.84",
			`{"target": "unhold", "service_steps": ` + step + `}`, "Request not acceptable."},
		{"service steps of an end of a hold", states.Latest(), states.CleanHold, "1.85",
			`{"target": "unhold", "service_steps": ` + step + `}`,
			`"service_steps" is only valid when setting target provision state to service`},
		{"clean steps of an end of a hold before its version", states.Latest(), states.CleanHold, "1.84",
			`{"target": "unhold", "clean_steps": ` + step + `}`, `"clean_steps" is only valid when setting target provision state to clean`},
		{"an end of a hold before its version", states.Latest(), states.CleanHold, "1.84", `{"target": "unhold"}`, "Request not acceptable."},
		{"a password of an abort before its version", states.Latest(), states.DeployWait, "1.109",
			`{"target": "abort", "rescue_password": "x"}`, `"rescue_password" is only valid when setting target provision state to rescue`},
		{"an abort before its version", states.Latest(), states.DeployWait, "1.109", `{"target": "abort"}`, "Request not acceptable."},
		{"service steps of an abort before its version", states.Latest(), states.DeployWait, "1.109",
			`{"target": "abort", "service_steps": ` + step + `}`, "Request not acceptable."},
		{"service steps of an abort of an inspection before its version", states.Latest(), states.InspectWait, "1.40",
			`{"target": "abort", "service_steps": ` + step + `}`, "Request not acceptable."},
		{"a password of an abort before the word", states.Latest(), states.InspectWait, "1.12",
			`{"target": "abort", "rescue_password": "x"}`, "Request not acceptable."},
		{"deploy steps of a rebuild", states.Latest(), states.Active, "latest",
			`{"target": "rebuild", "deploy_steps": [{"interface": "bios", "step": "factory_reset", "priority": 1, "args": {}}]}`, accepted},
		{"deploy steps of a tear-down", states.Latest(), states.Active, "latest", `{"target": "deleted", "deploy_steps": ` + step + `}`,
			`"deploy_steps" is only valid when setting target provision state to active or rebuild`},
		{"a step that is not allowed", states.Epoxy, states.Manageable, "latest",
			`{"target": "clean", "clean_steps": [{"interface": "vendor", "step": "send_raw"}]}`,
			"clean step 'vendor.send_raw' is not allowed. Disallowed by operator configuration [api]disallow_clean_steps."},
		{"a service step that is not allowed", states.Latest(), states.Active, "latest",
			`{"target": "service", "service_steps": [{"interface": "vendor", "step": "send_raw"}]}`,
			"service step 'vendor.send_raw' is not allowed. Disallowed by operator configuration [api]disallow_service_steps."},
		{"a deploy step that is not allowed", states.Latest(), states.Active, "latest",
			`{"target": "rebuild", "deploy_steps": [{"interface": "vendor", "step": "send_raw", "args": {}, "priority": 1}]}`,
			"deploy step 'vendor.send_raw' is not allowed. Disallowed by operator configuration [api]disallow_deploy_steps."},
		{"a step that was still allowed", states.Caracal, states.Manageable, "latest",
			`{"target": "clean", "clean_steps": [{"interface": "vendor", "step": "send_raw"}]}`, accepted},
		{"deploy steps of other types", states.Gazpacho, states.Available, "latest",
			`{"target": "active", "deploy_steps": [{"interface": 1, "step": 2, "args": {}, "priority": 1}]}`,
			"Invalid deploy_steps: 2 is not of type 'string'"},
		{"deploy steps of other types", states.Flamingo, states.Available, "latest",
			`{"target": "active", "deploy_steps": [{"interface": 1, "step": 2, "args": {}, "priority": 1}]}`,
			"Invalid deploy_steps: 1 is not of type 'string'"},
		{"a priority out of range", states.Latest(), states.Available, "latest",
			`{"target": "active", "deploy_steps": [{"interface": "bios", "step": "factory_reset", "priority": 1e30, "args": {}}]}`,
			"Invalid deploy_steps: 1e+30 is out of range"},
		{"deploy steps", states.Latest(), states.Available, "1.68", `{"target": "active", "deploy_steps": ` + step + `}`,
			"Request not acceptable. The minimal required API version should be 1.69"},
		{"deploy steps", states.Latest(), states.Available, "1.69",
			`{"target": "active", "deploy_steps": [{"interface": "bios", "step": "factory_reset", "priority": 1, "args": {}}]}`, accepted},
		{"a service step without a name", states.Latest(), states.Active, "latest",
			`{"target": "service", "service_steps": [{"interface": "bios"}]}`,
			"Invalid service_steps: 'step' is a required property"},
		{"a cleaning without ramdisk", states.Latest(), states.Manageable, "1.69",
			`{"target": "clean", "clean_steps": ` + step + `, "disable_ramdisk": true}`,
			"disable_ramdisk is not acceptable in this API version"},
		{"a cleaning without ramdisk", states.Latest(), states.Manageable, "1.70",
			`{"target": "clean", "clean_steps": ` + step + `, "disable_ramdisk": true}`, accepted},
		{"a service without ramdisk", states.Latest(), states.Active, "1.107",
			`{"target": "service", "service_steps": ` + step + `, "disable_ramdisk": true}`,
			"disable_ramdisk is not acceptable in this API version"},
		{"a service without ramdisk", states.Latest(), states.Active, "1.108",
			`{"target": "service", "service_steps": ` + step + `, "disable_ramdisk": true}`, accepted},
		{"a deployment without ramdisk", states.Latest(), states.Available, "1.108", `{"target": "active", "disable_ramdisk": true}`,
			"disable_ramdisk is supported only with manual cleaning or servicing"},
		{"a deployment without ramdisk", states.Latest(), states.Available, "1.50", `{"target": "active", "disable_ramdisk": true}`,
			"disable_ramdisk is supported only with manual cleaning or servicing"},
		{"a service without ramdisk before services had it", states.Bobcat, states.Active, "1.87",
			`{"target": "service", "service_steps": ` + step + `, "disable_ramdisk": true}`,
			"disable_ramdisk is supported only with manual cleaning"},
		{"a deployment without ramdisk before services had it", states.Bobcat, states.Available, "1.69",
			`{"target": "active", "disable_ramdisk": true}`,
			"disable_ramdisk is not acceptable in this API version"},
	} {
		t.Run(test.name+" at "+test.version, func(t *testing.T) {
			s := start(t, test.series, api.Config{})
			n, err := s.conductor.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: test.in})
			require.NoError(t, err)
			a := s.do("PUT", "/v1/nodes/"+n.UUID+"/states/provision", test.version, test.body)
			if test.fault != accepted {
				first, _, _ := strings.Cut(a.fault(), "\n")
				require.Equal(t, test.fault, strings.ReplaceAll(first, n.UUID, "UUID"))
				return
			}
			a.must(http.StatusAccepted)
			s.wait(n.UUID)
			n, err = s.conductor.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			drive := strings.Contains(test.body, `"configdrive"`) && !strings.Contains(test.body, `"configdrive": {}`)
			require.Equal(t, drive, n.InstanceInfo["configdrive"] != nil)
		})
	}
}

func TestAConfigDriveThatIsNeitherBase64NorAnAddressIsRefused(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	n, err := s.conductor.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
	require.NoError(t, err)
	for _, c := range "@[`{:.-_*<>,?\x00\u00e4" {
		body, err := json.Marshal(map[string]any{"target": "active", "configdrive": "YW" + string(c)})
		require.NoError(t, err)
		a := s.do("PUT", "/v1/nodes/"+n.UUID+"/states/provision", "latest", string(body))
		require.Equal(t, "Invalid configdrive format: it is neither a JSON, nor a URL, nor a base64 string", a.fault(), "%q", c)
	}
}

func TestTheHistoryOfANodeIsShown(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	n := s.create(`{"driver": "fake-hardware", "name": "n"}`)
	long := strings.Repeat("ä", 200)
	s.onOperation(func(_ context.Context, _ *conductor.Node, operation string) error {
		return errors.New(long)
	})
	fail := func(version string, recorded int) (entries []any) { // the entry is written after the node
		s.provision("n", "manage")
		for len(entries) != recorded {
			time.Sleep(time.Millisecond)
			entries = s.do("GET", "/v1/nodes/n/history", version, "").must(http.StatusOK)["history"].([]any)
		}
		return entries
	}
	event := "verification of node n (" + n + ") failed: " + long

	entries := fail("1.78", 1)
	entry := entries[0].(map[string]any)
	uuid := entry["uuid"].(string)
	path := "/v1/nodes/" + n + "/history/" + uuid
	want := map[string]any{
		"uuid": uuid, "created_at": entry["created_at"], "severity": "ERROR", "event": event[:250] + "...",
		"links": []any{map[string]any{"href": "http://HOST" + path, "rel": "self"}},
	}
	require.Equal(t, want, entry, "a list cuts the event between two characters")
	require.Regexp(t, timePattern, entry["created_at"])

	want["event"], want["event_type"], want["conductor"], want["user"] = event, "verify", "testhost", nil
	for _, version := range []string{"1.78", "1.112"} {
		require.Equal(t, want, s.do("GET", path, version, "").must(http.StatusOK))
		require.Equal(t, []any{want}, s.do("GET", "/v1/nodes/n/history?detail=true", version, "").must(http.StatusOK)["history"])
	}
	want["project"] = nil
	require.Equal(t, want, s.do("GET", path, "1.114", "").must(http.StatusOK))
	shown := s.do("GET", path, "1.115", "").must(http.StatusOK)
	require.GreaterOrEqual(t, shown["duration_seconds"], 0.0)
	delete(shown, "duration_seconds")
	want["state"], want["target_provision_state"] = "verifying", "manageable"
	require.Equal(t, want, shown)

	fail("latest", 2)
	first := s.do("GET", "/v1/nodes/n/history?limit=1", "latest", "").must(http.StatusOK)
	require.Len(t, first["history"], 1)
	next := s.do("GET", strings.TrimPrefix(first["next"].(string), "http://HOST"), "latest", "").must(http.StatusOK)
	require.Len(t, next["history"], 1)
	second := next["history"].([]any)[0].(map[string]any)["uuid"]
	require.NotEqual(t, uuid, second)
	next = s.do("GET", strings.TrimPrefix(next["next"].(string), "http://HOST"), "latest", "").must(http.StatusOK)
	require.NotContains(t, next, "next", "an empty page is the last")

	long = strings.Repeat("a", 255-len(event)+len(long))
	entries = fail("latest", 3)
	require.Equal(t, event[:len(event)-400]+long, entries[2].(map[string]any)["event"], "255 characters are not cut")

	const none = "11111111-2222-3333-4444-555555555555"
	notFound := "Node history record " + none + " could not be found."
	require.Equal(t, notFound, s.do("GET", "/v1/nodes/n/history/"+none, "latest", "").fault())
	require.Equal(t, notFound, s.do("GET", "/v1/nodes/n/history?marker="+none, "latest", "").fault())
	s.create(`{"driver": "fake-hardware", "name": "other"}`)
	require.Equal(t, http.StatusNotFound, s.do("GET", "/v1/nodes/other/history/"+uuid, "latest", "").status, "it is another node's")
	require.Equal(t, "Node history record a-name could not be found.", s.do("GET", "/v1/nodes/n/history/a-name", "latest", "").fault())
	require.Equal(t, "Expected UUID or name for event: a b", s.do("GET", "/v1/nodes/n/history/a%20b", "latest", "").fault())
	require.Empty(t, s.do("GET", "/v1/nodes/other/history", "latest", "").must(http.StatusOK)["history"])
}

func TestALocationIsGivenOnlyForATraitThatWasAdded(t *testing.T) {
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	s.do("POST", "/v1/runbooks", "latest",
		`{"name": "wipe", "steps": [{"interface": "bios", "step": "factory_reset", "order": 1}]}`).must(http.StatusCreated)
	for _, of := range []string{"/v1/nodes/n/traits", "/v1/runbooks/wipe/traits"} {
		for _, test := range []struct{ method, path, body, location string }{
			{"PUT", of, `{"traits": ["CUSTOM_A"]}`, ""},
			{"PUT", of + "/CUSTOM_B", "", "http://HOST" + of + "/CUSTOM_B"},
			{"DELETE", of + "/CUSTOM_B", "", ""},
			{"DELETE", of, "", ""},
		} {
			a := s.do(test.method, test.path, "latest", test.body)
			require.Equal(t, http.StatusNoContent, a.status, a.body)
			require.Equal(t, test.location, a.header.Get("Location"), "%s %s", test.method, test.path)
		}
	}
}

func TestAnAdoptedNodeWithoutAConsoleInterfaceLosesItsConsole(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	id := s.create(`{"driver": "fake-hardware", "name": "n", "console_enabled": true, "console_interface": "no-console"}`)
	s.provision("n", "manage")
	require.Equal(t, true, s.do("GET", "/v1/nodes/n", "latest", "").must(http.StatusOK)["console_enabled"])
	s.provision("n", "adopt")
	n := s.do("GET", "/v1/nodes/n", "latest", "").must(http.StatusOK)
	require.Equal(t, []any{"active", false}, []any{n["provision_state"], n["console_enabled"]})
	require.Equal(t, "Failed to start console while taking over the node "+id+
		": Driver fake-hardware does not support console (disabled or not implemented)..", n["last_error"])
}

func TestAConsoleSetToNullIsSwitchedOffAndClearsTheLastError(t *testing.T) {
	s := start(t, states.Antelope, api.Config{})
	n, err := s.conductor.CreateNode(t.Context(),
		&conductor.Node{Name: "n", Driver: "fake-hardware", ProvisionState: states.Enroll, LastError: "broken"})
	require.NoError(t, err)
	s.do("PUT", "/v1/nodes/n/states/console", "latest", `{"enabled": false}`).must(http.StatusAccepted)
	n, err = s.conductor.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, "broken", n.LastError, "the console is off already")
	s.do("PUT", "/v1/nodes/n/states/console", "latest", `{"enabled": null}`).must(http.StatusAccepted)
	n, err = s.conductor.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Empty(t, n.LastError)
	require.NotNil(t, n.UpdatedAt)
}

func TestTheHistoryOfANodeIsSortedSince2025_1(t *testing.T) {
	seconds := func(n int) *int { return &n }
	for _, series := range []states.Series{states.Dalmatian, states.Epoxy, states.Gazpacho, states.Hibiscus} {
		s := start(t, series, api.Config{})
		n := s.create(`{"driver": "fake-hardware", "name": "n"}`)
		for _, entry := range []*conductor.HistoryEntry{
			{Event: "b", State: states.Manageable},
			{Event: "c", State: states.CleanFail, DurationSeconds: seconds(10), Project: "q"},
			{Event: "a", DurationSeconds: seconds(9), TargetProvisionState: states.Available, Project: "p"},
		} {
			entry.NodeUUID, entry.Severity = n, "INFO"
			_, err := s.conductor.CreateObject(t.Context(), entry)
			require.NoError(t, err)
		}
		events := func(query string) (text string) {
			for _, event := range s.do("GET", "/v1/nodes/n/history"+query, "latest", "").values("history", "event") {
				text += event.(string)
			}
			return text
		}
		require.Equal(t, "bca", events(""))
		if series < states.Epoxy {
			require.Equal(t, "Unexpected arguments: sort_dir", s.do("GET", "/v1/nodes/n/history?sort_dir=desc", "latest", "").fault())
			continue
		}
		require.Equal(t, "abc", events("?sort_key=event"), series)
		require.Equal(t, "cba", events("?sort_key=event&sort_dir=desc"), series)
		require.Equal(t, "bca", events("?sort_key=severity"), "the oldest first")
		require.Equal(t, `The sort_key value "colour" is an invalid field for sorting`,
			s.do("GET", "/v1/nodes/n/history?sort_key=colour", "latest", "").fault())
		require.Equal(t, [3]string{"bca", "acb", "bca"},
			[3]string{events("?sort_key=updated_at"), events("?sort_key=node_id&sort_dir=desc"), events("?sort_key=id")})
		for key, want := range map[string]string{
			"duration_seconds": "bac", "state": "acb", "target_provision_state": "bca", "project": "bac",
		} {
			if series >= states.Hibiscus {
				require.Equal(t, want, events("?sort_key="+key), key)
				continue
			}
			require.Equal(t, `The sort_key value "`+key+`" is an invalid field for sorting`,
				s.do("GET", "/v1/nodes/n/history?sort_key="+key, "latest", "").fault(), series)
		}
		page := s.do("GET", "/v1/nodes/n/history?sort_key=event&limit=2", "latest", "").must(http.StatusOK)
		require.Contains(t, page["next"], "?sort_key=event&sort_dir=asc&limit=2&marker=")
	}
}
