// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// errDead is returned to a process that has died.
var errDead = errors.New("the process has died")

// mortal is a process that dies at one of its actions: a write of a record, a change of the machine, or a request to
// the agent. It dies before the action or after it, and then does not learn its result.
type mortal struct {
	conductor.Store
	actions atomic.Int32 // until the last one
	acts    bool         // the last action is done
	dead    atomic.Bool
}

func (p *mortal) do(act func() error) error {
	if p.dead.Load() {
		return errDead
	}
	if p.actions.Add(-1) != 0 {
		return act()
	}
	p.dead.Store(true)
	if p.acts {
		_ = act()
	}
	return errDead
}

func (p *mortal) Update(ctx context.Context, r conductor.Record) (revision int64, err error) {
	err = p.do(func() (err error) { revision, err = p.Store.Update(ctx, r); return err })
	return revision, err
}

// mortalConn is a connection of a process to the agent.
type mortalConn struct {
	net.Conn
	process *mortal
}

func (c mortalConn) Write(b []byte) (n int, err error) {
	err = c.process.do(func() (err error) { n, err = c.Conn.Write(b); return err })
	return n, err
}

func (c mortalConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.process.dead.Load() {
		return 0, errDead
	}
	return n, err
}

// bootable is a machine with a CD drive and a disk. It outlives the conductors.
type bootable struct {
	mu    sync.Mutex
	on    bool
	cd    bool // the ramdisk's CD is inserted
	boots int
}

func (b *bootable) set(change func(*bootable)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

func (b *bootable) state() (on, cd bool, boots int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.on, b.cd, b.boots
}

// booter is the hardware type of a bootable machine, as one process has it.
type booter struct {
	*conductor.Fake
	machine *bootable
	process *mortal
}

func (b booter) change(change func(*bootable)) error {
	return b.process.do(func() error { b.machine.set(change); return nil })
}

func (b booter) Describe() conductor.Description {
	d := b.Fake.Describe()
	d.Simulated, d.Interfaces["rescue"] = false, []string{"agent"}
	return d
}

func (b booter) UsesAgent(n *conductor.Node, work states.Work) bool {
	return work == states.WorkRescue || b.Fake.UsesAgent(n, work)
}

func (b booter) PowerState(context.Context, *conductor.Node) (states.Power, error) {
	on, _, _ := b.machine.state()
	if b.process.dead.Load() {
		return states.NoPower, errDead
	}
	return powerOf(on), nil
}

func powerOf(on bool) states.Power {
	if on {
		return states.PowerOn
	}
	return states.PowerOff
}

func (b booter) SetPower(_ context.Context, _ *conductor.Node, power states.Power) error {
	return b.change(func(m *bootable) {
		if m.on = power.Target() == states.PowerOn; m.on {
			m.boots++
		}
	})
}

func (b booter) BootAgent(ctx context.Context, t *conductor.Task) error {
	if err := b.change(func(m *bootable) { m.cd = true }); err != nil {
		return err
	}
	return t.SetPower(ctx, states.PowerRebooting)
}

func (b booter) CleanUpAgent(context.Context, *conductor.Task) error {
	return b.change(func(m *bootable) { m.cd = false })
}

func (b booter) PrepareInstance(ctx context.Context, t *conductor.Task) error {
	return b.CleanUpAgent(ctx, t)
}

func (b booter) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	switch work {
	case states.WorkRescue:
		return []conductor.Step{{Interface: "rescue", Step: "rescue", Priority: 100, Run: func(ctx context.Context, t *conductor.Task) error {
			return errors.Join(b.BootAgent(ctx, t), conductor.ErrWait)
		}}}
	case states.WorkUnrescue:
		return []conductor.Step{{Interface: "rescue", Step: "unrescue", Priority: 100, Run: func(ctx context.Context, t *conductor.Task) error {
			if err := b.PrepareInstance(ctx, t); err != nil {
				return err
			}
			return t.SetPower(ctx, states.PowerRebooting)
		}}}
	case states.WorkClean, states.WorkDeploy, states.WorkService:
		return nil // the agent has them
	}
	return b.Fake.Steps(n, work)
}
