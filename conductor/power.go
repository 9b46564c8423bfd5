package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// newSyncer returns the power sync of the conductor's nodes.
func (c *Conductor) newSyncer() (*powersync.Syncer, error) {
	config := c.config.Power
	config.Store, config.Driver = powerStore{c}, powerDriver{c}
	config.Name, config.Logger = c.config.Name, c.config.Log
	onEvent := config.OnEvent
	config.OnEvent = func(e powersync.Event) {
		c.history.power(e)
		if onEvent != nil {
			onEvent(e)
		}
	}
	return powersync.New(config)
}

// SetPower accepts a client's request to change a node's power state. It returns once the
// node is reserved and its target power state is stored; the API then responds with 202. The
// timeout bounds the wait for the power state; 0 stands for the configured timeout. The
// errors are those of [powersync.Syncer.Begin], or match [NotFound] or [Locked].
//
// Source: change_node_power_state in ironic/conductor/manager.py.
func (c *Conductor) SetPower(ctx context.Context, ident string, target states.Power, timeout time.Duration) error {
	if _, delegated, err := c.calls.delegate(ctx, ident, "set power", callArgs{Power: target, Timeout: timeout}); delegated {
		return err
	}
	t, err := c.currentSession()
	if err != nil {
		return err
	}
	return c.fleet.retryLocked(ctx, func() error {
		n, err := c.Node(ctx, ident)
		if err != nil {
			return err
		}
		if err := c.Rules().Power(n.Fields(), target); err != nil {
			return c.refused(n, err)
		}
		if err := c.pool.take(ctx, n.UUID); err != nil {
			return err
		}
		origin := c.origin(ctx)
		finish, err := c.syncer.Begin(ctx, n.UUID, target, timeout)
		if err != nil {
			c.pool.free(n.UUID)
			return c.powerError(n, err)
		}
		c.run.group.Go(func() {
			defer c.pool.free(n.UUID)
			err := c.traced(t.ctx, Operation{target.String(), n, origin}, finish)
			if err != nil {
				c.config.Log.Warn("power request failed", "node", n.UUID, "target", target, "error", err)
			}
		})
		return nil
	})
}

// powerError converts the power sync's error of a refused request to the conductor's.
func (c *Conductor) powerError(n *Node, err error) error {
	var refused *powersync.RefusedError
	switch {
	case errors.Is(err, powersync.ErrLocked):
		if locked := c.unlocked(n); locked != nil {
			return locked
		}
		return refuse(Locked, "Node %s is locked by host %s, please retry after the current operation is completed.", n.UUID, n.Conductor)
	case errors.As(err, &refused) && refused.PowerOffDisabled:
		return refuse(PowerOffDisabled, "Failed to set node power state of node %s: power off is disabled: %v", n.UUID, err)
	case errors.Is(err, powersync.ErrNotFound):
		return refuse(NotFound, "Node %s could not be found.", n.UUID)
	default:
		return err
	}
}

// powerDriver implements [powersync.Driver] on the conductor's hardware types.
type powerDriver struct{ c *Conductor }

func (d powerDriver) of(ctx context.Context, id string) (*Node, Hardware, error) {
	n, err := d.c.Node(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	hardware, err := d.c.hardware(n)
	return n, hardware, err
}

func (d powerDriver) PowerState(ctx context.Context, id string) (states.Power, error) {
	n, hardware, err := d.of(ctx, id)
	if err != nil {
		return states.NoPower, err
	}
	power := states.NoPower
	err = d.c.traced(ctx, Operation{Name: "read power", Node: n}, func(ctx context.Context) (err error) {
		power, err = hardware.PowerState(ctx, n)
		return err
	})
	return power, err
}

// SetPower implements [powersync.Driver]. The context of a round outlives the membership: SetPower
// ends with either.
func (d powerDriver) SetPower(ctx context.Context, id string, power states.Power) error {
	t, err := d.c.currentSession()
	if err != nil {
		return err
	}
	n, hardware, err := d.of(ctx, id)
	if err != nil {
		return err
	}
	if n.Claim != t.powerClaim() {
		return errLost
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })()
	if ctx, err = d.c.fenced(ctx, n); err != nil {
		return err
	}
	if power != states.PowerOn && n.knowsAgent() {
		_, _, err := d.c.fleet.edit(ctx, id, func(n *Node) error {
			if n.Claim != t.powerClaim() {
				return errLost
			}
			n.forgetBootedAgent()
			return nil
		})
		if err != nil {
			return err
		}
	}
	return d.c.traced(ctx, Operation{Name: "set " + power.String(), Node: n}, func(ctx context.Context) error {
		return hardware.SetPower(ctx, n, power)
	})
}

func (d powerDriver) Validate(ctx context.Context, id string) error {
	n, hardware, err := d.of(ctx, id)
	if err != nil {
		return err
	}
	return d.c.validate(hardware, n)["power"]
}

// powerStore implements [powersync.Store] on the nodes' records. A reservation belongs to the
// power sync if its claim has powerSuffix; the conductor's other reservations appear under
// another name, so that the power sync respects them.
type powerStore struct{ c *Conductor }

// Records implements [powersync.Store]. With SkipPowerSync it yields nothing: a round then
// only releases the nodes of power requests whose end could not be stored.
func (s powerStore) Records(ctx context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		if s.c.config.SkipPowerSync {
			return
		}
		nodes, err := s.c.Nodes(ctx)
		if err != nil {
			yield(powersync.Record{}, err)
			return
		}
		t, err := s.c.currentSession()
		if err != nil {
			return // not a member: other conductors own the nodes
		}
		for i, n := range nodes {
			if i%syncBatch == syncBatch-1 {
				sleep(ctx, syncPause)
			}
			if t.owns(n) && !yield(s.record(n), nil) {
				return
			}
		}
	}
}

// A round pauses for syncPause after each syncBatch nodes, which limits it to 25,600 nodes a
// second. Without the pauses a round over hardware that answers at once would occupy all
// processors and delay clients. A round over BMCs is slower than the limit anyway.
const (
	syncBatch = 256
	syncPause = 10 * time.Millisecond
)

func (s powerStore) Load(ctx context.Context, id string) (powersync.Record, error) {
	n, err := s.c.Node(ctx, id)
	if errors.Is(err, NotFound) {
		return powersync.Record{}, powersync.ErrNotFound
	}
	if err != nil {
		return powersync.Record{}, err
	}
	return s.record(n), nil
}

func (s powerStore) Update(ctx context.Context, r powersync.Record) error {
	t, err := s.c.currentSession()
	if err != nil {
		return err
	}
	old, err := s.c.Node(ctx, r.ID)
	if errors.Is(err, NotFound) {
		return powersync.ErrNotFound
	}
	if err != nil {
		return err
	}
	if old.Revision != r.Revision {
		return powersync.ErrConflict
	}
	n := old.Clone()
	if n.TargetPower != states.NoPower && r.TargetPower == states.NoPower && r.LastError == "" {
		n.powered(r.Power)
	}
	if r.Power == states.PowerOff && (old.Power != states.PowerOff || old.TargetPower != states.NoPower) {
		n.forgetBootedAgent()
	}
	n.Power, n.TargetPower = r.Power, r.TargetPower
	n.Maintenance, n.MaintenanceReason, n.Fault = r.Maintenance, r.MaintenanceReason, r.Fault
	n.LastError = r.LastError
	if before := s.record(old).Reservation; before != r.Reservation {
		n.Reservation, n.Claim = r.Reservation, ""
		if r.Reservation != "" {
			n.Claim, n.Conductor = t.powerClaim(), s.c.config.Name
		}
	}
	_, err = s.c.fleet.save(ctx, n)
	switch {
	case errors.Is(err, ErrConflict):
		return powersync.ErrConflict
	case errors.Is(err, ErrNotFound):
		return powersync.ErrNotFound
	default:
		return err
	}
}

// record returns the power sync's record of a node.
func (s powerStore) record(n *Node) powersync.Record {
	r := powersync.Record{
		ID: n.UUID, Name: n.Name, ProvisionState: n.ProvisionState, Power: n.Power, TargetPower: n.TargetPower,
		Maintenance: n.Maintenance, MaintenanceReason: n.MaintenanceReason, Fault: n.Fault,
		Reservation: n.Reservation, LastError: n.LastError, DisablePowerOff: n.DisablePowerOff,
		Revision: n.Revision,
	}
	if t, err := s.c.currentSession(); n.Reservation == s.c.config.Name && (err != nil || n.Claim != t.powerClaim()) {
		r.Reservation = fmt.Sprintf("%s, for other work", n.Reservation)
	}
	return r
}

// The exponential backoff between two reads of a power state: the first delay and the maximum.
const (
	firstPowerRead = 100 * time.Millisecond
	maxPowerRead   = 5 * time.Second
)

// reachPower sets the power state of a node and waits until the machine has it.
func (e *engine) reachPower(ctx context.Context, hardware Hardware, n *Node, power states.Power) error {
	want := power.Target()
	switch {
	case want == states.NoPower:
		return refuse(Invalid, "%v cannot be requested as a power state", power)
	case n.DisablePowerOff && want == states.PowerOff:
		return refuse(PowerOffDisabled, "%v of node %s is disabled by disable_power_off", power, n.UUID)
	}
	timeout := cmp.Or(e.config.Power.Timeout, time.Minute)
	if power == states.PowerSoftOff || power == states.PowerSoftRebooting {
		timeout = cmp.Or(e.config.Power.SoftTimeout, 10*time.Minute)
	}
	restart := power == states.PowerRebooting || power == states.PowerSoftRebooting
	if now, err := hardware.PowerState(ctx, n); err != nil && !restart {
		return err
	} else if now != want || restart {
		if err := hardware.SetPower(ctx, n, power); err != nil {
			return err
		}
	}
	begun := time.Now()
	for wait := firstPowerRead; ; wait = min(2*wait, maxPowerRead) {
		now, err := hardware.PowerState(ctx, n)
		switch {
		case err == nil && now == want:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(begun) <= timeout: // a BMC may be busy meanwhile
		case err != nil:
			return err
		default:
			return fmt.Errorf("%v was requested, but the power state is %v after %v", power, now, timeout)
		}
		sleep(ctx, wait)
	}
}
