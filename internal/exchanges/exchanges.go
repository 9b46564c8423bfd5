// SPDX-License-Identifier: Apache-2.0

// Package exchanges plays recorded exchanges with Ironic's API against a server.
package exchanges

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Play sends the requests of a text in order and returns the text with the server's responses in place of
// those in the text. An exchange is two or three lines, and an empty line ends it:
//
//	METHOD PATH VERSION [BODY]
//	= STATUS
//	JSON, with placeholders HOST, SERIAL, TIME and UUID for values that differ between runs, and REASON for a BMC's fault
//
// "wait NODE" in place of a request waits until no work is in flight on a node. Each name in a request
// stands for its value, and in a response in place of it.
func Play(endpoint, text string, values map[string]string) (string, error) {
	names := []string{endpoint, "HOST"}
	var pairs []string
	for name, value := range values {
		pairs, names = append(pairs, name, value), append(names, value, name)
	}
	requests, responses := strings.NewReplacer(pairs...), strings.NewReplacer(names...)
	var played strings.Builder
	for _, exchange := range strings.Split(strings.TrimSpace(text), "\n\n") {
		line, _, _ := strings.Cut(exchange, "\n")
		fmt.Fprintln(&played, line)
		var err error
		if node, waits := strings.CutPrefix(line, "wait "); waits {
			err = wait(endpoint, node)
		} else {
			err = send(&played, endpoint, requests.Replace(line), responses)
		}
		if err != nil {
			return played.String(), fmt.Errorf("%s: %w", line, err)
		}
		fmt.Fprintln(&played)
	}
	return played.String(), nil
}

func send(played io.Writer, endpoint, line string, names *strings.Replacer) error {
	parts := append(strings.SplitN(line, " ", 4), "")
	if len(parts) < 4 {
		return fmt.Errorf("%q is no request", line)
	}
	status, body, err := do(endpoint, parts[0], parts[1], parts[2], parts[3])
	if err != nil {
		return err
	}
	fmt.Fprintln(played, "=", status)
	if len(body) == 0 {
		return nil
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	// The message of an error is JSON in a string.
	if object, ok := value.(map[string]any); ok {
		var message map[string]any
		if text, ok := object["error_message"].(string); ok && json.Unmarshal([]byte(text), &message) == nil {
			object["error_message"] = message
		}
	}
	withoutReasons(value)
	if body, err = json.Marshal(value); err != nil {
		return err
	}
	for _, p := range patterns {
		body = p.pattern.ReplaceAll(body, []byte(p.name))
	}
	fmt.Fprintln(played, names.Replace(string(body)))
	return nil
}

// reason matches the text of an error about a request to a BMC, by sushy or by package bmc, up to its end.
var reason = regexp.MustCompile(`(?s)(HTTP [A-Z]+ \S+ returned code \d|[a-zA-Z][a-zA-Z ]*: redfish \S+: ).*`)

// withoutReasons replaces each reason in the texts of a JSON value by REASON.
func withoutReasons(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, of := range value {
			if text, ok := of.(string); ok {
				value[key] = reason.ReplaceAllString(text, "REASON")
			}
			withoutReasons(of)
		}
	case []any:
		for _, of := range value {
			withoutReasons(of)
		}
	}
}

// patterns match the values that differ between runs.
var patterns = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00`), "TIME"},
	{regexp.MustCompile(`SN\d{7}`), "SERIAL"}, // of package bmctest's systems
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
}

// do sends a request and returns the status and the body of its response.
func do(endpoint, method, path, version, body string) (int, []byte, error) {
	req, err := http.NewRequest(method, endpoint+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", version)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(resp.Body)
	return resp.StatusCode, text.Bytes(), err
}

// waitInterval is the time between two questions about the work on a node.
const waitInterval = 20 * time.Millisecond

// wait waits until no work is in flight on a node, without a limit: an Ironic is slow on a busy machine.
func wait(endpoint, node string) error {
	for ; ; time.Sleep(waitInterval) {
		status, body, err := do(endpoint, http.MethodGet, "/v1/nodes/"+node, "1.81", "")
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("the node is answered with %d: %s", status, body)
		}
		var n struct {
			State       string `json:"provision_state"`
			Target      string `json:"target_provision_state"`
			Power       string `json:"target_power_state"`
			Reservation string `json:"reservation"`
		}
		if err := json.Unmarshal(body, &n); err != nil {
			return err
		}
		if n.Reservation == "" && n.Power == "" && (n.Target == "" || strings.HasSuffix(n.State, "failed")) {
			return nil
		}
	}
}
