// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"math"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// The states and texts below come from a real Ironic 21.4.4 with fake-hardware and the deploy interface "direct".

func TestTheStatusThatAnAgentReportsEndsNoDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Available, nil)
		m.request(m.n, "active")
		m.settle(m.n)
		m.requireState(m.boot(), states.DeployWait, "")
		beat := conductor.Heartbeat{
			From:               agentAt,
			CallbackURL:        "http://10.0.0.7:9999",
			AgentToken:         m.token,
			AgentStatus:        "error",
			AgentStatusMessage: "no disk",
		}
		require.NoError(t, m.Heartbeat(m.ctx, m.n.UUID, beat))
		m.requireState(m.settle(m.n), states.DeployWait, "")
	})
}

func TestFakeHardwareCannotBootAnImageFromItsDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Available, nil)
		_, err := m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error { delete(n.Interfaces, "management"); return nil })
		require.NoError(t, err)
		m.request(m.n, "active")
		m.settle(m.n)
		m.boot()
		m.requireState(m.end("SUCCEEDED", ""), states.DeployFail, "Deploy step deploy.prepare_instance_boot failed: "+
			"Failed to change the boot device to disk when deploying node "+m.n.UUID+": Invalid boot device disk specified.")
	})
}

func TestTheTearDownOfAMachineWithAnAgentPowersItOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Available, nil)
		no := false
		_, err := m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error { n.AutomatedClean = &no; return nil })
		require.NoError(t, err)
		m.request(m.n, "active")
		require.Equal(t, states.PowerOn, m.settle(m.n).Power)
		m.request(m.n, "deleted")
		n := m.settle(m.n)
		m.requireState(n, states.Available, "")
		require.Equal(t, states.PowerOff, n.Power)
	})
}

func TestARefusedDeploymentNotesTheTypeOfTheImage(t *testing.T) {
	for image, want := range map[string]any{"http://images.example/x.raw": "whole-disk", "x": nil} {
		synctest.Test(t, func(t *testing.T) {
			m := startMachine(t, states.Available, nil)
			_, err := m.UpdateNode(m.ctx, m.n.UUID, func(n *conductor.Node) error {
				n.InstanceInfo = map[string]any{"image_source": image}
				return nil
			})
			require.NoError(t, err)
			require.ErrorIs(t, m.Provision(m.ctx, m.n.UUID, m.provision("active")), conductor.Unsuitable)
			n, err := m.Node(m.ctx, m.n.UUID)
			require.NoError(t, err)
			require.Equal(t, states.Available, n.ProvisionState)
			require.Equal(t, want, n.InstanceInfo["image_type"])
		})
	}
}

func TestAVerificationForgetsTheBootModeOfFakeHardware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		yes := true
		n := f.create(conductor.Node{ProvisionState: states.Enroll, BootMode: "uefi", SecureBoot: &yes})
		f.request(n, "manage")
		got := f.settle(n)
		require.Equal(t, states.Manageable, got.ProvisionState)
		require.Empty(t, got.BootMode)
		require.Nil(t, got.SecureBoot)
	})
}

func TestTheAgentDoesNoWorkThatIsUnknown(t *testing.T) {
	n := &conductor.Node{Interfaces: map[string]string{"deploy": "direct"}}
	require.True(t, new(conductor.Fake).UsesAgent(n, states.WorkDeploy))
	require.False(t, new(conductor.Fake).UsesAgent(n, states.Work(math.MaxUint8)))
}
