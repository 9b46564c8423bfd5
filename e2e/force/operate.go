// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// operatorTimeout bounds the requests of operate and of the agents, which must move on while a conductor is stopped.
const operatorTimeout = 2 * time.Second

// operate sends random requests about one machine's node until stop is closed. Most of them move the node on: other
// requests would end the work of an agent before it has done anything.
func (c *client) operate(ctx context.Context, stop <-chan struct{}, m *machine) {
	defer c.http.CloseIdleConnections()
	for ctx.Err() == nil && paused(c.random, stop) {
		shown, ok := c.read(ctx, m.node)
		if !ok {
			continue
		}
		words := requestsOf[shown.State]
		switch dice := c.random.IntN(100); {
		case shown.Maintenance:
			c.other(ctx, m.node, http.MethodDelete, "/maintenance", "")
		case c.table.Phase(shown.State) == states.PhaseWaiting && dice < 97, len(words) == 0:
		case dice == 99:
			c.power(ctx, m.node)
		default:
			c.request(ctx, m, words[c.random.IntN(len(words))])
		}
	}
}

// requestsOf are the requests of operate in each state. Where the node does not wait, the first one leads to active.
var requestsOf = map[states.State][]string{
	states.Enroll:       {"manage"},
	states.Manageable:   {"provide", "provide", "provide", "inspect", "clean"},
	states.Available:    {"active", "active", "active", "manage"},
	states.Active:       {"deleted", "deleted", "rebuild", "rescue", "service"},
	states.Rescue:       {"unrescue", "unrescue", "rescue", "deleted"},
	states.CleanWait:    {"abort"},
	states.DeployWait:   {"deleted", "abort"},
	states.InspectWait:  {"abort"},
	states.RescueWait:   {"abort", "deleted"},
	states.ServiceWait:  {"abort"},
	states.CleanFail:    {"manage"},
	states.InspectFail:  {"manage", "inspect"},
	states.DeployFail:   {"active", "rebuild", "deleted"},
	states.Error:        {"rebuild", "deleted"},
	states.RescueFail:   {"unrescue", "rescue", "deleted"},
	states.UnrescueFail: {"unrescue", "rescue", "deleted"},
	states.ServiceFail:  {"abort", "service", "rescue", "deleted"},
}

// request requests a provision state for a machine's node. Before a deployment it chooses one of the images.
func (c *client) request(ctx context.Context, m *machine, word string) {
	if word == "active" || word == "rebuild" {
		sum := m.site.sums[c.random.IntN(len(m.site.sums))]
		image := map[string]any{
			"image_source":        m.site.web.URL + "/images/" + sum,
			"image_disk_format":   "raw",
			"image_os_hash_algo":  "sha256",
			"image_os_hash_value": sum,
		}
		patch, _ := json.Marshal([]any{map[string]any{"op": "add", "path": "/instance_info", "value": image}}) // of strings
		if c.other(ctx, m.node, http.MethodPatch, "", string(patch)) != history.Accepted {
			return
		}
	}
	c.provision(ctx, m.node, word, []string{"deploy." + rebootingStep})
}

// install makes every machine's node active once the faults have ended. Those that are active remain so. A failure is a
// finding.
func (r *run) install(ctx context.Context) {
	begin := time.Now()
	bounded, cancel := r.recorder.whileChanging(ctx, stuck)
	defer cancel()
	var all sync.WaitGroup
	for i, m := range r.machines.all {
		c := r.newClient(operators + len(r.machines.all) + i)
		all.Go(func() { defer c.http.CloseIdleConnections(); r.activate(bounded, c, m) })
	}
	all.Wait()
	_ = r.recorder.await(bounded, func() bool { return len(r.recorder.busyNodes()) == 0 && r.recorder.caughtUp(bounded) })
	r.progress("%8v  after the last fault all machines were active", time.Since(begin).Round(time.Second))
}

// activate sends requests about one machine's node until it is active. A failure of its own requests is a finding.
func (r *run) activate(ctx context.Context, c *client, m *machine) {
	begun := false
	broken := func(format string, args ...any) {
		r.find(history.Finding{Rule: "machines", Node: m.node, Text: fmt.Sprintf(format, args...)})
	}
	for {
		shown, ok := c.read(ctx, m.node)
		words := requestsOf[shown.State]
		switch phase := r.table.Phase(shown.State); {
		case ctx.Err() != nil:
			broken("it is in %q after the last fault, and nothing was stored for %v: %s", shown.State, stuck, shown.LastError)
			return
		case !ok || shown.Reservation != nil:
		case shown.State == states.Active:
			return
		case shown.Maintenance:
			c.other(ctx, m.node, http.MethodDelete, "/maintenance", "")
		case begun && phase == states.PhaseFailed:
			broken("it is in %q without a fault: %s", shown.State, shown.LastError)
			return
		case len(words) > 0 && phase != states.PhaseWaiting:
			begun = true
			c.request(ctx, m, words[0])
		}
		sleep.For(ctx, maxPause)
	}
}
