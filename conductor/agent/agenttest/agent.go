// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
)

// The versions of Ironic's API that change the requests of an agent. Source: ironic_python_agent/ironic_api_client.py.
const (
	minAPI     = 31 // used if the API does not tell its version
	versionAPI = 36 // agent_version
	tokenAPI   = 62 // agent_token; the version of lookups
	caAPI      = 68 // agent_verify_ca; the highest version that heartbeats use
)

// minToken is the number of characters of the shortest token that an agent accepts.
const minToken = 32

// maxBody bounds the answers of Ironic's API that an agent reads.
const maxBody = 4 << 20

// agent is the agent of one boot.
type agent struct {
	machine    *Machine
	ctx        context.Context // ends with the boot
	cancel     context.CancelFunc
	parameters map[string]string
	wake       chan struct{} // causes a heartbeat; holds one value

	// These are set before the agent serves its API, and constant from then on.

	api      string // URL of Ironic's API
	version  int    // of Ironic's API, the part after "1."
	uuid     string // of the node, from the inspection or the lookup
	callback string // URL of the agent's own API
	ca       string // certificate of the agent's own API, in PEM
	started  time.Time

	mu         sync.Mutex // protects the fields below, and the fields of the commands
	token      string
	node       map[string]any // from the lookup, or from the last command that has one
	commands   []*command
	partitions map[string]any // the answer of get_partition_uuids; nil before an image is written
	rescued    bool           // the agent ends its API
}

func newAgent(m *Machine) *agent {
	a := &agent{machine: m, wake: make(chan struct{}, 1), started: time.Now()}
	a.ctx, a.cancel = context.WithCancel(m.ctx)
	return a
}

// boot decides what the machine runs. If that is the agent, boot executes it until its context ends.
func (a *agent) boot(source, image string) {
	defer a.cancel()
	line, starts := a.machine.config.Boots(a.ctx, source, image)
	if !starts {
		a.machine.become(a, cmp.Or(image, "disk"))
		return
	}
	a.machine.become(a, "agent")
	a.parameters = parseParameters(line)
	a.api = strings.TrimRight(cmp.Or(a.parameters["ipa-api-url"], a.machine.config.API), "/")
	a.token = a.parameters["ipa-agent-token"]
	a.run()
}

func (a *agent) run() {
	if target := a.inspectionURL(); target != "" {
		a.inspect(target)
	}
	for !a.lookup() {
		if !a.pause(a.machine.config.Heartbeat) {
			return
		}
	}
	stop, err := a.serve()
	if err != nil {
		return
	}
	defer stop()
	for a.ctx.Err() == nil && !a.hasRescued() {
		a.heartbeat()
		a.pause(a.machine.config.Heartbeat)
	}
}

// pause waits for a time or until the agent is woken. It reports whether the agent has not ended.
func (a *agent) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-a.ctx.Done():
	case <-a.wake:
	case <-timer.C:
	}
	return a.ctx.Err() == nil
}

// heartbeatNow causes a heartbeat at once.
func (a *agent) heartbeatNow() {
	select {
	case a.wake <- struct{}{}:
	default: // one is due
	}
}

// hasRescued reports whether the agent has finished a rescue, and thereby its API.
func (a *agent) hasRescued() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rescued
}

// lookup asks Ironic for the node of the machine and for the token. It reports whether the node was found.
//
// Source: lookup_node in ironic_python_agent/ironic_api_client.py, process_lookup_data in ironic_python_agent/agent.py.
func (a *agent) lookup() bool {
	if !a.sends("lookup") {
		return false
	}
	a.version = a.apiVersion()
	query := url.Values{"addresses": {strings.Join(a.machine.config.MACs, ",")}}
	if a.uuid != "" {
		query.Set("node_uuid", a.uuid)
	}
	var found struct {
		Node   map[string]any `json:"node"`
		Config struct {
			Token string `json:"agent_token"`
		} `json:"config"`
	}
	status, err := a.send(http.MethodGet, a.api+"/v1/lookup?"+query.Encode(), min(a.version, tokenAPI), nil, &found)
	if err != nil || status != http.StatusOK {
		return false
	}
	uuid, ok := found.Node["uuid"].(string)
	if !ok {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.node, a.uuid = found.Node, uuid
	if len(found.Config.Token) >= minToken {
		a.token = found.Config.Token
	}
	return true
}

// apiVersion asks Ironic for the version of its API.
func (a *agent) apiVersion() int {
	var root struct {
		Default struct {
			Version string `json:"version"`
		} `json:"default_version"`
	}
	var minor int
	if _, err := a.send(http.MethodGet, a.api+"/", 0, nil, &root); err != nil {
		return minAPI
	}
	if _, err := fmt.Sscanf(root.Default.Version, "1.%d", &minor); err != nil {
		return minAPI
	}
	return minor
}

// heartbeat tells Ironic where the agent takes commands.
func (a *agent) heartbeat() {
	body := map[string]any{"callback_url": a.callback}
	if a.version >= tokenAPI {
		body["agent_token"] = orNull(a.token)
	}
	if a.version >= versionAPI {
		body["agent_version"] = a.machine.config.Version
	}
	if a.version >= caAPI && a.ca != "" {
		body["agent_verify_ca"] = a.ca
	}
	switch e := a.machine.effectOn("heartbeat"); {
	case !a.sendsUnder(e):
		return
	case e.kind == effectWrongToken:
		body["agent_token"] = strings.Repeat("x", minToken)
	case e.kind == effectHuge:
		body["agent_version"] = strings.Repeat("9", e.n)
	}
	_, _ = a.send(http.MethodPost, a.api+"/v1/heartbeat/"+a.uuid, min(a.version, caAPI), body, nil) // the next one may succeed
}

// sends reports whether the agent sends a request, after the delay that a fault causes.
func (a *agent) sends(request string) bool { return a.sendsUnder(a.machine.effectOn(request)) }

// sendsUnder reports whether the agent sends a request that has an effect.
func (a *agent) sendsUnder(e Effect) bool {
	switch e.kind {
	case effectSilent:
		return false
	case effectDie:
		a.cancel()
		return false
	case effectDelay:
		return sleep.For(a.ctx, e.wait)
	}
	return true
}

// send sends a request to Ironic and decodes the answer if answer is not nil. A version of 0 sends no header.
func (a *agent) send(method, target string, version int, body, answer any) (status int, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, err
		}
	}
	request, err := http.NewRequestWithContext(a.ctx, method, target, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	if version != 0 {
		request.Header.Set("X-OpenStack-Ironic-API-Version", fmt.Sprintf("1.%d", version))
	}
	response, err := a.machine.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	return response.StatusCode, err
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// inspectionURL returns where the agent sends its inspection data, "" if it sends none.
func (a *agent) inspectionURL() string {
	target, given := a.parameters["ipa-inspection-callback-url"]
	if !given && a.machine.config.Inspection {
		target = a.api + "/v1/continue_inspection"
	}
	return target
}

// inspectionAttempts is how often the agent sends its inspection data. The pauses between the attempts are shorter than
// a real agent's.
const inspectionAttempts = 100

// inspect sends the inspection data. It repeats a request that gets no answer and, as newer agents do, one that is
// answered with a conflict or with an error of the server.
//
// Source: ironic_python_agent/inspector.py of agent 12.
func (a *agent) inspect(target string) {
	data := a.machine.inventory()
	if collect := a.machine.config.Collect; collect != nil {
		collect(data)
	}
	for range inspectionAttempts {
		if !a.sends("inspection") {
			return
		}
		var answer struct {
			UUID string `json:"uuid"`
		}
		status, err := a.send(http.MethodPost, target, 0, data, &answer)
		if status == http.StatusAccepted && err == nil {
			a.uuid = answer.UUID
		}
		final := status != 0 && status != http.StatusConflict && status < http.StatusInternalServerError
		if final || !a.pause(a.machine.config.Heartbeat) {
			return
		}
	}
}
