// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/states"
)

// hiddenPassword is the password of the victims' BMCs, images and proxies, which no answer may have.
const hiddenPassword = "force-hidden-password"

// victim is a node that waits for its agent again and again. Its machine boots none: an insider plays the agent.
type victim struct {
	node, name   string
	driverInfo   map[string]any
	instanceInfo map[string]any
	waits        states.State              // in which it waits for its agent
	requests     map[states.State][]string // that lead there, by the state
	// attacks returns the hostile requests about the node while it waits, of an insider who has the agent's token.
	attacks func(node, token string) []attack
}

// victims are a node in an inspection, and a node in a cleaning whose agent's certificate is a file that never ends.
var victims = []victim{
	{
		node: "00000000-0000-4000-8000-fffffffffff1", name: "inspected-victim",
		driverInfo: map[string]any{"image_http_proxy": "http://user:" + hiddenPassword + "@127.0.0.1:1"},
		instanceInfo: map[string]any{
			"image_source": "http://user:" + hiddenPassword + "@127.0.0.1/image", "image_checksum": "http://127.0.0.1/sum",
			"other": []any{map[string]any{"image_https_proxy": "https://user:" + hiddenPassword + "@127.0.0.1:2/"}},
		},
		waits: states.InspectWait,
		requests: map[states.State][]string{
			states.Enroll: {"manage"}, states.Manageable: {"inspect"}, states.InspectFail: {"inspect", "inspect", "manage"},
		},
		attacks: inspectionAttacks,
	},
	{
		node: "00000000-0000-4000-8000-fffffffffff2", name: "cleaned-victim",
		driverInfo: map[string]any{"agent_verify_ca": "/proc/self/pagemap"},
		waits:      states.CleanWait,
		requests: map[states.State][]string{
			states.Enroll: {"manage"}, states.Manageable: {"clean", "provide"}, states.CleanFail: {"manage"},
		},
		attacks: cleaningAttacks,
	},
}

// refusedMAC begins the MAC addresses of an inventory that no port may have.
const refusedMAC = "52:54:0f:00:"

// crowded returns inspection data of so many interfaces, each of which can become a port.
func crowded(interfaces int) string {
	var all []string
	for i := range interfaces {
		all = append(all, fmt.Sprintf(`{"name": "e%d", "mac_address": "%s%02x:%02x"}`, i, refusedMAC, i>>8, i&0xff))
	}
	return `{"inventory": {"interfaces": [` + strings.Join(all, ",") + `], "cpu": {}}}`
}

// inspectionAttacks are the attacks on a node that waits for inspection data. None of them ends the wait.
func inspectionAttacks(node, token string) []attack {
	lookup := "/v1/lookup?node_uuid=" + node
	heartbeat := func(name, callback, token, reason string) attack {
		body, _ := json.Marshal(map[string]any{"callback_url": callback, "agent_version": "9.4.3", "agent_token": token}) // of strings
		return attack{name: name, method: http.MethodPost, path: "/v1/heartbeat/" + node, body: string(body), reason: reason}
	}
	inventory := func(name string, interfaces int) attack {
		return attack{name: name, method: http.MethodPost, path: "/v1/continue_inspection?node_uuid=" + node, body: crowded(interfaces),
			reason: "network interfaces"}
	}
	return []attack{
		{name: "a second lookup", method: http.MethodGet, path: lookup, want: http.StatusOK, reason: `"agent_token":"******"`},
		{name: "a lookup for passwords", method: http.MethodGet, path: lookup, want: http.StatusOK, reason: "user:******@127.0.0.1:2"},
		heartbeat("an agent at another host", "https://169.254.169.254", token, "its host is not permitted"),
		heartbeat("an agent at another loopback address", "https://127.0.0.2:9999", token, "its host is not permitted"),
		heartbeat("an agent with a path", "https://127.0.0.1:9999/v1/nodes", token, "it has a path"),
		heartbeat("an agent with a query", "https://127.0.0.1:9999?a=b", token, "it has a user, a query or a fragment"),
		heartbeat("an agent with a user", "https://user:secret@127.0.0.1:9999", token, "it has a user, a query or a fragment"),
		heartbeat("an agent with another token", "https://127.0.0.1:9999", strings.Repeat("x", 43), "Invalid or missing agent token"),
		inventory("an inventory of one interface too many", 129),
		inventory("an inventory of many interfaces", 1900),
	}
}

// cleaningAttacks are the attacks on a node that waits in a cleaning: a heartbeat that is right, after which the
// conductor needs the certificate of the agent. It has control characters in its texts.
func cleaningAttacks(node, token string) []attack {
	body, _ := json.Marshal(map[string]any{ // of strings
		"callback_url": "https://127.0.0.1:9999", "agent_token": token, "agent_version": "9.4.3" + hostileText,
		"agent_status": "error", "agent_status_message": hostileText,
	})
	return []attack{{name: "a file without end as an agent's certificate", method: http.MethodPost, path: "/v1/heartbeat/" + node,
		body: string(body), want: http.StatusAccepted, reason: "Agent CA /proc/self/pagemap is neither", later: true}}
}

// move is what an insider does next.
type move uint8

const (
	pause          move = iota // the conductors are at work
	endMaintenance             // in which a node is after some failures
	operate                    // a request of the victim leads to the wait
	lookUp                     // for the token
	abort                      // the wait, whose token was lost with an answer
	strike                     // attack with the token
)

// next decides what an insider does about a node as a client is shown it. The token is the one of the present wait;
// lost says that another lookup has got it.
func (v *victim) next(shown node, token string, lost bool) move {
	switch {
	case shown.Maintenance:
		return endMaintenance
	case shown.State == v.waits && token != "":
		return strike
	case shown.State == v.waits && lost:
		return abort
	case shown.State == v.waits:
		return lookUp
	case len(v.requests[shown.State]) > 0:
		return operate
	default:
		return pause
	}
}

// tokenIn returns the token in the answer to a lookup, empty if there is none. The answer may be cut.
func tokenIn(answer string) string {
	var found struct {
		Config struct {
			Token string `json:"agent_token"`
		} `json:"config"`
	}
	if err := json.Unmarshal([]byte(answer), &found); err != nil || strings.Trim(found.Config.Token, "*") == "" {
		return ""
	}
	return found.Config.Token
}

// portFindings finds the nodes that have ports with addresses of an inventory that was refused. The nodes of the ports
// are by their MAC addresses.
func portFindings(ports map[string]string) (found []history.Finding) {
	counts := map[string]int{}
	for mac, node := range ports {
		if strings.HasPrefix(mac, refusedMAC) {
			counts[node]++
		}
	}
	for node, n := range sorted.All(counts) {
		text := fmt.Sprintf("it has %d ports of an inventory that was refused", n)
		found = append(found, history.Finding{Rule: "attacks", Node: node, Text: text})
	}
	return found
}
