// SPDX-License-Identifier: Apache-2.0

package agenttest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
)

// message is one exchange of a recording: the machine boots, the agent sends a request, or Ironic sends one.
type message struct {
	Boot    bool            `json:"boot"`
	Params  string          `json:"parameters"` // of the kernel
	Agent   string          `json:"agent"`
	Ironic  string          `json:"ironic"`
	Version string          `json:"version"`
	Body    json.RawMessage `json:"body"`
	Status  int             `json:"status"`
	Answer  json.RawMessage `json:"answer"`
	Older   *int            `json:"older"` // the number of commands before the one in Answer
}

// The agent sends the requests of the recorded agent, and answers the recorded requests as that one did.
func TestExchangeIsTheRecordedOne(t *testing.T) {
	for name, config := range map[string]agenttest.Config{
		"clean-deploy": {},
		"inspect-clean": {
			BMCAddress: "127.0.0.1",
			Steps: []agenttest.Step{{Work: "clean", Interface: "deploy", Name: "reboot_between", Priority: 50, Reboot: true, Abortable: true,
				Run: func(context.Context, map[string]any) (any, error) { return "done", nil }}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + name + ".json")
			require.NoError(t, err)
			var messages []message
			require.NoError(t, json.Unmarshal(text, &messages))
			play(t, config, messages)
		})
	}
}

// player plays the recorded Ironic.
type player struct {
	*agent
	words    *strings.Replacer // replaces the names in the recording by values
	answers  chan message      // answers of Ironic, in the order of the agent's requests
	versions any               // the agent's hardware_manager_version
}

func play(t *testing.T, config agenttest.Config, messages []message) {
	image := agenttest.Image(4<<20, 0xa8)
	sum := sha256.Sum256(image)
	files := serveFiles(t, map[string][]byte{"x.raw": image})
	p := &player{agent: &agent{T: t}, answers: make(chan message, len(messages))}
	p.words = strings.NewReplacer(
		"TOKEN1", token, "TOKEN2", strings.Repeat("2", 43), "NODE", uuid, "MAC", mac, "http://IMAGES", files,
		"SHA256", hex.EncodeToString(sum[:]), "CONFIGDRIVE", compressed(t, drive("the config drive")))
	config.API, p.requests = ironic(t, func(string) (int, any) {
		m := <-p.answers
		return m.Status, m.Answer
	})
	config.PlainHTTP, config.MACs = true, []string{mac}
	parameters := ""
	config.Boots = func(context.Context, string, string) (string, bool) { return parameters, true }
	config.Heartbeat = time.Hour // heartbeats come at the end of commands alone
	for _, m := range messages {
		if m.Agent != "" {
			m.Answer = json.RawMessage(p.words.Replace(string(m.Answer)))
			p.answers <- m
		}
	}
	close(p.answers)
	machine, err := agenttest.New(config)
	require.NoError(t, err)
	defer machine.Close()
	for _, m := range messages {
		switch {
		case m.Boot:
			parameters = strings.ReplaceAll(m.Params, "http://IRONIC", config.API)
			machine.Power(true, "Pxe", "")
		case m.Agent != "":
			p.agentSends(m)
		default:
			p.ironicSends(m)
		}
	}
}

func (p *player) agentSends(m message) {
	got := <-p.requests
	require.Equal(p, p.words.Replace(m.Agent), p.line(got))
	require.Equal(p, m.Version, got.version)
	if m.Body == nil {
		return
	}
	var want map[string]any
	require.NoError(p, json.Unmarshal([]byte(p.words.Replace(string(m.Body))), &want))
	if callback, ok := got.body["callback_url"].(string); ok {
		p.callback, p.client = callback, http.DefaultClient
		got.body["callback_url"] = "http://AGENT"
		require.Equal(p, want, got.body)
	}
	for key := range want { // the recording leaves out some keys of inspection data
		require.Equal(p, want[key], got.body[key], key)
	}
}

// line returns the request line with the escapes that the recording has not.
func (p *player) line(r request) string { return strings.ReplaceAll(r.line, "%3A", ":") }

func (p *player) ironicSends(m message) {
	method, path, _ := strings.Cut(p.words.Replace(m.Ironic), " ")
	var body map[string]any
	if m.Body != nil {
		require.NoError(p, json.Unmarshal([]byte(p.words.Replace(string(m.Body))), &body))
		params := body["params"].(map[string]any)
		for _, work := range []string{"clean", "deploy"} {
			if _, ok := params[work+"_version"]; ok {
				params[work+"_version"] = p.versions
			}
		}
	}
	text, err := json.Marshal(body)
	require.NoError(p, err)
	status, answer, err := p.do(method, path, string(text))
	require.NoError(p, err)
	require.Equal(p, m.Status, status, answer)
	if m.Older != nil {
		commands := answer["commands"].([]any)
		require.Len(p, commands, *m.Older+1)
		answer = commands[*m.Older].(map[string]any)
	}
	var want map[string]any
	require.NoError(p, json.Unmarshal([]byte(p.words.Replace(string(m.Answer))), &want))
	require.NotEmpty(p, answer["id"])
	answer["id"] = want["id"]
	p.compareSteps(want, answer)
	require.Equal(p, want, answer)
}

// compareSteps requires that the agent's steps are among the recorded ones, with the same priorities, and removes them.
func (p *player) compareSteps(want, got map[string]any) {
	recorded, _ := want["command_result"].(map[string]any)
	result, _ := got["command_result"].(map[string]any)
	if result["hardware_manager_version"] == nil {
		return
	}
	p.versions = result["hardware_manager_version"]
	delete(result, "hardware_manager_version")
	delete(recorded, "hardware_manager_version")
	for kind, managers := range result {
		var listed []any
		for _, steps := range managers.(map[string]any) {
			for _, s := range steps.([]any) {
				step := s.(map[string]any)
				require.Contains(p, step, "reboot_requested")
				listed = append(listed, fmt.Sprintf("%v.%v:%v", step["interface"], step["step"], step["priority"]))
			}
		}
		require.NotEmpty(p, listed)
		require.Subset(p, recorded[kind], listed)
		require.True(p, slices.Contains(listed, any("deploy.write_image:0")) || slices.Contains(listed, any("deploy.erase_devices:10")))
		delete(result, kind)
		delete(recorded, kind)
	}
}

// compressed returns a config drive as Ironic sends it.
func compressed(t *testing.T, content []byte) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// drive returns the part of an ISO 9660 image by which an instance finds its config drive, and a text.
func drive(text string) []byte {
	image := make([]byte, 0x9000)
	copy(image[0x8000:], "\x01CD001\x01")
	copy(image[0x8028:], "config-2                        ")
	copy(image[0x8800:], text)
	return bytes.TrimRight(image, "\x00")
}
