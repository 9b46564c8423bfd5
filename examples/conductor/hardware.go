package main

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
)

// logoutTimeout bounds the log-out of all BMCs when the program ends.
const logoutTimeout = 3 * time.Second

// newHardware returns the hardware types, and a function that logs out of the BMCs.
func newHardware(series states.Series, fakeDelay time.Duration, log *slog.Logger) (map[string]conductor.Hardware, func(), error) {
	redfish, err := hardware.NewRedfish(hardware.Config{Sessions: maxSessions})
	if err != nil {
		return nil, nil, err
	}
	ipmi, err := hardware.NewIPMI(hardware.Config{})
	if err != nil {
		return nil, nil, err
	}
	closeAll := func() {
		ctx, cancel := context.WithTimeout(context.Background(), logoutTimeout)
		defer cancel()
		_ = errors.Join(redfish.Close(ctx), ipmi.Close(ctx)) // an unreachable BMC expires its sessions itself
	}
	return map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{Series: series, Before: fakeOperation(fakeDelay, log)}, "redfish": redfish, "ipmi": ipmi}, closeAll, nil
}

// maxSessions bounds the Redfish sessions that stay open between two reads of the power state.
const maxSessions = 10_000

// fakeOperation returns the Before function of fake-hardware. Each operation except "read power"
// takes a random time below most and is logged at its start and end.
func fakeOperation(most time.Duration, log *slog.Logger) func(context.Context, *conductor.Node, string) error {
	return func(ctx context.Context, n *conductor.Node, operation string) error {
		if operation == "read power" {
			return nil
		}
		log := log.With("node", n.UUID, "operation", operation, "revision", n.Revision, "claim", n.Claim)
		log.Info("an operation begins")
		var err error
		if most > 0 {
			select {
			case <-time.After(rand.N(most)):
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		log.Info("an operation has ended", "error", err)
		return err
	}
}
