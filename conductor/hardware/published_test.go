// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
)

func TestTheFilesOfANodeAreListedAndWithdrawn(t *testing.T) {
	config, _, _ := serveImages(t)
	b, err := hardware.NewRedfish(config)
	require.NoError(t, err)
	first, second := "1"+uuid[1:], "2"+uuid[1:]
	for _, node := range []string{first, second} {
		_, err := config.Images.Publish(node, ".img", func(f *os.File) error { _, err := f.WriteString("x"); return err })
		require.NoError(t, err)
		require.NoError(t, config.Images.PublishScripts(node, map[string]string{"52:54:00:00:00:0" + node[:1]: "#!ipxe"}))
	}
	published, err := b.Published()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{first, second}, published)
	require.NoError(t, b.Withdraw(first))
	published, err = b.Published()
	require.NoError(t, err)
	require.Equal(t, []string{second}, published)

	b, err = hardware.NewRedfish(hardware.Config{})
	require.NoError(t, err)
	published, err = b.Published()
	require.NoError(t, err)
	require.Empty(t, published)
	require.NoError(t, b.Withdraw(first))
	b = nil
	_, err = b.Published()
	require.Error(t, err)
	require.Error(t, b.Withdraw(first))
	require.False(t, b.KeepsFiles(nil))
}

func TestAMachineKeepsItsFilesWhileAnAgentStaysOrItMayBootARamdisk(t *testing.T) {
	b, err := hardware.NewRedfish(hardware.Config{})
	require.NoError(t, err)
	ramdisk := map[states.State]bool{states.Active: true, states.ServiceFail: true, states.UnrescueFail: true}
	for state := range states.Latest().Table().States().All() {
		for deploy, boots := range map[string]bool{"direct": false, "ramdisk": true, "unknown": true} {
			n := &conductor.Node{UUID: "n", ProvisionState: state, Power: states.PowerOn, Interfaces: map[string]string{"deploy": deploy}}
			require.Equal(t, boots && ramdisk[state], b.KeepsFiles(n), "%s %s", state, deploy)
			n.Agent.Token = "x"
			require.True(t, b.KeepsFiles(n), "%s %s", state, deploy)
			n.Power = states.PowerOff
			require.Equal(t, boots && ramdisk[state], b.KeepsFiles(n), "%s %s", state, deploy)
		}
	}
}
