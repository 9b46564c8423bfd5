// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestARoundTellsThatTheNodesCannotBeListed(t *testing.T) {
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // before the index of the nodes is complete
	var errs []error
	for _, err := range (powerRounds{c.engine}).Records(ctx) {
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	require.ErrorIs(t, errs[0], context.Canceled)
}

func TestEachOperationOnANodeWhoseHardwareTypeIsMissingFails(t *testing.T) {
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
	require.NoError(t, err)
	n := &Node{Driver: "another"}
	hardware := c.engine.task(n).hardware
	_, verify := hardware.Verify(t.Context(), n)
	_, read := hardware.PowerState(t.Context(), n)
	for _, err := range []error{verify, read, hardware.SetPower(t.Context(), n, states.PowerOn), hardware.Validate(n)["power"]} {
		require.ErrorIs(t, err, Invalid)
		require.ErrorContains(t, err, `"another"`)
	}
}
