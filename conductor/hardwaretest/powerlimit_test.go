// SPDX-License-Identifier: Apache-2.0

package hardwaretest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardwaretest"
	"github.com/ironstate/ironstate/states"
)

// limited is fake-hardware that says that it does not support soft rebooting, and refuses it if it is honest.
type limited struct {
	*broken
	honest bool
}

func (limited) SupportsPower(_ *conductor.Node, power states.Power) bool {
	return power != states.PowerSoftRebooting
}

func (l limited) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	if l.honest {
		return l.broken.SetPower(ctx, n, power)
	}
	return l.Fake.SetPower(ctx, n, power)
}

func TestAPowerStateIsSupportedIfAndOnlyIfTheHardwareSaysSo(t *testing.T) {
	check := func(hardware func(*broken) conductor.Hardware) error {
		c, f := newFake()
		b := newBroken(f)
		b.set = func(ctx context.Context, n *conductor.Node, power states.Power) error {
			if power == states.PowerSoftRebooting {
				return fmt.Errorf("there is none: %w", errors.ErrUnsupported)
			}
			return f.SetPower(ctx, n, power)
		}
		c.Hardware = hardware(b)
		return hardwaretest.Check(c)
	}
	for name, test := range map[string]struct {
		hardware func(*broken) conductor.Hardware
		want     string
	}{
		"honest": {func(b *broken) conductor.Hardware { return limited{b, true} }, ""},
		"silent": {
			func(b *broken) conductor.Hardware { return b },
			"soft rebooting matches errors.ErrUnsupported, which no SupportsPower says before",
		},
		"modest": {func(b *broken) conductor.Hardware { return limited{b, false} }, "soft rebooting is done, which SupportsPower denies"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := check(test.hardware); test.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.want)
			}
		})
	}
}
