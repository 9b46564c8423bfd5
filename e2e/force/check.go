// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

// figures are the result of a run.
type figures struct {
	requests       [3]int // by outcome
	faults         int64
	versions, idle int
	operations     int
	cleanings      int // automated cleanings of machines with agents that have succeeded
	deployments    int // deployments of machines with agents that have succeeded
	takeOver       time.Duration
	longest        longest
	attacks        *attackLog
	findings       []history.Finding
}

func (f figures) String() string {
	return fmt.Sprintf("%d requests (%d accepted, %d refused, %d of unknown outcome), %d faults, %d versions stored, %d idle nodes, %v",
		f.requests[0]+f.requests[1]+f.requests[2], f.requests[history.Accepted], f.requests[history.Refused], f.requests[history.Unknown],
		f.faults, f.versions, f.idle, f.attacks)
}

// figures returns the counts of the run so far.
func (r *run) figures() figures {
	f := figures{requests: r.requests.count(), faults: r.faults.count.Load(), attacks: r.attacks}
	if r.recorder != nil {
		f.versions, f.idle = r.recorder.counts()
	}
	return f
}

// work has the operations of fake-hardware for each work, named as in the conductors' logs.
var work = map[states.Work][]string{
	states.WorkVerify:   {"verify"},
	states.WorkInspect:  {"inspect.inspect_hardware", restarted},
	states.WorkDeploy:   {"deploy.deploy", restarted},
	states.WorkDelete:   {"deploy.tear_down", restarted},
	states.WorkRescue:   {"rescue.rescue", restarted},
	states.WorkUnrescue: {"rescue.unrescue", restarted},
	states.WorkAdopt:    {"deploy.take_over", restarted},
	states.WorkClean:    append(namedSteps, restarted),
	states.WorkService:  append(namedSteps, restarted),
}

// restarted is the last operation of each step: the machine is switched off, and then on.
const restarted = "power on"

// namedSteps are the steps that clients request for a manual cleaning and a service.
var namedSteps = []string{"bios.factory_reset", "bios.cache_bios_settings"}

// check applies the rules to the history.
func (r *run) check() figures {
	r.cluster.stop() // the logs are complete
	end := time.Now()
	h := &history.History{
		Table: r.table, Work: work, Nodes: r.recorder.nodes, Memberships: r.recorder.memberships, Requests: r.requests.requests,
		Machines: map[string]history.Machine{}, Given: r.attacks.tokens(),
	}
	for _, m := range r.machines.all {
		h.Machines[m.node] = try.Get(m.history())
	}
	for _, v := range victims {
		h.Machines[v.node] = history.Machine{Deserted: true}
	}
	for _, p := range r.cluster.conductors {
		h.Operations = append(h.Operations, operations(r.cluster.dir, p.name, end)...)
		h.Outages = append(h.Outages, p.outagesUntil(end)...)
	}
	passwords := passwordsIn(r.cluster.dir)
	f := r.figures()
	f.cleanings, f.deployments = h.Installations()
	f.operations, f.takeOver, f.longest = len(h.Operations), r.recorder.takeOver, r.recorder.longest
	for _, v := range r.recorder.nodes[f.longest.node] {
		if after := v.Stored.Sub(f.longest.begin); after >= 0 && after <= f.longest.took {
			r.faults.progress("the longest work: %8v  %q, reserved by %q of %s, last error %q", after.Round(time.Millisecond),
				v.State, v.Claim, r.recorder.conductor(v.Claim), v.LastError)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f.findings = slices.Concat(r.findings, r.attacks.findings(), passwords, r.recorder.findings, portFindings(r.recorder.ports), h.Check())
	return f
}
