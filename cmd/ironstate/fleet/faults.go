// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// slow is how long a slow BMC or agent takes longer.
const slow = 20 * time.Second

// fault is a fault by name. It is one of the BMC, one of the agent, or one of the machine itself, which boot plays.
type fault struct {
	name, text string

	bmc  bmctest.Effect
	asks func(*http.Request) bool // whether a request to the BMC is an occasion; nil for each one

	agent agenttest.Effect
	on    []string // requests of the agent, commands and steps, as in agenttest.Fault.On
}

// noBoot is the fault that the machine itself has.
const noBoot = "no-boot"

// faults are all faults.
var faults = []fault{
	{name: "bmc-unavailable", text: "the BMC answers 503", bmc: bmctest.Status(503)},
	{name: "bmc-slow", text: "the BMC answers 20 seconds later", bmc: bmctest.Delay(slow)},
	{name: "bmc-reset", text: "the BMC obeys, and resets the connection in place of an answer", bmc: bmctest.ResetAfter(0)},
	{name: "power-refused", text: "the BMC refuses a change of power with 500", bmc: bmctest.Status(500), asks: isReset},
	{name: "media-refused", text: "the BMC refuses to insert or eject an image with 500", bmc: bmctest.Status(500), asks: isMedia},
	{name: "boot-device-refused", text: "the BMC refuses a boot device with 500", bmc: bmctest.Status(500), asks: isBootDevice},
	{name: noBoot, text: "the machine hangs at its start until it is reset"},
	{name: "agent-dies", text: "the agent ends in place of a heartbeat", agent: agenttest.Die(), on: []string{"heartbeat"}},
	{name: "heartbeat-lost", text: "a heartbeat is not sent", agent: agenttest.Silent(), on: []string{"heartbeat"}},
	{name: "agent-busy", text: "the agent refuses a step with 409", agent: agenttest.Busy(),
		on: []string{"execute_clean_step", "execute_deploy_step"}},
	{name: "clean-fails", text: "a step that erases fails", agent: agenttest.Fail("the disk cannot be erased"),
		on: []string{"erase_devices", "erase_devices_metadata"}},
	{name: "write-slow", text: "write_image takes 20 seconds longer", agent: agenttest.Delay(slow), on: []string{"write_image"}},
	{name: "write-fails", text: "write_image fails", agent: agenttest.Fail("the disk cannot be written"), on: []string{"write_image"}},
	{name: "write-dies", text: "the agent ends in write_image", agent: agenttest.Die(), on: []string{"write_image"}},
}

func faultsText() string {
	var all []string
	for _, f := range faults {
		all = append(all, f.name+" ("+f.text+")")
	}
	return strings.Join(all, ", ")
}

func isReset(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/ComputerSystem.Reset")
}

func isMedia(r *http.Request) bool {
	return (r.Method == http.MethodPost || r.Method == http.MethodPatch) && strings.Contains(r.URL.Path, "/VirtualMedia/")
}

// isBootDevice reports whether a request changes a system or its settings.
func isBootDevice(r *http.Request) bool {
	return r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, "/redfish/v1/Systems/") && !isMedia(r) &&
		!strings.Contains(strings.ToLower(r.URL.Path), "/bios") && !strings.HasSuffix(r.URL.Path, "/SecureBoot")
}

// dice decide on which occasions a fault of a machine is played. They are safe for concurrent use.
type dice struct {
	rate   float64
	played atomic.Int64

	mu     sync.Mutex
	random *rand.Rand
}

// newDice returns the dice of a fault of a machine. The decisions follow from the seed and the two names alone.
func newDice(seed uint64, machine, fault string, rate float64) *dice {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(machine + " " + fault))
	return &dice{rate: rate, random: rand.New(rand.NewPCG(seed, sum.Sum64()))}
}

// fall reports whether the fault is played on the next occasion. Nil dice never do.
func (d *dice) fall() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	falls := d.random.Float64() < d.rate
	d.mu.Unlock()
	if falls {
		d.played.Add(1)
	}
	return falls
}

// faultsOf returns the dice of a machine's faults by their names, and the faults of its BMC and its agent. There are
// none for a rate of 0.
func (o *options) faultsOf(machine string) (all map[string]*dice, ofBMC []bmctest.Fault, ofAgent []agenttest.Fault) {
	all = map[string]*dice{}
	for _, f := range faults {
		if o.rates[f.name] == 0 {
			continue
		}
		d := newDice(o.seed, machine, f.name, o.rates[f.name])
		all[f.name] = d
		if f.name != noBoot && f.on == nil {
			ofBMC = append(ofBMC, bmctest.Fault{Do: f.bmc, If: func(r *http.Request) bool { return (f.asks == nil || f.asks(r)) && d.fall() }})
		}
		for _, on := range f.on {
			ofAgent = append(ofAgent, agenttest.Fault{On: on, Do: f.agent, If: d.fall})
		}
	}
	return all, ofBMC, ofAgent
}
