// SPDX-License-Identifier: Apache-2.0

package hardwaretest

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

// checkLife lets a conductor verify the machine, adopt it, switch it on and off, and tear it down.
func (t *tester) checkLife(ctx context.Context) {
	c := try.Get(conductor.New(conductor.Config{
		Store: new(conductor.Memory), Hardware: map[string]conductor.Hardware{t.node.Driver: t.Hardware}, SkipPowerSync: true,
		CheckInterval: 50 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	}))
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(running) }()
	defer try.Finally(func() error {
		stop()
		if failure := <-ended; !errors.Is(failure, context.Canceled) {
			return failure
		}
		return nil
	})
	try.OK(c.Ready(ctx))
	n := t.node.Clone()
	n.ProvisionState, n.AutomatedClean = states.Enroll, new(bool)
	n = try.Get(c.CreateNode(ctx, n))
	moveTo(ctx, c, n.UUID, "manage", states.Manageable)
	moveTo(ctx, c, n.UUID, "adopt", states.Active)
	switchPower(ctx, c, n.UUID)
	moveTo(ctx, c, n.UUID, "deleted", states.Available)
}

// moveTo requests a provision state, and waits until the node has the state that is wanted.
func moveTo(ctx context.Context, c *conductor.Conductor, id, target string, want states.State) {
	request := conductor.ProvisionRequest{Target: target, Version: c.Table().Series().MaxAPIVersion()}
	try.OKf(c.Provision(ctx, id, request), "%s", target)
	now, err := waitIdle(ctx, c, id)
	try.OKf(err, "%s", target)
	if now.ProvisionState != want || now.LastError != "" {
		try.Failf("%s ends in %s, want %s: %s", target, now.ProvisionState, want, now.LastError)
	}
	checkAbsentInterface(ctx, c, now)
}

// checkAbsentInterface requests the work of a hardware interface that a node lacks. It is refused, and the node does
// not move.
func checkAbsentInterface(ctx context.Context, c *conductor.Conductor, n *conductor.Node) {
	work, known := map[states.State]states.Work{states.Manageable: states.WorkInspect, states.Active: states.WorkRescue}[n.ProvisionState]
	if d, _ := c.Description(n.Driver); !known || d.Has(n, kindNeededFor[work]) {
		return
	}
	request := conductor.ProvisionRequest{Target: work.String(), Version: c.Table().Series().MaxAPIVersion(), RescuePassword: "hardwaretest"}
	if err := c.Provision(ctx, n.UUID, request); !errors.Is(err, conductor.Unsupported) {
		try.Failf("%s without such an interface: %v, want an error that matches conductor.Unsupported", work, err)
	}
	if now := try.Get(waitIdle(ctx, c, n.UUID)); now.ProvisionState != n.ProvisionState || now.LastError != "" {
		try.Failf("%s was refused, and the node is in %s: %s", work, now.ProvisionState, now.LastError)
	}
}

// switchPower requests power states of a conductor.
func switchPower(ctx context.Context, c *conductor.Conductor, id string) {
	for _, power := range []states.Power{states.PowerOn, states.PowerRebooting, states.PowerOff, states.PowerOn} {
		try.OKf(c.SetPower(ctx, id, power, 0), "%s", power)
		now, err := waitIdle(ctx, c, id)
		try.OKf(err, "%s", power)
		if now.Power != power.Target() || now.LastError != "" {
			try.Failf("%s ends with %s: %s", power, now.Power, now.LastError)
		}
	}
}

// waitIdle waits until no process works on a node.
func waitIdle(ctx context.Context, c *conductor.Conductor, id string) (*conductor.Node, error) {
	for {
		n, err := c.Node(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case n.Reservation == "" && n.TargetPower == states.NoPower && n.CleanUp == nil && n.TargetProvisionState == states.NoState:
			return n, nil
		case n.LastError != "" && n.Reservation == "":
			return n, nil
		}
		time.Sleep(poll)
	}
}
