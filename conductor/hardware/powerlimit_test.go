// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
)

func TestThePowerStatesOfEachHardwareType(t *testing.T) {
	ipmi, err := hardware.NewIPMI(hardware.Config{})
	require.NoError(t, err)
	bmclib, err := hardware.NewBMCLib(hardware.Config{})
	require.NoError(t, err)
	hard := []states.Power{states.PowerOn, states.PowerOff, states.PowerRebooting}
	foreign := &conductor.Node{Interfaces: map[string]string{"power": "foreign"}}
	require.False(t, newRedfish(t, hardware.Config{}).SupportsPower(foreign, states.PowerOn))
	for name, test := range map[string]struct {
		hardware *hardware.Type
		also     []states.Power
	}{
		"redfish":       {newRedfish(t, hardware.Config{}), []states.Power{states.PowerSoftOff, states.PowerSoftRebooting}},
		"ipmi":          {ipmi, []states.Power{states.PowerSoftOff, states.PowerSoftRebooting}},
		"bmclib":        {bmclib, nil},
		"somebody's":    {newPlugs(t), []states.Power{states.PowerSoftOff, states.PowerSoftRebooting}},
		"the zero Type": {nil, nil},
	} {
		want := slices.Concat(hard, test.also)
		if test.hardware == nil {
			want = nil
		}
		for _, power := range slices.Concat(hard, []states.Power{states.PowerSoftOff, states.PowerSoftRebooting}) {
			require.Equal(t, slices.Contains(want, power), test.hardware.SupportsPower(&conductor.Node{}, power), "%s: %v", name, power)
		}
	}
}
