// SPDX-License-Identifier: Apache-2.0

package agenttest_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
)

func TestVersionOfTheAPIDecidesWhatTheAgentSends(t *testing.T) {
	for version, want := range map[string]struct {
		lookup, heartbeat string
		keys              []string
		scheme            string
	}{
		"1.31": {"1.31", "1.31", []string{"callback_url"}, "http://"},
		"1.61": {"1.61", "1.61", []string{"callback_url", "agent_version"}, "http://"},
		"1.62": {"1.62", "1.62", []string{"callback_url", "agent_version", "agent_token"}, "http://"},
		"1.68": {"1.62", "1.68", []string{"callback_url", "agent_version", "agent_token", "agent_verify_ca"}, "https://"},
		"1.99": {"1.62", "1.68", []string{"callback_url", "agent_version", "agent_token", "agent_verify_ca"}, "https://"},
		"":     {"1.31", "1.31", []string{"callback_url"}, "http://"},
	} {
		t.Run(version, func(t *testing.T) {
			url, requests := ironic(t, answers(version))
			m, err := agenttest.New(agenttest.Config{API: url + "/", MACs: []string{mac, "52:54:00:00:00:02"}})
			require.NoError(t, err)
			defer m.Close()
			m.Power(true, "Pxe", "")
			a := &agent{T: t, requests: requests}
			a.await("GET /")
			require.Equal(t, want.lookup, a.await("GET /v1/lookup?addresses=52%3A54%3A00%3A00%3A00%3A01%2C52%3A54%3A00%3A00%3A00%3A02").version)
			beat := a.await("POST /v1/heartbeat/" + uuid)
			require.Equal(t, want.heartbeat, beat.version)
			require.Len(t, beat.body, len(want.keys))
			for _, key := range want.keys {
				require.Contains(t, beat.body, key)
			}
			require.Contains(t, beat.body["callback_url"], want.scheme)
		})
	}
}

func TestTokens(t *testing.T) {
	for name, c := range map[string]struct {
		lookup any
		boot   string // kernel parameters
		want   any    // the token of the heartbeat
	}{
		"of the lookup":             {token, "", token},
		"too short":                 {"01234567890123456789012345", "", nil}, // 26 characters
		"given to another agent":    {"******", "", nil},
		"of the boot":               {"******", "ipa-agent-token=" + token, token},
		"of the lookup, not boot's": {token, "ipa-agent-token=other", token},
	} {
		t.Run(name, func(t *testing.T) {
			url, requests := ironic(t, func(line string) (int, any) {
				status, value := answers("1.82")(line)
				if strings.HasPrefix(line, "GET /v1/lookup") {
					value.(map[string]any)["config"] = map[string]any{"agent_token": c.lookup}
				}
				return status, value
			})
			m, err := agenttest.New(agenttest.Config{
				API: "http://127.0.0.1:1", Boots: func(context.Context, string, string) (string, bool) {
					return "ipa-api-url=" + url + " " + c.boot, true
				},
			})
			require.NoError(t, err)
			defer m.Close()
			m.Power(true, "Cd", "")
			require.Equal(t, c.want, (&agent{T: t, requests: requests}).await("POST /v1/heartbeat/" + uuid).body["agent_token"])
		})
	}
}

func TestLookupIsRepeatedUntilTheNodeIsFound(t *testing.T) {
	attempts := 0
	url, requests := ironic(t, func(line string) (int, any) {
		if strings.HasPrefix(line, "GET /v1/lookup") {
			attempts++
			switch attempts {
			case 1:
				return http.StatusConflict, map[string]any{"error_message": "locked"}
			case 2:
				return http.StatusOK, map[string]any{"node": map[string]any{}}
			case 3:
				return http.StatusNotFound, nil
			}
		}
		return answers("1.82")(line)
	})
	m, err := agenttest.New(agenttest.Config{API: url, Heartbeat: time.Millisecond})
	require.NoError(t, err)
	defer m.Close()
	m.Power(true, "Pxe", "")
	(&agent{T: t, requests: requests}).await("POST /v1/heartbeat/" + uuid)
	require.Equal(t, 4, attempts)
}

func TestAPIRefusesWhatTheAgentRefuses(t *testing.T) {
	a := boot(t, agenttest.Config{ReadsNeedToken: true})
	const post, withToken = "/v1/commands/", "/v1/commands/?agent_token=" + token
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		text               string
	}{
		"no token": {"POST", post, `{"name": "standby.sync", "params": {}}`, 401, "401 Unauthorized: Token invalid."},
		"wrong token": {"POST", post + "?agent_token=x", `{"name": "standby.sync", "params": {}}`, 401,
			"401 Unauthorized: Token invalid."},
		"list without token":    {"GET", post, "", 401, "401 Unauthorized: Token invalid."},
		"command without token": {"GET", post + "1", "", 401, "401 Unauthorized: Token invalid."},
		"no JSON":               {"POST", withToken, `{`, 400, "400 Bad Request: Missing or invalid name or params"},
		"no params":             {"POST", withToken, `{"name": "standby.sync"}`, 400, "400 Bad Request: Missing or invalid name or params"},
		"params that are a list": {"POST", withToken, `{"name": "standby.sync", "params": []}`, 400,
			"400 Bad Request: Missing or invalid name or params"},
		"name without extension": {"POST", withToken, `{"name": "sync", "params": {}}`, 400,
			"Invalid command: Command name must be of the form <extension>.<name>"},
		"unknown extension": {"POST", withToken, `{"name": "iscsi.start", "params": {}}`, 404,
			"Not found: Extension with id iscsi not found."},
		"unknown command": {"POST", withToken, `{"name": "standby.dance", "params": {}}`, 400,
			"Invalid command: Unknown command: dance"},
		"command that does not exist": {"GET", "/v1/commands/1?agent_token=" + token, "", 404, "Not found: Command Result with id 1 not found."},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer, err := a.do(c.method, c.path, c.body)
			require.NoError(t, err)
			require.Equal(t, c.status, status)
			require.Equal(t, map[string]any{"faultcode": "Client", "faultstring": c.text}, answer)
		})
	}
	_, root, err := a.do("GET", "/", "")
	require.NoError(t, err)
	require.Equal(t, "OpenStack Ironic Python Agent API", root["name"])
	_, status, err := a.do("GET", "/v1/status", "")
	require.NoError(t, err)
	require.Equal(t, "9.4.3", status["version"])
}

func TestOneCommandAtATime(t *testing.T) {
	release := make(chan struct{})
	a := boot(t,
		agenttest.Config{Steps: []agenttest.Step{{Work: "service", Interface: "deploy", Name: "wait",
			Run: func(ctx context.Context, args map[string]any) (any, error) {
				select {
				case <-release:
				case <-ctx.Done():
				}
				return args["n"], nil
			}}}})
	params := map[string]any{"step": map[string]any{"step": "wait", "args": map[string]any{"n": 5}}}
	_, answer, err := a.command("service.execute_service_step", params, "false")
	require.NoError(t, err)
	require.Equal(t, "RUNNING", answer["command_status"])
	for _, name := range []string{"service.execute_service_step", "standby.sync"} {
		status, refused, err := a.command(name, params, "false")
		require.NoError(t, err)
		require.Equal(t, http.StatusConflict, status)
		require.Equal(t, "Agent is busy: executing command execute_service_step", refused["faultstring"])
	}
	close(release)
	_, done, err := a.do("GET", "/v1/commands/"+answer["id"].(string)+"?wait=true", "")
	require.NoError(t, err)
	require.Equal(t, "SUCCEEDED", done["command_status"])
	result := done["command_result"].(map[string]any)
	require.InDelta(t, 5, result["service_result"], 0)
	require.Equal(t, "wait", result["service_step"].(map[string]any)["step"])
	_, list, err := a.do("GET", "/v1/commands/", "")
	require.NoError(t, err)
	require.Len(t, list["commands"], 1)
}

func TestErrorsOfSteps(t *testing.T) {
	works := map[string]string{"clean": "CleaningError", "deploy": "DeploymentError", "service": "ServicingError"}
	var config agenttest.Config
	for work := range works {
		config.Steps = append(config.Steps, agenttest.Step{
			Work: work, Interface: "deploy", Name: "break",
			Run: func(context.Context, map[string]any) (any, error) { return nil, errors.New("it broke") },
		})
	}
	a := boot(t, config)
	details := func(answer map[string]any) any { return answer["command_error"].(map[string]any)["details"] }
	for work, kind := range works {
		require.Equal(t, map[string]any{
			"type": kind, "code": 500.0, "message": strings.ToUpper(work[:1]) + work[1:] + " step failed",
			"details": "Unexpected exception performing " + work + " step break. Exception: it broke",
		}, a.step(work, "break", nil)["command_error"])
	}
	require.Equal(t, "Could not find method: mend", details(a.step("clean", "mend", nil)))
	_, answer, err := a.command("clean.execute_clean_step", map[string]any{"step": map[string]any{}}, "true")
	require.NoError(t, err)
	require.Contains(t, details(answer), "Malformed clean_step")
	_, answer, err = a.command("clean.execute_clean_step", map[string]any{
		"step": map[string]any{"step": "erase_devices"}, "clean_version": map[string]any{"generic_hardware_manager": "0.9"},
	}, "true")
	require.NoError(t, err)
	require.Equal(t, "CLEAN_VERSION_MISMATCH", answer["command_status"])
	require.Equal(t, "VersionMismatch", answer["command_error"].(map[string]any)["type"])
}

func TestLogsAreAnArchive(t *testing.T) {
	a := boot(t, agenttest.Config{})
	_, _, err := a.command("standby.sync", map[string]any{}, "true")
	require.NoError(t, err)
	_, answer, err := a.command("log.collect_system_logs", map[string]any{}, "true")
	require.NoError(t, err)
	text, err := base64.StdEncoding.DecodeString(answer["command_result"].(map[string]any)["system_logs"].(string))
	require.NoError(t, err)
	zipped, err := gzip.NewReader(bytes.NewReader(text))
	require.NoError(t, err)
	files := tar.NewReader(zipped)
	file, err := files.Next()
	require.NoError(t, err)
	require.Equal(t, "journal", file.Name)
	content, err := io.ReadAll(files)
	require.NoError(t, err)
	require.Equal(t, "sync SUCCEEDED\ncollect_system_logs RUNNING\n", string(content))
}

func TestRescueEndsTheAPIAfterTheAnswer(t *testing.T) {
	a := boot(t, agenttest.Config{})
	_, answer, err := a.command("rescue.finalize_rescue", map[string]any{"rescue_password": "$6$hash", "hashed": true}, "false")
	require.NoError(t, err)
	require.Equal(t, "SUCCEEDED", answer["command_status"])
	require.Equal(t, "$6$hash", a.machine.RescuePassword())
	require.Equal(t, "rescue", a.machine.Running())
	a.awaitEnd()
}

func TestInspectionDataAreSentBeforeTheLookup(t *testing.T) {
	url, requests := ironic(t, answers("1.90"))
	m, err := agenttest.New(agenttest.Config{API: url, Inspection: true, Collect: func(data map[string]any) { data["error"] = "no disk" }})
	require.NoError(t, err)
	defer m.Close()
	m.Power(true, "Pxe", "")
	a := &agent{T: t, requests: requests}
	first := <-requests
	require.Equal(t, "POST /v1/continue_inspection", first.line)
	require.Equal(t, "no disk", first.body["error"])
	require.Empty(t, first.version)
	a.await("POST /v1/heartbeat/" + uuid)
}
