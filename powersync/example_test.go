// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// bmcs is a Driver that needs no hardware.
type bmcs struct{ power sync.Map }

// newBMCs returns BMCs of machines that are in these power states.
func newBMCs(power map[string]states.Power) *bmcs {
	b := new(bmcs)
	for id, p := range power {
		b.power.Store(id, p)
	}
	return b
}

func (b *bmcs) PowerState(_ context.Context, id string) (states.Power, error) {
	power, ok := b.power.Load(id)
	if !ok {
		return states.NoPower, errors.New("no answer")
	}
	return power.(states.Power), nil
}

func (b *bmcs) SetPower(_ context.Context, id string, power states.Power) error {
	b.power.Store(id, power.Target())
	return nil
}

func Example() {
	store := new(powersync.Memory)
	store.Put(powersync.Record{ID: "node-1", ProvisionState: states.Active, Power: states.PowerOn})
	store.Put(powersync.Record{ID: "node-2", ProvisionState: states.Active, Power: states.PowerOn})
	store.Put(powersync.Record{ID: "node-3", ProvisionState: states.Enroll})

	syncer, err := powersync.New(powersync.Config{
		Store:  store,
		Driver: newBMCs(map[string]states.Power{"node-1": states.PowerOn, "node-2": states.PowerOff}),
		OnEvent: func(e powersync.Event) {
			fmt.Printf("%s: %v, recorded %q, read %q\n", e.ID, e.Outcome, e.Recorded, e.Read)
		},
	})
	if err != nil {
		panic(err)
	}
	for range 2 {
		report, err := syncer.Sync(context.Background())
		fmt.Println(report.Nodes[powersync.Equal], "equal,", report.Skipped, "skipped,", err)
	}
	// Output:
	// node-2: forced, recorded "power on", read "power off"
	// 1 equal, 1 skipped, <nil>
	// 2 equal, 1 skipped, <nil>
}

func ExampleSyncer_Set() {
	store := new(powersync.Memory)
	store.Put(powersync.Record{ID: "node-1", ProvisionState: states.Active, Power: states.PowerOn})
	store.Put(powersync.Record{ID: "node-2", ProvisionState: states.Cleaning, Power: states.PowerOn})
	syncer, err := powersync.New(powersync.Config{
		Store:  store,
		Driver: newBMCs(map[string]states.Power{"node-1": states.PowerOn, "node-2": states.PowerOn}),
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	fmt.Println(syncer.Set(ctx, "node-1", states.PowerSoftOff, time.Minute))
	fmt.Println(syncer.Set(ctx, "node-2", states.PowerOff, 0))
	for _, id := range []string{"node-1", "node-2"} {
		r, _ := store.Load(ctx, id)
		fmt.Println(r.ID, r.Power)
	}
	// Output:
	// <nil>
	// node node-2: request for "power off" refused in provision state "cleaning"
	// node-1 power off
	// node-2 power on
}

// A service answers its client with Ironic's status, and finishes the request
// afterwards.
func ExampleSyncer_Begin() {
	store := new(powersync.Memory)
	store.Put(powersync.Record{ID: "node-1", ProvisionState: states.Active, Power: states.PowerOn})
	store.Put(powersync.Record{ID: "node-2", ProvisionState: states.Active, Power: states.PowerOn, DisablePowerOff: true})
	syncer, err := powersync.New(powersync.Config{
		Store:  store,
		Driver: newBMCs(map[string]states.Power{"node-1": states.PowerOn, "node-2": states.PowerOn}),
	})
	if err != nil {
		panic(err)
	}

	service := context.Background() // ends with the service, not with the client's request
	var requests sync.WaitGroup
	powerOff := func(client context.Context, id string) int {
		finish, err := syncer.Begin(client, id, states.PowerOff, 0)
		var refused *powersync.RefusedError
		switch {
		case err == nil:
			requests.Add(1)
			go func() {
				defer requests.Done()
				_ = finish(service) // its error is in the record and an event
			}()
			return http.StatusAccepted
		case errors.Is(err, powersync.ErrNotFound):
			return http.StatusNotFound
		case errors.As(err, &refused) && !refused.PowerOffDisabled:
			return http.StatusBadRequest
		case errors.As(err, &refused), errors.Is(err, powersync.ErrLocked):
			return http.StatusConflict
		default:
			return http.StatusInternalServerError
		}
	}
	for _, id := range []string{"node-1", "node-2", "node-3"} {
		fmt.Println(id, powerOff(context.Background(), id))
	}
	requests.Wait() // before the service ends
	r, _ := store.Load(service, "node-1")
	fmt.Println(r.ID, r.Power)
	// Output:
	// node-1 202
	// node-2 409
	// node-3 404
	// node-1 power off
}

// A service with its own loop uses the rule of sync rounds.
func ExampleSkipSync() {
	for _, r := range []powersync.Record{
		{ID: "node-1", ProvisionState: states.Active},
		{ID: "node-2", ProvisionState: states.Enroll},
		{ID: "node-3", ProvisionState: states.Active, Reservation: "conductor-2"},
	} {
		if skip := powersync.SkipSync(r); skip != "" {
			fmt.Println(r.ID, skip)
		}
	}
	// Output:
	// node-2 skipped_enroll
	// node-3 skipped_reservation
}
