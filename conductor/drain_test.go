// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// A conductor reads a kind of objects when it is asked for one, which may be after the end of Run has begun.
func TestWorkOfAConductorThatStopsReadsWhatNothingHasReadBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		hardware := &keeping{&conductor.Fake{}, func(ctx context.Context, task *conductor.Task) error {
			<-goOn
			inventory := map[string]any{"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:0a"}}}
			return task.StoreInspection(ctx, inventory, nil, nil, func(*conductor.Node) {})
		}}
		c, err := conductor.New(conductor.Config{
			Store: &conductor.Memory{}, Name: "alpha", ShutdownTimeout: time.Hour, Log: slog.New(slog.DiscardHandler),
			Hardware: map[string]conductor.Hardware{"fake-hardware": hardware},
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		require.NoError(t, c.Ready(ctx))
		n, err := c.CreateNode(ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Manageable})
		require.NoError(t, err)
		require.NoError(t, c.Provision(ctx, n.UUID, conductor.ProvisionRequest{Target: "inspect", Version: states.Latest().MaxAPIVersion()}))
		synctest.Wait()
		stop()
		bubble.Sleep(time.Minute)
		close(goOn)
		<-done
		n, err = c.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
		ports, err := c.ObjectsOf(t.Context(), conductor.KindPort, n.UUID)
		require.NoError(t, err)
		require.Len(t, ports, 1)
	})
}

func TestAConductorThatStopsEndsItsWorkWhileTheOthersTakeItsOtherNodes(t *testing.T) {
	for name, membership := range map[string]func() conductor.Membership{
		"drains":      func() conductor.Membership { return newLocalMembership() },
		"only leaves": func() conductor.Membership { return struct{ conductor.Membership }{newLocalMembership()} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, members := new(conductor.Memory), membership()
				run := func(name string) (*conductor.Conductor, func()) {
					fake := &conductor.Fake{Before: func(ctx context.Context, _ *conductor.Node, operation string) error {
						if operation == "deploy.deploy" {
							sleep.For(ctx, 20*time.Minute)
						}
						return ctx.Err()
					}}
					c, err := conductor.New(conductor.Config{
						Store: store, Membership: members, Name: name, SkipPowerSync: true, ShutdownTimeout: 30 * time.Minute,
						Hardware: map[string]conductor.Hardware{"fake-hardware": fake}, Log: slog.New(slog.DiscardHandler),
					})
					require.NoError(t, err)
					ctx, cancel := context.WithCancel(context.Background())
					done := make(chan error)
					go func() { done <- c.Run(ctx) }()
					synctest.Wait()
					return c, func() { cancel(); <-done }
				}
				alpha, stopAlpha := run("alpha")
				beta, stopBeta := run("beta")
				defer stopBeta()
				alphas := func() *conductor.Node { // a node of alpha's
					for {
						n, err := alpha.CreateNode(t.Context(), &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Available})
						require.NoError(t, err)
						synctest.Wait()
						if owner, ok := alpha.Owner(n); ok && owner.Hostname == "alpha" {
							return n
						}
					}
				}
				busy, idle := alphas(), alphas()
				request := conductor.ProvisionRequest{Target: "active", Version: states.Latest().MaxAPIVersion()}
				require.NoError(t, alpha.Provision(t.Context(), busy.UUID, request))
				synctest.Wait()
				stopped := make(chan struct{})
				go func() { stopAlpha(); close(stopped) }()
				bubble.Sleep(time.Minute)
				owner, ok := beta.Owner(idle)
				require.True(t, ok)
				require.Equal(t, map[string]string{"drains": "beta", "only leaves": "alpha"}[name], owner.Hostname)
				bubble.Sleep(10 * time.Minute)
				n, err := beta.Node(t.Context(), busy.UUID)
				require.NoError(t, err)
				require.Equal(t, states.Deploying, n.ProvisionState, n.LastError)
				require.Equal(t, "alpha", n.Reservation)
				<-stopped
				bubble.Sleep(time.Second)
				n, err = beta.Node(t.Context(), busy.UUID)
				require.NoError(t, err)
				require.Equal(t, states.Active, n.ProvisionState, n.LastError)
				owner, ok = beta.Owner(busy)
				require.True(t, ok)
				require.Equal(t, "beta", owner.Hostname)
			})
		})
	}
}
