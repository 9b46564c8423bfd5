// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// insiders are the first number of the clients that attack from the network of agents.
const insiders = 3000

// insider plays the agent of a victim, from the network of agents, and operates the victim with the clients' password,
// so that it waits for its agent.
type insider struct {
	*client
	*victim
	log   *attackLog
	token string  // of the present wait
	lost  bool    // another lookup has got the token of the present wait
	sent  *attack // its reason will be in the victim's last error
	turns int     // the number of attacks so far
}

// victimBMC starts the BMC of a victim, of a machine that boots nothing.
func victimBMC(i int) *bmctest.Redfish {
	return try.Get(bmctest.NewRedfish(bmctest.RedfishConfig{
		Systems:     []bmctest.System{{ID: "1", Hardware: bmctest.Hardware{MACs: []string{fmt.Sprintf("52:54:00:ff:00:%02x", i)}}}},
		Users:       map[string]secret.Text{bmctest.DefaultUser: secret.New(hiddenPassword)},
		MaxSessions: maxSessions,
	}))
}

// newInsiders returns an insider for each victim.
func (r *run) newInsiders() (all []*insider) {
	for i := range victims {
		c := r.newClient(insiders + i)
		c.limit = operatorTimeout
		all = append(all, &insider{client: c, victim: &victims[i], log: r.attacks})
	}
	return all
}

// enrollVictims creates the victims by requests of a client.
func (r *run) enrollVictims(ctx context.Context, c *client) {
	for i, v := range victims {
		info := redfishInfo(r.bmcs[i].Addr, hiddenPassword)
		info["deploy_iso"] = strings.Replace(agentISO, "//", "//user:"+hiddenPassword+"@", 1)
		maps.Copy(info, v.driverInfo)
		body := try.Get(json.Marshal(map[string]any{
			"uuid": v.node, "name": v.name, "driver": "redfish", "boot_interface": "redfish-virtual-media", "deploy_interface": "direct",
			"inspect_interface": "agent", "driver_info": info, "instance_info": v.instanceInfo,
		}))
		try.OKf(c.create(ctx, c.anyHost(), "/v1/nodes", string(body)), "create the %s", v.name)
	}
}

// run attacks until stop is closed.
func (i *insider) run(ctx context.Context, stop <-chan struct{}) {
	defer i.http.CloseIdleConnections()
	for ctx.Err() == nil && paused(i.random, stop) {
		i.turn(ctx)
	}
}

// turn reads the victim and does what its state calls for.
func (i *insider) turn(ctx context.Context) {
	shown, ok := i.read(ctx, i.victim.node)
	if !ok {
		return
	}
	if shown.State != i.waits {
		i.token, i.lost = "", false
	}
	if i.sent != nil && i.table.Phase(shown.State) == states.PhaseFailed {
		i.log.add(*i.sent, i.sent.want, shown.LastError)
		i.sent = nil
	}
	switch i.victim.next(shown, i.token, i.lost) {
	case endMaintenance:
		i.other(ctx, i.victim.node, http.MethodDelete, "/maintenance", "")
	case operate:
		words := i.requests[shown.State]
		i.provision(ctx, i.victim.node, words[i.random.IntN(len(words))], []string{"deploy." + rebootingStep})
	case abort:
		i.provision(ctx, i.victim.node, "abort", nil)
	case lookUp:
		i.lookUp(ctx)
	case strike:
		i.strike(ctx)
	}
}

// lookUp asks two conductors for the token at the same time.
func (i *insider) lookUp(ctx context.Context) {
	ctx, cancel := i.bound(ctx)
	defer cancel()
	lookup := attack{name: "a lookup", method: http.MethodGet, path: "/v1/lookup?node_uuid=" + i.victim.node, want: http.StatusOK}
	var both sync.WaitGroup
	var statuses [2]int
	var texts [2]string
	for n := range texts {
		host := i.anyHost()
		both.Go(func() { statuses[n], texts[n] = lookup.send(ctx, i.http, host) })
	}
	both.Wait()
	for n, text := range texts {
		i.log.add(lookup, statuses[n], text)
		if token := tokenIn(text); token != "" {
			i.token = token
			i.log.give(i.victim.node, token)
		}
		i.lost = i.lost || statuses[n] == http.StatusOK
	}
}

// strike sends the next attack.
func (i *insider) strike(ctx context.Context) {
	all := i.attacks(i.victim.node, i.token)
	what := all[i.turns%len(all)]
	i.turns++
	ctx, cancel := i.bound(ctx)
	defer cancel()
	status, text := what.send(ctx, i.http, i.anyHost())
	if token := tokenIn(text); token != "" { // the check of the history finds it
		i.log.give(i.victim.node, token)
	}
	if what.later && status == what.want {
		i.sent = &what
		return
	}
	i.log.add(what, status, text)
}

// finish attacks without faults until each attack was refused, and then aborts the wait of the victim, so that it need
// not time out.
func (i *insider) finish(ctx context.Context) {
	defer i.http.CloseIdleConnections()
	i.limit = 0
	for all := i.attacks("", ""); !i.log.ended(all) && i.turns < enough*len(all) && ctx.Err() == nil; {
		i.turn(ctx)
		sleep.For(ctx, maxPause)
	}
	if shown, ok := i.read(ctx, i.victim.node); ok && shown.State == i.waits {
		i.provision(ctx, i.victim.node, "abort", nil)
	}
}
