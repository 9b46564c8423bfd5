// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/internal/index"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

// requireCounted fails the test unless an index counts its nodes by state as a pass over all of
// them does.
func requireCounted(t require.TestingT, x *index.Index[*conductor.Node]) {
	counts := map[states.State]int{}
	for _, n := range x.All() {
		counts[n.ProvisionState]++
	}
	for state := range states.Latest().Table().States().All() {
		count, err := x.Count(context.Background(), states.SetOf(state))
		require.NoError(t, err)
		require.Equal(t, counts[state], count, "nodes in %v", state)
	}
}

// fleetSize is the number of nodes for which the cost of a request is stated.
const fleetSize = 100_000

// manyNodes returns a running conductor with fleetSize nodes, one of which waits in its deployment.
func manyNodes(t testing.TB, maxDeploying int) *conductor.Conductor {
	c, err := conductor.New(conductor.Config{
		Store: &conductor.Memory{}, Name: "alpha", SkipPowerSync: true, MaxDeploying: maxDeploying,
		Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	require.NoError(t, c.Ready(ctx))
	stored, x := func() error { return nil }, conductor.IndexOf(c)
	for i := range fleetSize {
		state := states.Active
		if i == 0 {
			state = states.DeployWait
		}
		require.NoError(t, x.Create(&conductor.Node{
			UUID:           fmt.Sprintf("%08x-0000-4000-8000-000000000000", i),
			ProvisionState: state,
			Driver:         "fake-hardware",
			Revision:       1,
		}, stored, nil))
	}
	return c
}

// available stores nodes that can be deployed. No conductor has their group, so that nobody does
// the work of a deployment.
func available(t testing.TB, c *conductor.Conductor, count int) []string {
	ids := make([]string, count)
	for i := range ids {
		n, err := c.CreateNode(t.Context(), &conductor.Node{
			Driver: "fake-hardware", ProvisionState: states.Available, Power: states.PowerOff, ConductorGroup: "none",
		})
		require.NoError(t, err)
		ids[i] = n.UUID
	}
	return ids
}

func deploy(t testing.TB, c *conductor.Conductor, ids []string, want error) {
	for _, id := range ids {
		err := c.Provision(t.Context(), id, conductor.ProvisionRequest{Target: "active", Version: states.Latest().MaxAPIVersion()})
		if !errors.Is(err, want) {
			t.Fatal(err)
		}
	}
}

// deployments are the limits of concurrent deployments for which a request is measured, and the
// request's error.
var deployments = map[string]struct {
	limit int
	err   error
}{
	"accepted":             {math.MaxInt, nil},
	"refused at the limit": {1, conductor.LimitReached},
}

// BenchmarkDeploymentRequest measures a deployment request in a fleet of fleetSize nodes.
func BenchmarkDeploymentRequest(b *testing.B) {
	for name, of := range deployments {
		c := manyNodes(b, of.limit)
		b.Run(name, func(b *testing.B) {
			ids := available(b, c, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			deploy(b, c, ids, of.err)
		})
	}
}

// leastAllocated returns the bytes that a call allocates, the least of five calls, since the conductor checks its nodes
// meanwhile. The function prepares a call.
func leastAllocated(prepare func() func()) uint64 {
	least := uint64(math.MaxUint64)
	for range 5 {
		do := prepare()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

func TestADeploymentRequestIn100000NodesAllocates10kBAtMost(t *testing.T) {
	needs.Time(t)
	for name, of := range deployments {
		c := manyNodes(t, of.limit)
		require.LessOrEqual(t, leastAllocated(func() func() {
			ids := available(t, c, 100)
			return func() { deploy(t, c, ids, of.err) }
		})/100, uint64(10_000), name)
	}
}

// pageOf reads a page of 10 nodes without a parent in the middle of the fleet.
func pageOf(t testing.TB, c *conductor.Conductor) {
	nodes, err := c.NodesIn(t.Context(), conductor.Range{Of: new(string), After: fmt.Sprintf("%08x-0000-4000-8000-000000000000", fleetSize/2)})
	require.NoError(t, err)
	count := 0
	for range nodes {
		if count++; count == 10 {
			return
		}
	}
	t.Fatal("the page is not full")
}

// BenchmarkPage measures a page of the list of fleetSize nodes.
func BenchmarkPage(b *testing.B) {
	c := manyNodes(b, math.MaxInt)
	b.ReportAllocs()
	for b.Loop() {
		pageOf(b, c)
	}
}

func TestAPageOf100000NodesDoesNotCopyTheFleet(t *testing.T) {
	needs.Time(t)
	c := manyNodes(t, math.MaxInt)
	page := func() { pageOf(t, c) }
	require.LessOrEqual(t, leastAllocated(func() func() { return page }), uint64(10_000))
}
