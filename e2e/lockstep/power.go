// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// powerEvents change a BMC without the knowledge of Ironic or of the Syncer.
var powerEvents = map[string]func(context.Context, *bmctest.IPMI) error{
	"nothing":      func(context.Context, *bmctest.IPMI) error { return nil },
	"switched off": func(_ context.Context, b *bmctest.IPMI) error { return b.SetPower("off") },
	"died":         func(_ context.Context, b *bmctest.IPMI) error { b.Kill(); return nil },
	"restarted":    func(ctx context.Context, b *bmctest.IPMI) error { return b.Restart(ctx) },
}

// A powerView holds the values that are compared after the rounds that follow an event.
type powerView struct {
	power       states.Power
	hardware    string
	maintenance bool
	fault       string
	lastError   string // its kind, because the texts differ
}

func (v powerView) String() string {
	return fmt.Sprintf("recorded %v, hardware %s, maintenance %t, fault %q, last error %s",
		v.power, v.hardware, v.maintenance, v.fault, v.lastError)
}

// earlierError is the last error of a node that has one before the first event.
const earlierError = "from before"

func whichError(text string) string {
	switch text {
	case "":
		return "none"
	case earlierError:
		return text
	default:
		return "of power sync"
	}
}

// power applies the same events to nodes under Ironic with its ipmitool driver
// and under [powersync.Decide], each on its own BMC, and compares them when the rounds
// after each event are over. Decide does as Ironic's code does
// ([powersync.Policy.ForgetUnread]), except in one life.
func (total *Comparison) power(ctx context.Context, i *Ironic) {
	var mu sync.Mutex
	var failed error
	var lives sync.WaitGroup
	for _, life := range scenarios.Power {
		lives.Go(func() {
			c, err := named(powerName, func(c *Comparison, ctx context.Context, i *Ironic) { c.livePower(ctx, i, life) })(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			total.Compared += c.Compared
			total.Differences = append(total.Differences, c.Differences...)
			failed = errors.Join(failed, err)
		})
	}
	lives.Wait()
	try.OK(failed)
}

// livePower runs one life on both systems.
func (c *Comparison) livePower(ctx context.Context, i *Ironic, life powerLife) {
	theirs := newBMC(ctx, "on")
	defer try.Finally(theirs.Close)
	ours := newBMC(ctx, "on")
	defer try.Finally(ours.Close)
	ironic, ironstate := i.newIronicPower(ctx, life, theirs), newIronstatePower(life, ours)
	what := life.Name
	for _, event := range life.Events {
		what += ", " + event
		try.OK(errors.Join(powerEvents[event](ctx, theirs), powerEvents[event](ctx, ours)))
		ironstateView := ironstate.rounds(ctx)
		ironicView := ironic.rounds(ctx, i.expectedOfIronic(what, ironstateView.String()))
		c.compare(ironicView, ironstateView, "%s", what)
	}
}

// expectedOfIronic returns the view that Ironic is expected to have if ironstate has the given view of its
// node: the same view, or Ironic's side of an intended difference.
func (i Installation) expectedOfIronic(what, ironstate string) string {
	for p := range purposesOf(i.Series) {
		if p.Comparison == powerName && p.What == what && p.Ironstate == ironstate {
			return p.Ironic
		}
	}
	return ironstate
}

// ironicPower is a node under Ironic.
type ironicPower struct {
	ironic *Ironic
	uuid   string
	bmc    *bmctest.IPMI
}

func (i *Ironic) newIronicPower(ctx context.Context, life powerLife, server *bmctest.IPMI) *ironicPower {
	uuid := i.newIPMINode(ctx, server, password)
	set := columnsOf(i.inState(life.State))
	set["power_state"] = life.Power
	if life.Failed {
		set["last_error"] = earlierError
	}
	i.database.write(uuid, set)
	if life.Maintenance {
		answer := whileReserved(ctx, func() Answer { return i.Client.Maintain(ctx, i.newest(), uuid, true) })
		answer.want(http.StatusAccepted, "maintenance of node %s", uuid)
	}
	return &ironicPower{i, uuid, server}
}

const (
	// quiet is longer than the interval in which the rounds change a node.
	quiet = 5 * time.Second
	// patience bounds the time until Ironic has the expected view: four attempts to
	// read from a dead BMC, and a round of recovery, a minute. Nothing tells that the
	// view changes no more: only a difference takes this long.
	patience = 10 * time.Minute
)

// rounds waits until Ironic has had the expected view for longer than quiet, or until
// patience is over, and returns Ironic's view.
func (p *ironicPower) rounds(ctx context.Context, expected string) powerView {
	since := time.Now()
	deadline := since.Add(patience)
	return await(ctx, 50*time.Millisecond, func() (powerView, bool) {
		r := p.ironic.database.read(p.uuid)
		got := powerView{r.Power, p.bmc.Power(), r.Maintenance != 0, r.Fault, whichError(r.LastError)}
		if got.String() != expected {
			since = time.Now()
		}
		return got, time.Since(since) > quiet || time.Now().After(deadline)
	})
}

// ironstatePower is a node whose record [powersync.Decide] and its siblings keep.
type ironstatePower struct {
	record              powersync.Record
	syncing, recovering powersync.Failures
	policy              powersync.Policy
	bmc                 *bmctest.IPMI
	driver              *bmc.Driver
}

func newIronstatePower(life powerLife, server *bmctest.IPMI) *ironstatePower {
	p := &ironstatePower{policy: powersync.Policy{ForgetUnread: !life.Documented}, bmc: server}
	p.driver = try.Get(bmc.NewDriver(bmc.DriverConfig{
		Lookup: func(context.Context, string) (bmc.Config, error) {
			return configOf(server, password, powerTimeout), nil
		},
	}))
	p.record = powersync.Record{ID: life.Name, ProvisionState: life.State, Power: life.Power, Maintenance: life.Maintenance}
	if life.Failed {
		p.record.LastError = earlierError
	}
	return p
}

// powerTimeout bounds a call of package bmc. Each call of a BMC that has died takes this long.
const powerTimeout = 10 * time.Second

// rounds does one round of power sync more than a failing node has retries, then a round
// of recovery and a last round of power sync.
func (p *ironstatePower) rounds(ctx context.Context) powerView {
	const retries = 3 // power_state_sync_max_retries, by default
	for range retries + 1 {
		p.sync(ctx)
	}
	if powersync.SkipRecovery(p.record) == "" {
		record, action := powersync.DecideRecovery(p.record, p.read(ctx), p.recovering)
		p.record, p.recovering = record, action.Failures
	}
	p.sync(ctx)
	try.OK(ctx.Err())
	r := p.record
	return powerView{r.Power, p.bmc.Power(), r.Maintenance, r.Fault, whichError(r.LastError)}
}

func (p *ironstatePower) sync(ctx context.Context) {
	if powersync.SkipSync(p.record) != "" {
		return
	}
	record, action := powersync.Decide(p.record, p.read(ctx), p.syncing, p.policy)
	if action.Outcome == powersync.Forced {
		record, action = powersync.Settle(record, action, p.driver.SetPower(ctx, record.ID, action.Asked))
	}
	p.record, p.syncing = record, action.Failures
}

func (p *ironstatePower) read(ctx context.Context) (r powersync.Reading) {
	r.Power, r.Err = p.driver.PowerState(ctx, p.record.ID)
	return r
}

// powerRequests requests every power state in every provision state, for a node
// that is on and one that is off, and compares the result with [powersync.Accept] and its siblings.
func (c *Comparison) powerRequests(ctx context.Context, i *Ironic) {
	uuid := i.newNode(ctx)
	i.database.write(uuid, columns{"power_interface": "fake"})
	for state := range i.table().States().All() {
		for _, power := range []states.Power{states.PowerOn, states.PowerOff} {
			for target := states.PowerOn; target <= states.PowerError; target++ {
				want, got := i.requestPower(ctx, uuid, i.inState(state), power, target), requestPower(state, power, target)
				c.compare(want, got, "%v of a node in %v that is at %v", target, state, power)
			}
		}
	}
}

// requestPower requests a power state from Ironic, and returns the status of the answer
// and the power state that is recorded in the end.
func (i *Ironic) requestPower(ctx context.Context, uuid string, at machine.Node, power, target states.Power) string {
	set := columnsOf(at)
	set["power_state"] = power
	i.database.write(uuid, set)
	answer := i.Client.Power(ctx, i.newest(), uuid, target)
	return await(ctx, 2*time.Millisecond, func() (string, bool) {
		r := i.database.read(uuid)
		return fmt.Sprintf("%d, then %v", answer.Status, r.Power), r.Reservation == "" && r.TargetPower == states.NoPower
	})
}

// requestPower is [Ironic.requestPower] for the rules of package powersync, on hardware
// that reaches a requested power state at once.
func requestPower(state states.State, power, target states.Power) string {
	r := powersync.Record{ID: "node", ProvisionState: state, Power: power}
	accepted, err := powersync.Accept(r, target)
	var refused *powersync.RefusedError
	if errors.As(err, &refused) {
		return fmt.Sprintf("%d, then %v", http.StatusBadRequest, r.Power)
	}
	try.OK(err)
	reading := powersync.Reading{Power: power}
	asked := try.Get(powersync.DecideRequest(target, reading))
	if asked != states.NoPower {
		reading.Power = asked.Target()
	}
	if reading.Power != accepted.TargetPower {
		err = powersync.ErrNotReached
	}
	r, _ = powersync.SettleRequest(accepted, target, err)
	return fmt.Sprintf("%d, then %v", http.StatusAccepted, r.Power)
}
