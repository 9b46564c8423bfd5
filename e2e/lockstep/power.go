// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
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

const powerName = "power sync over IPMI: recorded power, hardware, maintenance, fault and last error"

// comparePower applies the same events to nodes under Ironic with its ipmitool driver
// and under [powersync.Decide], each on its own BMC, and compares them when the rounds
// after each event are over. Decide does as Ironic's code does
// ([powersync.Policy.ForgetUnread]), except in one life.
func comparePower(ctx context.Context, i *Ironic) (Comparison, error) {
	total := Comparison{Name: powerName}
	var mu sync.Mutex
	var failed error
	var lives sync.WaitGroup
	for _, life := range scenarios.Power {
		lives.Go(func() {
			c, err := i.livePower(ctx, life)
			mu.Lock()
			defer mu.Unlock()
			total.Compared += c.Compared
			total.Differences = append(total.Differences, c.Differences...)
			failed = errors.Join(failed, err)
		})
	}
	lives.Wait()
	return total, failed
}

// livePower runs one life on both systems.
func (i *Ironic) livePower(ctx context.Context, life powerLife) (c Comparison, err error) {
	ironic, err := i.newIronicPower(ctx, life)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, ironic.bmc.Close()) }()
	ironstate, err := newIronstatePower(ctx, life)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, ironstate.bmc.Close()) }()

	what := life.Name
	for _, event := range life.Events {
		what += ", " + event
		do := powerEvents[event]
		if err := errors.Join(do(ctx, ironic.bmc), do(ctx, ironstate.bmc)); err != nil {
			return c, err
		}
		ironstateView, err := ironstate.rounds(ctx)
		if err != nil {
			return c, err
		}
		ironicView, err := ironic.rounds(ctx, i.expectedOfIronic(what, ironstateView.String()))
		if err != nil {
			return c, err
		}
		c.compare(ironicView, ironstateView, "%s", what)
	}
	return c, nil
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

func (i *Ironic) newIronicPower(ctx context.Context, life powerLife) (*ironicPower, error) {
	server, err := newBMC(ctx, "on")
	if err != nil {
		return nil, err
	}
	uuid, err := i.newIPMINode(ctx, server, password)
	if err == nil {
		set := columnsOf(machine.Node{State: life.State, Target: i.table().Target(life.State)})
		set["power_state"] = life.Power
		if life.Failed {
			set["last_error"] = earlierError
		}
		_, err = i.database.write(uuid, set)
	}
	if err == nil && life.Maintenance {
		var answer Answer
		answer, err = whileReserved(ctx, func() (Answer, error) { return i.Client.Maintain(ctx, i.newest(), uuid, true) })
		if err == nil && answer.Status != http.StatusAccepted {
			err = fmt.Errorf("lockstep: maintenance of node %s: %d %s", uuid, answer.Status, answer.Fault)
		}
	}
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &ironicPower{i, uuid, server}, nil
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
func (p *ironicPower) rounds(ctx context.Context, expected string) (powerView, error) {
	since := time.Now()
	deadline := since.Add(patience)
	return sleep.Until(ctx, 50*time.Millisecond, func() (powerView, bool, error) {
		r, err := p.ironic.database.read(p.uuid)
		got := powerView{r.Power, p.bmc.Power(), r.Maintenance != 0, r.Fault, whichError(r.LastError)}
		if got.String() != expected {
			since = time.Now()
		}
		return got, time.Since(since) > quiet || time.Now().After(deadline), err
	})
}

// ironstatePower is a node whose record [powersync.Decide] and its siblings keep.
type ironstatePower struct {
	record              powersync.Record
	syncing, recovering powersync.Failures
	policy              powersync.Policy
	bmc                 *bmctest.IPMI
}

func newIronstatePower(ctx context.Context, life powerLife) (*ironstatePower, error) {
	server, err := newBMC(ctx, "on")
	if err != nil {
		return nil, err
	}
	p := &ironstatePower{policy: powersync.Policy{ForgetUnread: !life.Documented}, bmc: server}
	p.record = powersync.Record{ID: life.Name, ProvisionState: life.State, Power: life.Power, Maintenance: life.Maintenance}
	if life.Failed {
		p.record.LastError = earlierError
	}
	return p, nil
}

// rounds does one round of power sync more than a failing node has retries, then a round
// of recovery and a last round of power sync.
func (p *ironstatePower) rounds(ctx context.Context) (powerView, error) {
	const retries = 3 // power_state_sync_max_retries, by default
	for range retries + 1 {
		p.sync(ctx)
	}
	if powersync.SkipRecovery(p.record) == "" {
		record, action := powersync.DecideRecovery(p.record, p.read(ctx), p.recovering)
		p.record, p.recovering = record, action.Failures
	}
	p.sync(ctx)
	r := p.record
	return powerView{r.Power, p.bmc.Power(), r.Maintenance, r.Fault, whichError(r.LastError)}, ctx.Err()
}

func (p *ironstatePower) sync(ctx context.Context) {
	if powersync.SkipSync(p.record) != "" {
		return
	}
	record, action := powersync.Decide(p.record, p.read(ctx), p.syncing, p.policy)
	if action.Outcome == powersync.Forced {
		record, action = powersync.Settle(record, action, ipmitool{p.bmc}.SetPower(ctx, record.ID, action.Asked))
	}
	p.record, p.syncing = record, action.Failures
}

func (p *ironstatePower) read(ctx context.Context) (r powersync.Reading) {
	r.Power, r.Err = ipmitool{p.bmc}.PowerState(ctx, p.record.ID)
	return r
}

// ipmitool is a [powersync.Driver] that runs the program ipmitool.
type ipmitool struct{ bmc *bmctest.IPMI }

func (d ipmitool) PowerState(ctx context.Context, _ string) (states.Power, error) {
	said, err := d.run(ctx, "status")
	switch {
	case err != nil:
		return states.NoPower, err
	case strings.HasSuffix(said, "is on"):
		return states.PowerOn, nil
	case strings.HasSuffix(said, "is off"):
		return states.PowerOff, nil
	default:
		return states.PowerError, nil
	}
}

func (d ipmitool) SetPower(ctx context.Context, _ string, power states.Power) error {
	request, ok := map[states.Power]string{states.PowerOn: "on", states.PowerOff: "off"}[power]
	if !ok {
		return errors.ErrUnsupported
	}
	_, err := d.run(ctx, request)
	return err
}

func (d ipmitool) run(ctx context.Context, request string) (string, error) {
	cmd := exec.CommandContext(ctx, "ipmitool", "-I", "lanplus", "-C", cipher, "-N", "1", "-R", "2",
		"-H", d.bmc.Host, "-p", strconv.Itoa(d.bmc.Port), "-U", user, "-E", "power", request)
	cmd.Env = append(cmd.Environ(), "IPMI_PASSWORD="+password)
	said, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ipmitool power %s: %w", request, err)
	}
	return strings.TrimSpace(string(said)), nil
}

// comparePowerRequests requests every power state in every provision state, for a node
// that is on and one that is off, and compares the result with [powersync.Accept] and its siblings.
func comparePowerRequests(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "API: power requests, and the power state recorded after them"}
	uuid, err := i.newNode(ctx)
	if err != nil {
		return c, err
	}
	if _, err := i.database.write(uuid, columns{"power_interface": "fake"}); err != nil {
		return c, err
	}
	for state := range i.table().States().All() {
		for _, power := range []states.Power{states.PowerOn, states.PowerOff} {
			for target := states.PowerOn; target <= states.PowerError; target++ {
				want, err := i.requestPower(ctx, uuid, i.inState(state), power, target)
				if err != nil {
					return c, err
				}
				got, err := requestPower(state, power, target)
				if err != nil {
					return c, err
				}
				c.compare(want, got, "%v of a node in %v that is at %v", target, state, power)
			}
		}
	}
	return c, nil
}

// requestPower requests a power state from Ironic, and returns the status of the answer
// and the power state that is recorded in the end.
func (i *Ironic) requestPower(
	ctx context.Context, uuid string, at machine.Node, power, target states.Power,
) (string, error) {
	set := columnsOf(at)
	set["power_state"] = power
	if _, err := i.database.write(uuid, set); err != nil {
		return "", err
	}
	answer, err := i.Client.Power(ctx, i.newest(), uuid, target)
	if err != nil {
		return "", err
	}
	return sleep.Until(ctx, 2*time.Millisecond, func() (string, bool, error) {
		r, err := i.database.read(uuid)
		return fmt.Sprintf("%d, then %v", answer.Status, r.Power), r.Reservation == "" && r.TargetPower == states.NoPower, err
	})
}

// requestPower is [Ironic.requestPower] for the rules of package powersync, on hardware
// that reaches a requested power state at once.
func requestPower(state states.State, power, target states.Power) (string, error) {
	r := powersync.Record{ID: "node", ProvisionState: state, Power: power}
	accepted, err := powersync.Accept(r, target)
	var refused *powersync.RefusedError
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("%d, then %v", http.StatusBadRequest, r.Power), nil
	case err != nil:
		return "", err
	}
	reading := powersync.Reading{Power: power}
	asked, err := powersync.DecideRequest(target, reading)
	if err != nil {
		return "", err
	}
	if asked != states.NoPower {
		reading.Power = asked.Target()
	}
	if reading.Power != accepted.TargetPower {
		err = powersync.ErrNotReached
	}
	r, _ = powersync.SettleRequest(accepted, target, err)
	return fmt.Sprintf("%d, then %v", http.StatusAccepted, r.Power), nil
}
