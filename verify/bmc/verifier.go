// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// verifier verifies one BMC.
type verifier struct{ config Config }

// New returns the [verify.Verifier] of a BMC. It does not contact the BMC. An invalid
// configuration, such as the zero Config, is a [*verify.Error] of the kind
// [verify.Misconfigured].
//
// The Verifier is safe for concurrent use; each call of Verify opens and closes its own
// connections and session. Its errors hold a [*verify.Error]; if both protocols were
// tried, that of IPMI comes first. A nil context is an error of the kind
// verify.Misconfigured.
func New(c Config) (verify.Verifier, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return &verifier{config: c}, nil
}

func (v *verifier) Verify(ctx context.Context) (states.Power, error) {
	ctx, cancel := context.WithTimeout(ctx, v.config.Timeout)
	defer cancel()

	var power states.Power
	err := v.config.overProtocols(func(c control) (err error) {
		power, err = ask(ctx, c, v.config)
		return err
	})
	return power, err
}

// ask does the steps over one connection.
func ask(ctx context.Context, conn connection, c Config) (power states.Power, err error) {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	defer closeConnection(ctx, conn)
	for _, step := range []struct {
		name string
		take func(context.Context) error
		skip bool
	}{
		{name: "power interface", take: conn.open},
		{name: "management interface", take: conn.checkManagement, skip: c.SkipManagement},
		{name: "power state", take: func(ctx context.Context) error {
			power, err = readPower(ctx, conn)
			return err
		}},
	} {
		if step.skip {
			continue
		}
		if err := do(ctx, conn, c.StepTimeout, step.name, step.take); err != nil {
			return states.NoPower, err
		}
	}
	return power, nil
}

func readPower(ctx context.Context, conn connection) (states.Power, error) {
	word, err := conn.powerState(ctx)
	if err != nil {
		return states.NoPower, err
	}
	return parsePower(word)
}
