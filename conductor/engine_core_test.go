// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

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

func TestARequestIsToldWhyItGetsNoWorker(t *testing.T) {
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}, Workers: 1})
	require.NoError(t, err)
	e, pool := c.engine, c.engine.pool
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, e.takeWorker(t.Context(), "a"))
	err = e.takeWorker(ended, "a")
	require.ErrorIs(t, err, Locked)
	require.EqualError(t, err, "node a is locked: a worker is busy with it")
	err = e.takeWorker(t.Context(), "b")
	require.ErrorIs(t, err, NoWorker)
	require.EqualError(t, err, "no worker is free: all 1 are busy")
	pool.Free("a")
	pool.Close(time.Minute, nil)
	err = e.takeWorker(t.Context(), "a")
	require.ErrorIs(t, err, NoWorker)
	require.ErrorIs(t, err, errShutdown)
	require.EqualError(t, err, "no worker is free: the conductor was stopped")
}

// A call travels by the method's name in the store, also between conductors of different releases.
func TestEachMethodThatConductorsCallKeepsItsName(t *testing.T) {
	require.Equal(t, []string{
		"attach virtual media", "boot device", "boot devices", "detach virtual media", "heartbeat", "indicator state", "indicators",
		"inject nmi", "provision", "set boot device", "set boot mode", "set power", "set secure boot", "validate", "vendor",
		"vendor methods", "virtual media",
	}, slices.Sorted(maps.Keys(ownerMethods)))
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	declared := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		declared += len(regexp.MustCompile(`(?m)^\s*(?:var )?\w+ += forOwner`).FindAll(text, -1))
	}
	require.Len(t, ownerMethods, declared, "no two methods have the same name")
}
