// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// hardOnly is hardware without soft power states.
type hardOnly struct{ *conductor.Fake }

func (hardOnly) SupportsPower(_ *conductor.Node, power states.Power) bool {
	return power != states.PowerSoftRebooting && power != states.PowerSoftOff
}

func TestAPowerStateThatTheDriverLacksIsRefusedBeforeAnythingBegins(t *testing.T) {
	touched := func(_ context.Context, _ *conductor.Node, operation string) error {
		t.Errorf("the hardware was asked for %q", operation)
		return nil
	}
	s := startWith(t, states.Latest(), api.Config{}, map[string]conductor.Hardware{"plain": hardOnly{&conductor.Fake{Before: touched}}})
	// The power sync leaves out nodes in enroll.
	id := s.have(&conductor.Node{Driver: "plain", ProvisionState: states.Enroll, Power: states.PowerOn, LastError: "an earlier one"})
	before := s.do("GET", "/v1/nodes/"+id, "latest", "").must(http.StatusOK)
	for _, target := range []string{"soft rebooting", "soft power off"} {
		answer := s.do("PUT", "/v1/nodes/"+id+"/states/power", "latest", `{"target": "`+target+`"}`)
		require.Equal(t, http.StatusBadRequest, answer.status)
		require.Equal(t, "The driver plain does not support the power state, "+target, answer.fault())
		require.Equal(t, before, s.do("GET", "/v1/nodes/"+id, "latest", "").must(http.StatusOK))
	}
	fake := s.have(&conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll, Power: states.PowerOn})
	s.do("PUT", "/v1/nodes/"+fake+"/states/power", "latest", `{"target": "soft rebooting"}`).must(http.StatusAccepted)
}
