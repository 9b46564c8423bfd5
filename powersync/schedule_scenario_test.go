// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"fmt"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// scheduleScenario is what the explorer runs in all schedules: Syncers of one Store, and other writers of its records.
type scheduleScenario struct {
	name     string
	faults   int // that may happen in one schedule
	workers  int
	nodes    []scheduleNode
	tasks    map[string][]taskKind // by the name of the Syncer
	changes  []change
	restarts bool // a process that has died starts again while the others go on
}

func (sc scheduleScenario) String() string { return fmt.Sprintf("%s: %d faults", sc.name, sc.faults) }

// scheduleNode is a record and the power state of its machine.
type scheduleNode struct {
	powersync.Record
	power states.Power
}

// taskKind is what a Syncer does: a power request for node 1, a recovery round, or a sync round, which may begin with
// Reclaim.
type taskKind struct {
	request            states.Power
	recovers, reclaims bool
}

// change is a write of another writer, gamma, which respects the reservations of the Syncers.
type change struct {
	text, node string
	when       func(powersync.Record) bool
	do         func(*powersync.Record) // nil to delete the node
}

var (
	differs  = scheduleNode{powersync.Record{ProvisionState: states.Active, Power: states.PowerOn}, states.PowerOff}
	enrolled = scheduleNode{powersync.Record{ProvisionState: states.Enroll, Power: states.PowerOn}, states.PowerOff}
	unread   = scheduleNode{powersync.Record{
		ProvisionState: states.Active, Power: states.PowerOn, Maintenance: true, Fault: powersync.FaultPowerFailure,
	}, states.PowerOff}

	round, recovery   = taskKind{}, taskKind{recovers: true}
	powerOff, powerOn = taskKind{request: states.PowerOff}, taskKind{request: states.PowerOn}
	intoEnroll        = change{"moves node 1 to enroll", "node 1", nil, func(r *powersync.Record) { r.ProvisionState = states.Enroll }}
	deletes           = change{"deletes node 1", "node 1", nil, nil}
	reserves          = change{"reserves node 1", "node 1", isFree, func(r *powersync.Record) { r.Reservation = "gamma" }}
	frees             = change{"releases node 1", "node 1", isGammas, func(r *powersync.Record) { r.Reservation = "" }}
	scenarios         = []scheduleScenario{
		{name: "two rounds", nodes: []scheduleNode{differs}, tasks: map[string][]taskKind{"alpha": {round}, "beta": {round}}},
		{name: "a round while a process starts again", restarts: true, nodes: []scheduleNode{differs}, tasks: map[string][]taskKind{
			"alpha": {round}, "beta": {round},
		}},
		{name: "a process that starts again", workers: 1, restarts: true, nodes: []scheduleNode{differs}, tasks: map[string][]taskKind{
			"alpha": {round},
		}},
		{name: "two rounds of two nodes", workers: 2, nodes: []scheduleNode{differs, enrolled}, tasks: map[string][]taskKind{
			"alpha": {round}, "beta": {round},
		}},
		{name: "a round and a change", nodes: []scheduleNode{differs}, tasks: map[string][]taskKind{"alpha": {round}},
			changes: []change{intoEnroll, deletes}},
		{name: "a round and a reservation", nodes: []scheduleNode{differs}, tasks: map[string][]taskKind{"alpha": {round}},
			changes: []change{reserves, frees}},
		{name: "a request and a round", nodes: []scheduleNode{differs}, tasks: map[string][]taskKind{"alpha": {powerOff}, "beta": {round}}},
		{name: "a request and a round of one Syncer", nodes: []scheduleNode{differs}, tasks: map[string][]taskKind{"alpha": {powerOff, round}}},
		{name: "a recovery and a round of one Syncer", nodes: []scheduleNode{unread}, tasks: map[string][]taskKind{"alpha": {recovery, round}}},
		{name: "two requests", nodes: []scheduleNode{differs}, tasks: map[string][]taskKind{"alpha": {powerOn}, "beta": {powerOff}}},
		{name: "a recovery and a round", nodes: []scheduleNode{unread}, tasks: map[string][]taskKind{"alpha": {recovery}, "beta": {round}}},
		{name: "two recoveries", nodes: []scheduleNode{unread}, tasks: map[string][]taskKind{"alpha": {recovery}, "beta": {recovery}}},
	}
)

func isFree(r powersync.Record) bool { return r.Reservation == "" }

func isGammas(r powersync.Record) bool { return r.Reservation == "gamma" }

func within(name string, faults int) scheduleScenario {
	for _, sc := range scenarios {
		if sc.name == name {
			sc.faults = faults
			return sc
		}
	}
	panic("no scenario " + name)
}

// assumptions are what Syncers rely on and a schedule breaks.
type assumptions struct {
	unchecked bool // the store replaces a record, whatever version the writer has read
	loses     bool // the store answers writes that it has not done
	leavesOut bool // the store leaves a node out of its list
	repeats   bool // the store lists each node twice
	careless  bool // another writer changes a node that is reserved
	oneName   bool // two Syncers have the same name
	renamed   bool // a process that starts again has another name
	deaf      bool // the context of a task does not end
}

var broken = map[string]assumptions{
	"none": {}, "a store that does not check versions": {unchecked: true}, "a store that loses writes": {loses: true},
	"a store that leaves a node out": {leavesOut: true}, "a store that lists a node twice": {repeats: true},
	"a writer that does not respect reservations": {careless: true}, "two processes of one name": {oneName: true},
	"a process that starts with another name": {renamed: true},
	"a context that does not end":             {deaf: true},
}
