// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// withSilent is a membership whose other member, of the conductor group "silent", answers nothing.
type withSilent struct{}

func (withSilent) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		if yield([]conductor.Member{self, {ID: "1", Hostname: "beta", Group: "silent", Drivers: self.Drivers}}, nil) {
			<-ctx.Done()
		}
	}
}

func (withSilent) Alive(context.Context, string) (bool, error) { return true, nil }

func (withSilent) Holds(string) bool { return true }

// slow is hardware whose boot device is being set until the context ends.
type slow struct{ *conductor.Fake }

func (slow) SetBootDevice(ctx context.Context, _ *conductor.Node, _ string, _ bool) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// A client waits less for a call of slow hardware, or of another conductor, than the server may take to answer.
func TestTheServerAnswersAfterTheSlowestCallOfAConductor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		c, err := conductor.New(conductor.Config{
			Store: &conductor.Memory{}, Membership: withSilent{}, Name: "alpha", SkipPowerSync: true,
			Hardware: map[string]conductor.Hardware{"slow": slow{&conductor.Fake{}}},
		})
		require.NoError(t, err)
		go func() { _ = c.Run(ctx) }()
		require.NoError(t, c.Ready(ctx))
		for _, group := range []string{"", "silent"} {
			n, err := c.CreateNode(ctx, &conductor.Node{Driver: "slow", ConductorGroup: group, ProvisionState: states.Enroll})
			require.NoError(t, err)
			begin := time.Now()
			require.Error(t, c.SetBootDevice(ctx, n.UUID, "pxe", true))
			require.Greater(t, time.Since(begin), time.Minute, group)
			require.Less(t, time.Since(begin), writeTimeout, group)
		}
	})
}
