// SPDX-License-Identifier: Apache-2.0

package hardwaretest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// checkLife lets a conductor verify the machine, adopt it, switch it on and off, and tear it down.
func (t *tester) checkLife(ctx context.Context) error {
	c, err := conductor.New(conductor.Config{
		Store: new(conductor.Memory), Hardware: map[string]conductor.Hardware{t.node.Driver: t.Hardware}, SkipPowerSync: true,
		CheckInterval: 50 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(running) }()
	err = t.live(ctx, c)
	stop()
	if failure := <-ended; !errors.Is(failure, context.Canceled) {
		err = errors.Join(err, failure)
	}
	return err
}

func (t *tester) live(ctx context.Context, c *conductor.Conductor) error {
	if err := c.Ready(ctx); err != nil {
		return err
	}
	n := t.node.Clone()
	n.ProvisionState, n.AutomatedClean = states.Enroll, new(bool)
	n, err := c.CreateNode(ctx, n)
	if err != nil {
		return err
	}
	for _, move := range []struct {
		word string
		want states.State
	}{{"manage", states.Manageable}, {"adopt", states.Active}, {"", states.Active}, {"deleted", states.Available}} {
		if move.word == "" {
			if err := switchPower(ctx, c, n.UUID); err != nil {
				return err
			}
			continue
		}
		request := conductor.ProvisionRequest{Target: move.word, Version: c.Table().Series().MaxAPIVersion()}
		if err := c.Provision(ctx, n.UUID, request); err != nil {
			return fmt.Errorf("%s: %w", move.word, err)
		}
		now, err := settled(ctx, c, n.UUID)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", move.word, err)
		case now.ProvisionState != move.want || now.LastError != "":
			return fmt.Errorf("%s ends in %s, want %s: %s", move.word, now.ProvisionState, move.want, now.LastError)
		}
		if err := refusesAbsent(ctx, c, now); err != nil {
			return err
		}
	}
	return nil
}

// refusesAbsent requests the work of a hardware interface that a node lacks. It is refused, and the node does not move.
func refusesAbsent(ctx context.Context, c *conductor.Conductor, n *conductor.Node) error {
	work, known := map[states.State]states.Work{states.Manageable: states.WorkInspect, states.Active: states.WorkRescue}[n.ProvisionState]
	if d, _ := c.Description(n.Driver); !known || d.Has(n, needed[work]) {
		return nil
	}
	request := conductor.ProvisionRequest{Target: work.String(), Version: c.Table().Series().MaxAPIVersion(), RescuePassword: "hardwaretest"}
	if err := c.Provision(ctx, n.UUID, request); !errors.Is(err, conductor.Unsupported) {
		return fmt.Errorf("%s without such an interface: %v, want an error that matches conductor.Unsupported", work, err)
	}
	now, err := settled(ctx, c, n.UUID)
	if err == nil && (now.ProvisionState != n.ProvisionState || now.LastError != "") {
		err = fmt.Errorf("%s was refused, and the node is in %s: %s", work, now.ProvisionState, now.LastError)
	}
	return err
}

// switchPower requests power states of a conductor.
func switchPower(ctx context.Context, c *conductor.Conductor, id string) error {
	for _, power := range []states.Power{states.PowerOn, states.PowerRebooting, states.PowerOff, states.PowerOn} {
		if err := c.SetPower(ctx, id, power, 0); err != nil {
			return fmt.Errorf("%s: %w", power, err)
		}
		now, err := settled(ctx, c, id)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", power, err)
		case now.Power != power.Target() || now.LastError != "":
			return fmt.Errorf("%s ends with %s: %s", power, now.Power, now.LastError)
		}
	}
	return nil
}

// settled waits until no process works on a node.
func settled(ctx context.Context, c *conductor.Conductor, id string) (*conductor.Node, error) {
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
