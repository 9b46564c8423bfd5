// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

func TestAConductorWhoseNameAnotherOneHasIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, members := &conductor.Memory{}, newLocalMembership()
		run := func() (c *conductor.Conductor, stop func()) {
			c, err := conductor.New(conductor.Config{
				Store: store, Membership: members, Name: "alpha", Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
			})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error)
			go func() { done <- c.Run(ctx) }()
			return c, func() { cancel(); require.ErrorIs(t, <-done, context.Canceled) }
		}
		first, stopFirst := run()
		require.NoError(t, first.Ready(t.Context()))
		second, stopSecond := run()
		defer stopSecond()
		err := second.Ready(t.Context())
		require.ErrorIs(t, err, conductor.ErrNameTaken)
		require.ErrorContains(t, err, "conductor alpha: another conductor with this name is alive")
		require.NoError(t, first.Ready(t.Context()))

		stopFirst()
		synctest.Wait()
		for second.Stats().Joins == 0 { // it goes on to try
			bubble.Sleep(time.Second)
		}
		require.NoError(t, second.Ready(t.Context()))
	})
}

// unavailable is an error for clients.
type unavailable struct{ error }

func (unavailable) HTTPStatus() int { return 503 }

func TestARequestToAConductorThatIsNoMemberIsToldWhyIfClientsMayKnow(t *testing.T) {
	for reason, told := range map[error]string{
		unavailable{errors.New("no majority")}:                                  ": no majority",
		fmt.Errorf("dial 10.0.0.1: %w", unavailable{errors.New("no majority")}): ": no majority",
		errors.New("dial 10.0.0.1"):                                             "",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{steps: make(chan scriptStep)}
			f := start(t, func(c *conductor.Config) {
				c.Membership = s
				go func() { s.steps <- scriptStep{} }()
			})
			n := f.node(states.Enroll)
			s.steps <- scriptStep{err: reason}
			synctest.Wait()
			err := f.Provision(f.ctx, n.UUID, conductor.ProvisionRequest{Target: "manage"})
			require.EqualError(t, err, "no worker is free: conductor alpha is not running or has lost its membership"+told)
			require.ErrorIs(t, err, conductor.NoWorker)
			require.Equal(t, 503, conductor.HTTPStatus(err))
		})
	}
}
