// SPDX-License-Identifier: Apache-2.0

package powersync_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// instant is hardware that answers at once.
type instant struct{}

func (instant) PowerState(context.Context, string) (states.Power, error) {
	return states.PowerOn, nil
}
func (instant) SetPower(context.Context, string, states.Power) error { return nil }

// TestARoundLetsOthersHaveTheProcessor counts how often another goroutine runs on the
// only processor. Without yielding it runs once in ten milliseconds.
func TestARoundLetsOthersHaveTheProcessor(t *testing.T) {
	const fleet = 10_000
	store := new(powersync.Memory)
	for i := range fleet {
		store.Put(powersync.Record{ID: fmt.Sprint(i), ProvisionState: states.Active, Power: states.PowerOn})
	}
	s, err := powersync.New(powersync.Config{Store: store, Driver: instant{}})
	require.NoError(t, err)

	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var over atomic.Bool
	turns := make(chan int)
	go func() {
		n := 0
		for ; !over.Load(); n++ {
			runtime.Gosched()
		}
		turns <- n
	}()
	report, err := s.Sync(context.Background())
	over.Store(true)
	require.NoError(t, err)
	require.Equal(t, fleet, report.Nodes[powersync.Equal])
	require.Greater(t, <-turns, fleet/20)
}
