package main

import (
	"context"
	"hash/fnv"
	"sync"

	"github.com/ironstate/ironstate/states"
)

// simulated is hardware that is on unless disturb has switched it off.
type simulated struct {
	mu    sync.Mutex
	round uint32
	on    map[string]bool // machines switched on again in this round, by ID
}

const share = 10 // about one in share machines is switched off in a round

// disturb switches machines off, different ones in each of share rounds.
func (h *simulated) disturb(round int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.round = uint32(round % share)
	h.on = make(map[string]bool)
}

// PowerState implements [powersync.Driver].
func (h *simulated) PowerState(_ context.Context, id string) (states.Power, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := fnv.New32a()
	sum.Write([]byte(id))
	if sum.Sum32()%share == h.round && !h.on[id] {
		return states.PowerOff, nil
	}
	return states.PowerOn, nil
}

// SetPower implements [powersync.Driver].
func (h *simulated) SetPower(_ context.Context, id string, power states.Power) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on[id] = power.Target() == states.PowerOn
	return nil
}
