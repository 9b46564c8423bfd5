package bmctest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestABMCThatIsNotThereDoesNothing(t *testing.T) {
	for _, bmc := range []*bmctest.Redfish{nil, {}} {
		require.Empty(t, bmc.Power("1"))
		require.NotNil(t, bmc.Client())
		require.Zero(t, bmc.Boot("1"))
		require.Zero(t, bmc.Logins())
		require.Empty(t, bmc.Sessions())
		require.Empty(t, bmc.Requests())
		require.ErrorContains(t, bmc.SetPower("1", "On"), "there is no BMC")
		bmc.AddFault(bmctest.Fault{Do: bmctest.Refuse()})
		require.NoError(t, bmc.ClearFaults())
		require.NoError(t, bmc.Close())
	}
	for _, bmc := range []*bmctest.IPMI{nil, {}} {
		require.Empty(t, bmc.Power())
		require.Zero(t, bmc.Logins())
		require.ErrorContains(t, bmc.SetPower("on"), "there is no BMC")
		require.ErrorContains(t, bmc.Restart(t.Context()), "there is no BMC")
		bmc.Drop(true)
		bmc.Kill()
		require.NoError(t, bmc.Close())
	}
}
