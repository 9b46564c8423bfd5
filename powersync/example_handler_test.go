// SPDX-License-Identifier: Apache-2.0

package powersync_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// A rack handles its nodes by itself: it holds a lock while it works on them, and needs no reservations.
type rack struct {
	mu       sync.Mutex
	records  map[string]powersync.Record
	switches map[string]states.Power // the hardware
}

func (r *rack) Records(context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		r.mu.Lock()
		records := slices.Collect(maps.Values(r.records))
		r.mu.Unlock()
		for _, record := range records {
			if !yield(record, nil) {
				return
			}
		}
	}
}

func (r *rack) Sync(_ context.Context, id string, past powersync.Failures) (powersync.Action, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, ok := r.records[id]
	if !ok {
		return powersync.Action{}, powersync.ErrNotFound
	}
	after, action := powersync.Decide(record, powersync.Reading{Power: r.switches[id]}, past, powersync.Policy{})
	if action.Outcome == powersync.Forced {
		r.switches[id] = action.Asked
		after, action = powersync.Settle(after, action, nil)
	}
	r.records[id] = after
	return action, nil
}

func (r *rack) Recover(_ context.Context, id string, past powersync.Failures) (powersync.Action, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, ok := r.records[id]
	if !ok {
		return powersync.Action{}, powersync.ErrNotFound
	}
	after, action := powersync.DecideRecovery(record, powersync.Reading{Power: r.switches[id]}, past)
	r.records[id] = after
	return action, nil
}

// A service that locks its nodes in its own way.
func ExampleHandler() {
	r := &rack{
		records: map[string]powersync.Record{
			"node-1": {ID: "node-1", ProvisionState: states.Active, Power: states.PowerOn},
			"node-2": {ID: "node-2", ProvisionState: states.Enroll},
			"node-3": {ID: "node-3", ProvisionState: states.Active, Power: states.PowerOn,
				Maintenance: true, Fault: powersync.FaultPowerFailure},
		},
		switches: map[string]states.Power{"node-1": states.PowerOff, "node-3": states.PowerOff},
	}
	syncer, err := powersync.New(powersync.Config{Handler: r})
	if err != nil {
		panic(err)
	}
	for _, round := range []func(context.Context) (powersync.Report, error){syncer.Sync, syncer.Recover, syncer.Sync} {
		report, err := round(context.Background())
		fmt.Println(report.Nodes, err)
	}
	fmt.Println(r.switches["node-1"], r.records["node-3"].Power)
	// Output:
	// map[forced:1 skipped_enroll:1 skipped_maintenance:1] <nil>
	// map[recovered:1] <nil>
	// map[equal:2 skipped_enroll:1] <nil>
	// power on power off
}
