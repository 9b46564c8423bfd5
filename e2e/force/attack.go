// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
)

// The user of the clients, whom the conductors' file of users names.
const (
	clientUser     = "client"
	clientPassword = "the clients' password"
)

// endlessFilesID is the UUID of a node whose BMC's certificates are in a file that never ends.
const endlessFilesID = "00000000-0000-4000-8000-ffffffffffff"

// endlessFiles is the request that creates the node. It stays in enroll.
const endlessFiles = `{"uuid": "` + endlessFilesID + `", "name": "endless-files", "driver": "redfish", "driver_info": {
	"redfish_address": "https://127.0.0.1:1", "redfish_username": "u", "redfish_password": "p",
	"redfish_verify_ca": "/proc/kmsg", "deploy_iso": "` + agentISO + `"}}`

const (
	attackers       = 3
	idleConnections = 200 // of one attacker, to one conductor at a time
)

// attack is a hostile request. Its answer must be a refusal, unless want says otherwise.
type attack struct {
	name, method, path, body string
	header                   map[string]string
	password                 bool   // the attacker has the clients' password, as a browser that is led to another page
	want                     int    // the status of a request that is no refusal and must not harm the process
	reason                   string // a text in the answer without which the attack has not met its defense
	later                    bool   // the reason is in last_error of the node, once the work has failed that the request continues

	// raw has the bytes of the whole request and of a second one, which must not be served. They are sent on a
	// connection of their own.
	raw string
}

// attacks returns the hostile requests about a node from another network than the agents'. Their value is one that no
// client writes, so that the check of the history finds a patch that was done.
func attacks(node string) []attack {
	value := `{"op": "add", "path": "/extra/` + valueKey + `", "value": "attack"}`
	many := strings.Repeat(`{"op": "add", "path": "/extra/list/0", "value": 1},`, 900)
	waiting := node // it may wait for its agent, but the attackers are in no network of agents
	if runtime.GOOS != "linux" {
		waiting = endlessFilesID // they have the agents' address
	}
	interfaces := strings.Repeat(`{"mac_address": "52:54:00:00:00:01"},`, 2000) + `{"mac_address": "52:54:00:00:00:02"}`
	origin := map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
	basic := base64.StdEncoding.EncodeToString([]byte(clientUser + ":" + clientPassword))
	smuggled := fmt.Sprintf("PATCH /v1/nodes/%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n[%s]",
		node, basic, len(value)+2, value)
	return []attack{
		{name: "a callback to another host", method: "POST", path: "/v1/heartbeat/" + node,
			body: `{"callback_url": "http://169.254.169.254/latest?a=b", "agent_version": "9", "agent_token": "wrong"}`},
		{name: "a lookup from another network", method: "GET", path: "/v1/lookup?node_uuid=" + waiting},
		{name: "a large inventory", method: "POST", path: "/v1/continue_inspection?node_uuid=" + waiting,
			body: `{"inventory": {"interfaces": [` + interfaces + `]}}`},
		{name: "a file without end as a BMC's certificate", method: "GET", path: "/v1/nodes/" + endlessFilesID + "/validate", password: true,
			want: http.StatusOK},
		{name: "a smuggled request",
			raw: fmt.Sprintf("POST /v1/heartbeat/%s HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", node, len(smuggled)+5, smuggled)},
		{name: "a dense body", method: "POST", path: "/v1/heartbeat/" + node,
			body: `{"callback_url": [` + strings.Repeat("{},", 300_000) + `{}]}`},
		{name: "a heartbeat without a token", method: "POST", path: "/v1/heartbeat/" + node,
			body: `{"callback_url": "http://127.0.0.1:1", "agent_token": "wrong"}`},
		{name: "a wrong password", method: "PATCH", path: "/v1/nodes/" + node, body: "[" + value + "]",
			header: map[string]string{"Authorization": "Basic bm9ib2R5Om5vdGhpbmc="}},
		{name: "no password", method: "PATCH", path: "/v1/nodes/" + node, body: "[" + value + "]"},
		{name: "another origin", method: "PATCH", path: "/v1/nodes/" + node, body: "[" + value + "]", header: origin, password: true},
		{name: "a text of another site", method: "POST", path: "/v1/nodes", body: `{"driver": "fake-hardware"}`,
			header: map[string]string{"Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"}, password: true},
		{name: "a patch that fails at its end", method: "PATCH", path: "/v1/nodes/" + node,
			body:     `[` + value + `,{"op": "add", "path": "/extra/list", "value": []},` + many + `{"op": "remove", "path": "/extra/nothing"}]`,
			password: true},
		{name: "a patch of too many operations", method: "PATCH", path: "/v1/nodes/" + node,
			body: `[` + value + `,` + strings.Repeat(many, 3) + value + `]`, password: true},
	}
}

// attacker sends hostile requests to the conductors, from another address than the clients, and holds idle connections.
type attacker struct {
	random *rand.Rand
	hosts  []*conductorProcess
	nodes  [2][]string // of fake-hardware, and with machines; the second may be empty
	log    *attackLog
	dialer *net.Dialer
	next   int // the number of the next attack
	idle   []net.Conn
}

// newAttacker returns an attacker with its own random stream.
func (r *run) newAttacker(id int) *attacker {
	dialer := &net.Dialer{Timeout: time.Second}
	if runtime.GOOS == "linux" { // elsewhere the loopback interface has one address
		dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}
	}
	return &attacker{
		random: rand.New(rand.NewPCG(r.seed, uint64(9000+id))), hosts: r.cluster.conductors,
		nodes: [2][]string{r.nodes, r.machines.nodes()}, log: r.attacks, dialer: dialer, next: 3 * id,
	}
}

// run attacks until stop is closed.
func (a *attacker) run(ctx context.Context, stop <-chan struct{}) {
	client := &http.Client{Transport: &http.Transport{DialContext: a.dialer.DialContext}}
	defer client.CloseIdleConnections()
	defer a.closeIdle()
	for ctx.Err() == nil && paused(a.random, stop) {
		host := a.hosts[a.random.IntN(len(a.hosts))]
		if a.random.IntN(10) == 0 {
			a.openIdle(ctx, host)
			continue
		}
		nodes := a.nodes[a.random.IntN(2)]
		if len(nodes) == 0 {
			nodes = a.nodes[0]
		}
		all := attacks(nodes[a.random.IntN(len(nodes))])
		bounded, cancel := context.WithTimeout(ctx, requestTimeout)
		a.send(bounded, client, host, all[a.next%len(all)])
		cancel()
		a.next++
	}
}

// send sends an attack, records its answers, and returns the last status, 0 without an answer.
func (a *attacker) send(ctx context.Context, client *http.Client, host *conductorProcess, what attack) (status int) {
	if what.raw != "" {
		for _, status = range a.sendRaw(ctx, host, what.raw) {
			a.log.add(what, status, "")
		}
		return status
	}
	status, text := what.send(ctx, client, host)
	a.log.add(what, status, text)
	return status
}

// maxAnswer bounds the part of an answer that is read, in bytes.
const maxAnswer = 1 << 20

// send sends an attack that is not raw to a conductor, and returns the status and the body of the answer; the status is
// 0 if there is none.
func (a attack) send(ctx context.Context, client *http.Client, host *conductorProcess) (status int, text string) {
	request, err := http.NewRequestWithContext(ctx, a.method, "http://"+host.at.get()+a.path, strings.NewReader(a.body))
	if err != nil {
		return 0, ""
	}
	request.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	request.Header.Set("Content-Type", "application/json")
	for name, value := range a.header {
		request.Header.Set(name, value)
	}
	if a.password {
		request.SetBasicAuth(clientUser, clientPassword)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // what came before the connection ended
	return answer.StatusCode, string(body)
}

// sendRaw sends bytes on a connection of their own and returns the statuses of the answers, 0 if there is none, until
// the conductor closes the connection or the context ends.
func (a *attacker) sendRaw(ctx context.Context, host *conductorProcess, bytes string) (statuses []int) {
	conn, err := a.dialer.DialContext(ctx, "tcp", host.at.get())
	if err != nil {
		return []int{0}
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	if _, err := io.WriteString(conn, bytes); err != nil {
		return []int{0}
	}
	for reader := bufio.NewReader(conn); ; {
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			return append(statuses, make([]int, max(0, 1-len(statuses)))...)
		}
		statuses = append(statuses, answer.StatusCode)
		_, _ = io.Copy(io.Discard, answer.Body)
	}
}

// attackAgain sends each attack that was not refused so far, when all conductors work. While etcd has no leader it
// sends the attack again.
func (a *attacker) attackAgain(ctx context.Context) {
	a.dialer.Timeout = 0
	client := &http.Client{Transport: &http.Transport{DialContext: a.dialer.DialContext}}
	defer client.CloseIdleConnections()
	for _, what := range attacks(a.nodes[0][0]) {
		for !a.log.wasRefused(what) && ctx.Err() == nil {
			status := a.send(ctx, client, a.hosts[0], what)
			if status != http.StatusInternalServerError {
				a.log.require(what, status)
				break
			}
			sleep.For(ctx, maxPause)
		}
	}
}

// openIdle opens idle connections to a conductor in place of the present ones.
func (a *attacker) openIdle(ctx context.Context, host *conductorProcess) {
	a.closeIdle()
	for range idleConnections {
		conn, err := a.dialer.DialContext(ctx, "tcp", host.at.get())
		if err != nil {
			break
		}
		a.idle = append(a.idle, conn)
	}
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	a.log.idle += len(a.idle)
}

// closeIdle closes the idle connections.
func (a *attacker) closeIdle() {
	for _, conn := range a.idle {
		_ = conn.Close()
	}
	a.idle = nil
}
