package main

import (
	"context"
	"hash/fnv"
	"sync"

	"github.com/ironstate/ironstate/states"
)

// imagined is simulated hardware that is on unless disturb has switched it off.
type imagined struct {
	mu    sync.Mutex
	round uint32
	on    map[string]bool // switched on again in this round
}

const share = 10 // one of this many machines is switched off in a round

// disturb switches machines off, in each round other ones.
func (h *imagined) disturb(round int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.round = uint32(round % share)
	h.on = make(map[string]bool)
}

// PowerState implements [powersync.Driver].
func (h *imagined) PowerState(_ context.Context, id string) (states.Power, error) {
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
func (h *imagined) SetPower(_ context.Context, id string, power states.Power) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on[id] = power.Target() == states.PowerOn
	return nil
}
