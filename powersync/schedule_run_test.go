// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/schedules"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// scheduleRun is one run of the Syncers of a scenario by one schedule. Every goroutine stops at its call of the Store
// or the Driver until a choice lets it go on.
type scheduleRun struct {
	*schedules.Gate
	promises
	t        *testing.T
	scenario scheduleScenario
	broken   assumptions
	records  map[string]powersync.Record
	writes   map[string]int64 // of each record, also after its deletion
	power    map[string]states.Power
	syncers  []*scheduleSyncer
	changed  []bool // the changes of the scenario that were made
	over     bool
}

// scheduleSyncer is a process with a Syncer. It is the Syncer's Store and Driver.
type scheduleSyncer struct {
	*scheduleRun
	process, name string
	syncer        *powersync.Syncer
	cancel        context.CancelFunc
	own           []*task
	ended         bool // its context has
	restarted     bool
}

type taskKey struct{}

func startSchedule(t *testing.T, sc scheduleScenario, broken assumptions) *scheduleRun {
	s := &scheduleRun{
		Gate: schedules.NewGate(sc.faults), t: t, scenario: sc, broken: broken, records: map[string]powersync.Record{},
		writes: map[string]int64{}, power: map[string]states.Power{}, changed: make([]bool, len(sc.changes)),
	}
	s.failf, s.versions, s.asks = s.Fail, map[string]map[int64]powersync.Record{}, map[string]*asked{}
	for i, n := range sc.nodes {
		n.ID = fmt.Sprint("node ", i+1)
		s.put(n.Record)
		s.power[n.ID] = n.power
	}
	s.Apply(schedules.Choice{Do: func() {
		for _, name := range slices.Sorted(maps.Keys(sc.tasks)) {
			s.start(name, name, sc.tasks[name])
		}
	}})
	return s
}

// start starts a process, which does its tasks at once.
func (s *scheduleRun) start(process, name string, tasks []taskKind) {
	p := s.newSyncer(process, name)
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	if s.broken.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	s.syncers = append(s.syncers, p)
	for _, kind := range tasks {
		p.own = append(p.own, &task{process: process, name: name, request: kind.request, asked: map[string]int{}})
	}
	s.tasks = append(s.tasks, p.own...)
	for i, t := range p.own {
		s.Go(process, func() string { return p.do(context.WithValue(ctx, taskKey{}, t), t, tasks[i]) })
	}
}

func (s *scheduleRun) newSyncer(process, name string) *scheduleSyncer {
	p := &scheduleSyncer{scheduleRun: s, process: process, name: name}
	c := powersync.Config{Store: p, Driver: p, Name: name, Workers: s.scenario.workers, RecoveryInterval: -1, OnEvent: p.event}
	if s.broken.oneName {
		c.Name = "alpha"
	}
	var err error
	p.syncer, err = powersync.New(c)
	require.NoError(s.t, err)
	return p
}

// do does a task, and returns for the state of the process what has come of it.
func (p *scheduleSyncer) do(ctx context.Context, t *task, kind taskKind) string {
	if kind.request != states.NoPower {
		err := p.syncer.Set(ctx, "node 1", kind.request, 0)
		if p.alive() {
			p.Touch("nodes", false)
			p.answered(t, err)
		}
		return fmt.Sprint(err)
	}
	if kind.reclaims {
		_, _ = p.syncer.Reclaim(ctx)
	}
	round := p.syncer.Sync
	if kind.recovers {
		round = p.syncer.Recover
	}
	report, err := round(ctx)
	if p.alive() && !kind.recovers {
		p.Touch("nodes", false)
		p.reported(t, report, len(p.records), err)
	}
	return fmt.Sprint(report.Nodes, err, p.syncer.Stats().Failing, p.syncer.Stats().Reserved)
}

func (p *scheduleSyncer) alive() bool { return !p.Dead(p.process) && !p.Closed() }

// event is the OnEvent of the Syncer.
func (p *scheduleSyncer) event(e powersync.Event) {
	for _, t := range p.own {
		if t.request != states.NoPower && e.Outcome == powersync.PowerRequested {
			t.accepted = true
		}
	}
}

// put stores a record.
func (s *scheduleRun) put(r powersync.Record) {
	s.writes[r.ID]++
	r.Revision = s.writes[r.ID]
	s.records[r.ID] = r
	if s.versions[r.ID] == nil {
		s.versions[r.ID] = map[int64]powersync.Record{}
	}
	s.versions[r.ID][r.Revision] = r
}

// taskOf returns the task of a call.
func taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{}).(*task)
	return t
}

// callName returns the name of a call for people, with the task if the process has several.
func (p *scheduleSyncer) callName(ctx context.Context, text string) string {
	if len(p.own) > 1 {
		text += fmt.Sprintf(" for its task %d", slices.Index(p.own, taskOf(ctx))+1)
	}
	return text
}

// Records implements [powersync.Store]: each record is read by a call of its own.
func (p *scheduleSyncer) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		for i := range p.scenario.nodes {
			id := fmt.Sprint("node ", i+1)
			var r powersync.Record
			found := false
			err := p.Call(ctx, &schedules.Call{By: p.process, Name: p.callName(ctx, "list "+id), Object: id, Do: func() (string, error) {
				r, found = p.records[id]
				return fmt.Sprint(r, found), nil
			}})
			if ctx.Err() != nil {
				return
			}
			r.ID = id
			times := 1
			switch {
			case err == nil && !found, p.broken.leavesOut && id == "node 2":
				times = 0
			case p.broken.repeats:
				times = 2
			}
			for range times {
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// Load implements [powersync.Store].
func (p *scheduleSyncer) Load(ctx context.Context, id string) (r powersync.Record, err error) {
	err = p.Call(ctx, &schedules.Call{By: p.process, Name: p.callName(ctx, "load "+id), Object: id, Hangs: true, Do: func() (string, error) {
		found := false
		if r, found = p.records[id]; !found {
			return "", powersync.ErrNotFound
		}
		return fmt.Sprint(r), nil
	}})
	return r, err
}

// Update implements [powersync.Store].
func (p *scheduleSyncer) Update(ctx context.Context, r powersync.Record) error {
	t := taskOf(ctx)
	if p.alive() {
		p.promises.writes(t, r)
	}
	text := fmt.Sprintf("write %s %d: %v %v", r.ID, r.Revision, r.ProvisionState, r.Power)
	if r.Reservation != "" {
		text += " of " + r.Reservation
	}
	c := &schedules.Call{By: p.process, Name: p.callName(ctx, text), Object: r.ID, Writes: true, Hangs: true, Undone: p.broken.loses}
	c.Do = func() (string, error) {
		before, found := p.records[r.ID]
		switch {
		case !found:
			return "", powersync.ErrNotFound
		case before.Revision != r.Revision && !p.broken.unchecked:
			return "", powersync.ErrConflict
		}
		p.stored(t, before, r)
		p.put(r)
		return "", nil
	}
	return p.Call(ctx, c)
}

// PowerState implements [powersync.Driver].
func (p *scheduleSyncer) PowerState(ctx context.Context, id string) (power states.Power, err error) {
	if p.alive() {
		p.begins(taskOf(ctx), "a read of the machine of "+id)
	}
	err = p.Call(ctx, &schedules.Call{By: p.process, Name: p.callName(ctx, "read the machine of "+id), Object: "machine of " + id, Hangs: true,
		Do: func() (string, error) {
			power = p.power[id]
			return power.String(), nil
		}})
	return power, err
}

// SetPower implements [powersync.Driver].
func (p *scheduleSyncer) SetPower(ctx context.Context, id string, power states.Power) error {
	t, machine := taskOf(ctx), "machine of "+id
	name := fmt.Sprintf("set the %s to %v", machine, power)
	c := &schedules.Call{By: p.process, Name: p.callName(ctx, name), Object: machine, Writes: true, Hangs: true}
	c.Do = func() (string, error) {
		p.Touch(id, false)
		if r, found := p.records[id]; !c.Late() && found {
			p.arrives(t, r)
		}
		p.power[id] = power.Target()
		return "", nil
	}
	p.Touch(machine, true)
	if p.alive() {
		p.begins(t, "a request to the machine of "+id)
		p.asking(t, id, c.Late)
	}
	err := p.Call(ctx, c)
	p.Touch(machine, true)
	if p.alive() {
		p.returns(p.process, id)
	}
	return err
}

// Choices returns the choices of a state.
func (s *scheduleRun) Choices() []schedules.Choice {
	all := s.Done()
	for i, c := range s.scenario.changes {
		r, found := s.records[c.node]
		if !s.changed[i] && found && (isFree(r) || isGammas(r) || s.broken.careless) && (c.when == nil || c.when(r)) {
			all = append(all, schedules.Choice{Name: "gamma: " + c.text, Idle: true, Do: func() { s.change(i) }})
		}
	}
	for _, p := range s.syncers {
		if s.scenario.restarts && s.Dead(p.process) && !p.restarted {
			all = append(all, schedules.Choice{Name: p.process + ": starts again", Idle: true, Do: func() { s.restart(p) }})
		}
	}
	all = append(all, s.Faulty()...)
	if s.Faults() > 0 {
		for _, p := range s.syncers {
			if s.Dead(p.process) || s.done(p) {
				continue
			}
			if !p.ended {
				all = append(all, schedules.Choice{Name: p.process + ": its context ends", Fault: true, Do: func() { s.end(p) }})
			}
			all = append(all, schedules.Choice{Name: p.process + ": dies", Fault: true, Do: func() { s.die(p) }})
		}
		if s.Waiting() {
			all = append(all, schedules.Choice{Name: schedules.Passes, Fault: true, Do: func() { s.Pass(scheduleRest) }})
		}
	}
	if !slices.ContainsFunc(all, func(c schedules.Choice) bool { return !c.Fault && !c.Idle }) {
		all = append(all, schedules.Choice{Name: schedules.Passes, Do: func() { s.over = s.Pass(scheduleRest) }})
	}
	return all
}

// scheduleRest is longer than every wait of a Syncer.
const scheduleRest = 5 * time.Minute

// done reports whether a process has done its tasks.
func (s *scheduleRun) done(p *scheduleSyncer) bool {
	return s.Returned(p.process) == len(p.own)
}

func (s *scheduleRun) change(i int) {
	c := s.scenario.changes[i]
	s.Touch(c.node, true)
	s.Touch("nodes", true)
	s.changed[i] = true
	if c.do == nil {
		delete(s.records, c.node)
		return
	}
	r := s.records[c.node]
	c.do(&r)
	s.put(r)
}

// end ends the context of a process.
func (s *scheduleRun) end(p *scheduleSyncer) {
	s.Touch("process "+p.process, true)
	p.ended = true
	for _, t := range p.own {
		t.over = true
	}
	p.cancel()
}

func (s *scheduleRun) die(p *scheduleSyncer) {
	s.Kill(p.process)
	s.suspend(p.process)
}

// suspend forgets the requests of a process that has died.
func (s *scheduleRun) suspend(process string) {
	for id, a := range s.asks {
		if a.by == process {
			s.Touch("machine of "+id, true)
			delete(s.asks, id)
		}
	}
}

// restart starts a process again: its Syncer has the same name, and begins as Run does.
func (s *scheduleRun) restart(p *scheduleSyncer) {
	p.restarted = true
	s.Touch(schedules.Everything, true)
	s.start(p.process+" again", s.nameAgain(p), []taskKind{{reclaims: true}})
}

// nameAgain returns the name of a Syncer whose process starts again.
func (s *scheduleRun) nameAgain(p *scheduleSyncer) string {
	if s.broken.renamed {
		return "gamma"
	}
	return p.name
}

// Key returns a hash of the state.
func (s *scheduleRun) Key() uint64 {
	return s.Gate.Key(s.records, s.writes, s.power, s.asks, s.tasks, s.changed, len(s.syncers))
}

// Over reports whether nothing is left that could happen.
func (s *scheduleRun) Over() bool { return s.over }

// CheckEnd does a round of each Syncer without faults, and checks the records. A process that has died starts again.
func (s *scheduleRun) CheckEnd() {
	for _, p := range s.syncers {
		if !s.Dead(p.process) && !s.done(p) {
			s.Fail("%s: a task does not end", p.process)
			return
		}
	}
	s.Open()
	for range 2 {
		for _, p := range s.syncers {
			if s.Dead(p.process) {
				p = s.newSyncer(p.process+" at last", s.nameAgain(p))
			}
			t := &task{process: p.process, name: p.name, asked: map[string]int{}}
			for _, round := range []func(context.Context) (powersync.Report, error){p.syncer.Recover, p.syncer.Sync} {
				_, err := round(context.WithValue(context.Background(), taskKey{}, t))
				require.NoError(s.t, err)
			}
		}
	}
	for _, r := range s.records {
		s.settled(r, s.power[r.ID])
	}
}

// Ending describes the last state.
func (s *scheduleRun) Ending() string { return fmt.Sprint(s.records, s.power, s.tasks) }

// Close ends all goroutines.
func (s *scheduleRun) Close() {
	var cancels []context.CancelFunc
	for _, p := range s.syncers {
		cancels = append(cancels, p.cancel)
	}
	s.Gate.Close(cancels...)
}
