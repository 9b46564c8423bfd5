// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// outlets is a driver for machines that have no BMC: the outlets of a power strip,
// which have the power states on and off only.
type outlets struct {
	mu sync.Mutex
	on map[string]bool
}

func (o *outlets) PowerState(_ context.Context, id string) (states.Power, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.on[id] {
		return states.PowerOn, nil
	}
	return states.PowerOff, nil
}

func (o *outlets) SetPower(_ context.Context, id string, power states.Power) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch power {
	case states.PowerOn, states.PowerOff:
		o.on[id] = power == states.PowerOn
		return nil
	default:
		return fmt.Errorf("an outlet cannot do %q: %w", power, errors.ErrUnsupported)
	}
}

// A driver for outlets of a power strip.
func ExampleDriver() {
	store := new(powersync.Memory)
	store.Put(powersync.Record{ID: "node-1", ProvisionState: states.Active, Power: states.PowerOff})
	syncer, err := powersync.New(powersync.Config{Store: store, Driver: &outlets{on: map[string]bool{}}})
	if err != nil {
		panic(err)
	}
	for _, power := range []states.Power{states.PowerOn, states.PowerSoftOff} {
		err := syncer.Set(context.Background(), "node-1", power, 0)
		fmt.Println(errors.Is(err, errors.ErrUnsupported), err)
	}
	r, err := store.Load(context.Background(), "node-1")
	fmt.Println(r.Power, err)
	// Output:
	// false <nil>
	// true node node-1: request for "soft power off" failed: an outlet cannot do "soft power off": unsupported operation
	// power on <nil>
}

// A service keeps a history of its nodes' errors. The record has only the last one.
func ExampleEvent() {
	var history []string
	store := new(powersync.Memory)
	store.Put(powersync.Record{ID: "node-1", ProvisionState: states.Active, Power: states.PowerOn})
	driver := newBMCs(nil) // it does not answer
	syncer, err := powersync.New(powersync.Config{
		Store: store, Driver: driver, Policy: powersync.Policy{MaxRetries: -1},
		OnEvent: func(e powersync.Event) {
			if e.LastError != "" {
				history = append(history, fmt.Sprintf("%s: %v: %s", e.ID, e.Outcome, e.LastError))
			}
		},
	})
	if err != nil {
		panic(err)
	}
	_, err = syncer.Sync(context.Background())
	fmt.Println(err)
	driver.power.Store("node-1", states.PowerOn)
	_, err = syncer.Recover(context.Background())
	fmt.Println(err)
	for _, line := range history {
		fmt.Println(line)
	}
	// Output:
	// <nil>
	// <nil>
	// node-1: into_maintenance: power sync failed 1 times in a row: the power state cannot be read: no answer
}
