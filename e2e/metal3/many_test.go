// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"sync"
	"testing"

	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

// TestTwentyHostsAtOnce takes twenty hosts through their lives at the same time, with a client for each: the
// provisioners of one factory share a client, whose microversion each of them sets.
func TestTwentyHostsAtOnce(t *testing.T) {
	needs.Time(t)
	url := serveAPI(t, conductor.Config{}, &front{})
	image := agenttest.Image(4<<20, 7)
	var wait sync.WaitGroup
	for number := range 20 {
		s := newSite(t, url, number, nil)
		wait.Go(func() {
			if !s.live(image) {
				t.Errorf("host %d: %+v", number, s.node())
			}
		})
	}
	wait.Wait()
}

// live takes the host through a life and reports whether it came to its end.
func (s *site) live(image []byte) (ended bool) {
	require.Empty(s, s.register(false))
	details, message := s.inspect(false)
	require.Empty(s, message)
	require.Equal(s, s.mac, details.NIC[0].MAC)
	require.Empty(s, s.prepare(provisioner.PrepareData{}, false))
	require.Empty(s, s.rawImage(image))
	s.requireState(states.Active)
	s.requireRunning("disk")
	s.deprovision()
	require.Empty(s, s.delete())
	require.Nil(s, s.node())
	return true
}
