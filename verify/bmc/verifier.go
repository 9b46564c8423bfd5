// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// verifier verifies one BMC.
type verifier struct{ config Config }

// New returns the [verify.Verifier] of a BMC. It does not contact the BMC. An invalid configuration, such as the zero
// Config, is a [*verify.Error] of the kind [verify.Misconfigured].
//
// The Verifier is safe for concurrent use; each call of Verify opens and closes its own connections and session. Its
// errors hold a [*verify.Error]; if both protocols were tried, IPMI's error comes first.
func New(c Config) (verify.Verifier, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return &verifier{config: c}, nil
}

func (v *verifier) Verify(ctx context.Context) (states.Power, error) {
	c := v.config
	ctx, cancel := c.begin(ctx, false)
	defer cancel()
	conn, err := c.open(ctx, verifyLogin)
	if err != nil {
		return states.NoPower, err
	}
	defer closeConnection(ctx, conn, c.Log)
	return c.verify(ctx, conn)
}

// verify does the steps of a verification that follow the log-in.
func (c Config) verify(ctx context.Context, conn connection) (power states.Power, err error) {
	if c.CheckManagement {
		if err := step(ctx, conn, c.StepTimeout, "management interface", conn.checkManagement); err != nil {
			return states.NoPower, err
		}
	}
	if err := step(ctx, conn, c.StepTimeout, "power state", func(ctx context.Context) error {
		power, err = readPower(ctx, conn)
		return err
	}); err != nil {
		return states.NoPower, err
	}
	return power, nil
}
