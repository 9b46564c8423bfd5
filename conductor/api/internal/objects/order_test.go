// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// A request waits until nobody holds the lock of a node, and then reads the node, which another request may have locked
// since.
func TestALockThatIsTakenMeanwhileRefusesNoUpdateOfARecord(t *testing.T) {
	t.Parallel()
	n := &conductor.Node{ProvisionState: states.Manageable, Reservation: "a"}
	rules := admission.Rules{Table: states.Latest().Table()}
	require.Error(t, rules.UpdatePort(n.Fields(), admission.PortUpdate{}, states.Latest().MaxAPIVersion()))
	require.NoError(t, rules.UpdatePort(unreserved(n), admission.PortUpdate{}, states.Latest().MaxAPIVersion()))
	require.Equal(t, "a", n.Reservation)
}
