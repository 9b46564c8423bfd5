// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// hangsFrom makes a method of a defective hardware type hang from one of its calls on, until the test ends.
func (d *defective) hangsFrom(t *testing.T, method string, call int) {
	release, calls := make(chan struct{}), atomic.Int32{}
	t.Cleanup(func() { close(release) })
	d.breaks(method, func() {
		if int(calls.Add(1)) > call {
			<-release
		}
	})
}

// A node is not kept by a hardware type that begins to hang at any time before the agent is booted.
func TestWorkFailsWheneverAMethodThatTellsOfTheAgentBeginsToHang(t *testing.T) {
	for _, test := range []struct {
		method        string
		from          states.State
		target        string
		fails, passed states.State
	}{
		{"UsesAgent", states.Available, "active", states.DeployFail, states.DeployWait},
		{"WritesImage", states.Available, "active", states.DeployFail, states.DeployWait},
		{"UsesAgent", states.Manageable, "provide", states.CleanFail, states.CleanWait},
	} {
		failed, passed := 0, false
		for call := 0; !passed; call++ {
			synctest.Test(t, func(t *testing.T) {
				f, hardware := startDefective(t)
				n := f.create(conductor.Node{
					ProvisionState: test.from, Driver: "fake-hardware", Power: states.PowerOff,
					Interfaces: map[string]string{"deploy": "direct"}, InstanceInfo: instanceInfo(),
				})
				hardware.hangsFrom(t, test.method, call)
				require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision(test.target)))
				bubble.Sleep(time.Minute)
				n, err := f.Node(f.ctx, n.UUID)
				require.NoError(t, err)
				require.Empty(t, n.Reservation, "%v: call %d", test, call)
				if passed = n.ProvisionState == test.passed; !passed {
					failed++
					require.Equal(t, test.fails, n.ProvisionState, "%v: call %d", test, call)
					require.Contains(t, n.LastError, "the call does not return", "%v: call %d", test, call)
				}
			})
		}
		require.Positive(t, failed, test)
	}
}
