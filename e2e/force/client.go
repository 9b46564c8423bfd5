// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/states"
)

const (
	requestTimeout = 10 * time.Second
	maxPause       = 300 * time.Millisecond // between two requests of a client
	hotNodes       = 12                     // number of nodes whose values clients read and write often
)

// requestLog records the clients' requests and their answers.
type requestLog struct {
	mu       sync.Mutex
	requests []history.Request
	counts   [3]int // by outcome
}

func (l *requestLog) add(r history.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, r)
	l.counts[r.Outcome]++
}

func (l *requestLog) count() [3]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// client sends random requests to the conductors, one at a time.
type client struct {
	id     int
	random *rand.Rand
	http   *http.Client
	table  *states.Table
	nodes  []string
	hosts  []*conductorProcess
	limit  time.Duration // of one request; 0 for none
	log    *requestLog
	writes int
}

// paused waits for a random time up to maxPause. It returns false if stop is closed first.
func paused(random *rand.Rand, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return false
	case <-time.After(time.Duration(random.Int64N(int64(maxPause)))):
		return true
	}
}

// run sends requests until stop is closed, and waits for the last answer.
func (c *client) run(ctx context.Context, stop <-chan struct{}) {
	defer c.http.CloseIdleConnections()
	for ctx.Err() == nil && paused(c.random, stop) {
		if c.random.IntN(3) == 0 {
			node := c.nodes[c.random.IntN(min(hotNodes, len(c.nodes)))]
			if c.random.IntN(2) == 0 {
				c.write(ctx, node)
			} else {
				c.read(ctx, node)
			}
			continue
		}
		node := c.nodes[c.random.IntN(len(c.nodes))]
		if shown, ok := c.read(ctx, node); ok {
			c.move(ctx, node, shown)
		}
	}
}

// node is the part of an answer about a node that clients read.
type node struct {
	State       states.State   `json:"provision_state"`
	Reservation *string        `json:"reservation"`
	Updated     *time.Time     `json:"updated_at"`
	Maintenance bool           `json:"maintenance"`
	LastError   string         `json:"last_error"`
	Extra       map[string]any `json:"extra"`
}

// read reads a node from any conductor.
func (c *client) read(ctx context.Context, id string) (shown node, ok bool) {
	return c.readAt(ctx, c.anyHost(), id)
}

// readAt reads a node from a conductor, and records the answer.
func (c *client) readAt(ctx context.Context, host *conductorProcess, id string) (shown node, ok bool) {
	r := history.Request{Node: id, Kind: history.Read}
	body := c.ask(ctx, host, &r, http.MethodGet, "/v1/nodes/"+id, "")
	if r.Outcome == history.Accepted {
		if err := json.Unmarshal(body, &shown); err != nil {
			r.Outcome = history.Unknown // the connection ended before the end of the answer
		}
		r.Shown = history.Shown{State: shown.State, Reserved: shown.Reservation != nil}
		if shown.Updated != nil {
			r.Shown.Updated = *shown.Updated
		}
		r.Value, _ = shown.Extra[valueKey].(string)
	}
	c.log.add(r)
	return shown, r.Outcome == history.Accepted
}

// write stores a new value in a node's extra.
func (c *client) write(ctx context.Context, id string) {
	c.writes++
	r := history.Request{Node: id, Kind: history.Write, Value: fmt.Sprintf("%d-%d", c.id, c.writes)}
	c.ask(ctx, c.anyHost(), &r, http.MethodPatch, "/v1/nodes/"+id,
		fmt.Sprintf(`[{"op": "add", "path": "/extra/%s", "value": %q}]`, valueKey, r.Value))
	c.log.add(r)
}

// move requests a provision state that the node's state permits, and sometimes one that
// the state does not permit.
func (c *client) move(ctx context.Context, id string, shown node) {
	dice := c.random.IntN(100)
	switch {
	case shown.Maintenance:
		c.other(ctx, id, http.MethodDelete, "/maintenance", "")
		return
	case dice < 10:
		c.power(ctx, id)
		return
	}
	words := slices.Collect(c.table.Requests(shown.State, c.table.Series().MaxAPIVersion()))
	if dice < 15 || len(words) == 0 {
		words = []string{"manage", "provide", "active", "deleted", "abort"}
	}
	c.provision(ctx, id, words[c.random.IntN(len(words))], namedSteps)
}

// provision requests a provision state. The steps are for a manual cleaning or a service.
func (c *client) provision(ctx context.Context, id, word string, steps []string) {
	body := map[string]any{"target": word}
	var step []map[string]any
	for _, name := range steps {
		kind, name, _ := strings.Cut(name, ".")
		step = append(step, map[string]any{"interface": kind, "step": name})
	}
	switch word {
	case "clean":
		body["clean_steps"] = step
	case "service":
		body["service_steps"] = step
	case "rescue":
		body["rescue_password"] = "a password"
	}
	text, _ := json.Marshal(body) // of strings
	r := history.Request{Node: id, Kind: history.Provision, Word: word}
	c.ask(ctx, c.anyHost(), &r, http.MethodPut, "/v1/nodes/"+id+"/states/provision", string(text))
	c.log.add(r)
}

// power requests a random change of the power state.
func (c *client) power(ctx context.Context, id string) {
	target := []string{"power on", "power off", "rebooting"}[c.random.IntN(3)]
	c.other(ctx, id, http.MethodPut, "/states/power", fmt.Sprintf(`{"target": %q}`, target))
}

// other sends a request that requests no provision state.
func (c *client) other(ctx context.Context, id, method, path, body string) history.Outcome {
	r := history.Request{Node: id, Kind: history.Other}
	c.ask(ctx, c.anyHost(), &r, method, "/v1/nodes/"+id+path, body)
	c.log.add(r)
	return r.Outcome
}

// create creates an object by a request to a conductor.
func (c *client) create(ctx context.Context, host *conductorProcess, path, body string) error {
	r := history.Request{}
	if answer := c.ask(ctx, host, &r, http.MethodPost, path, body); r.Outcome != history.Accepted {
		return fmt.Errorf("POST %s to %s: HTTP status %d: %s", path, host.name, r.Status, answer)
	}
	return nil
}

func (c *client) anyHost() *conductorProcess { return c.hosts[c.random.IntN(len(c.hosts))] }

// bound returns the context of a request, which ends at the client's limit.
func (c *client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.limit > 0 {
		return context.WithTimeout(ctx, c.limit)
	}
	return context.WithCancel(ctx)
}

// ask sends a request to a conductor, and fills in the outcome of the request.
func (c *client) ask(ctx context.Context, host *conductorProcess, r *history.Request, method, path, body string) []byte {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	r.Client, r.Conductor, r.Outcome, r.Begin = c.id, host.name, history.Unknown, time.Now()
	defer func() { r.End = time.Now() }()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+host.at.get()+path, strings.NewReader(body))
	if err != nil {
		return nil
	}
	request.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	request.Header.Set("Content-Type", "application/json")
	request.SetBasicAuth(clientUser, clientPassword)
	answer, err := c.http.Do(request)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	r.Status = answer.StatusCode
	switch {
	case err == nil && r.Status < 300:
		r.Outcome = history.Accepted
	case r.Status >= 400 && r.Status < 500, r.Status == http.StatusServiceUnavailable:
		r.Outcome = history.Refused
	}
	return text
}
