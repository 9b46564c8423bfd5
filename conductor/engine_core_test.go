// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
func TestEachRequestThatConductorsLeaveToOneAnotherKeepsItsName(t *testing.T) {
	requests := map[string]string{
		"attach virtual media": "attachMediaRequest",
		"boot device":          "bootDeviceRequest",
		"boot devices":         "bootDevicesRequest",
		"detach virtual media": "detachMediaRequest",
		"heartbeat":            "Heartbeat",
		"indicator state":      "indicatorRequest",
		"indicators":           "indicatorsRequest",
		"inject nmi":           "nmiRequest",
		"provision":            "ProvisionRequest",
		"set boot device":      "setBootDeviceRequest",
		"set boot mode":        "bootModeRequest",
		"set power":            "powerRequest",
		"set secure boot":      "secureBootRequest",
		"validate":             "validateRequest",
		"vendor":               "vendorRequest",
		"vendor methods":       "vendorMethodsRequest",
		"virtual media":        "mediaRequest",
	}
	c := &calls{config: &Config{Name: "a"}}
	for method, request := range requests {
		_, err := c.carryOut(t.Context(), call{Method: method, Args: json.RawMessage("1")})
		require.EqualError(t, err, fmt.Sprintf("decode the arguments of the request %q: "+
			"json: cannot unmarshal number into Go value of type conductor.%s", method, request))
	}
	_, err := c.carryOut(t.Context(), call{Method: "inspect"})
	require.EqualError(t, err, `conductor a has no method "inspect"`)
	require.ErrorIs(t, err, Unsupported)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	declared := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		declared += len(regexp.MustCompile(`(?m)^func \(\w+\) method\(\) string {`).FindAll(text, -1))
	}
	require.Len(t, requests, declared, "each request is carried out for other conductors")
}
