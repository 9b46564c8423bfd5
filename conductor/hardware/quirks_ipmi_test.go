// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package hardware_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// startQuirkyIPMI starts a machine whose BMC has a fault.
func startQuirkyIPMI(t *testing.T, fault bmctest.IPMIFault) (*bmctest.IPMI, testMachine) {
	server := startIPMI(t)
	server.AddFault(fault)
	return server, testMachine{driver: "ipmi", info: ipmiInfo(server), power: server.Power, logins: server.Logins}
}

// liveOverIPMI leads a node from enroll to active, as far as it gets. The log is told of each repetition.
func liveOverIPMI(t *testing.T, m testMachine, timeout time.Duration) (s *site, n *conductor.Node, log *lockedBuffer) {
	log = &lockedBuffer{}
	s = start(t, hardware.Config{Timeout: timeout, Log: slog.New(slog.NewTextHandler(log, nil))})
	n = s.node(m)
	for _, step := range []struct {
		from   states.State
		target string
	}{{states.Enroll, "manage"}, {states.Manageable, "provide"}, {states.Available, "active"}} {
		if n.ProvisionState == step.from {
			n = s.request(n, step.target)
		}
	}
	return s, n, log
}

// The pauses between the attempts take the bubble's time; ipmitool waits for answers in real time.
func TestAMachineIsDeployedOverIPMIWhateverItsBMCDoesForTheMoment(t *testing.T) {
	needs.Programs(t, "ipmi_sim", "ipmitool")
	for _, effect := range bmctest.IPMIEffects() {
		t.Run(effect.String(), func(t *testing.T) {
			t.Parallel()
			server, m := startQuirkyIPMI(t, bmctest.IPMIFault{Times: 1, Do: effect})
			synctest.Test(t, func(t *testing.T) {
				s, n, log := liveOverIPMI(t, m, 0)
				if effect.Fails() != "" {
					require.Equal(t, states.Enroll, n.ProvisionState)
					require.Contains(t, n.LastError, "credentials", effect.Fails())
					require.Equal(t, bmctest.Logins{Attempts: 1, Failed: 1}, m.logins(), "accounts are locked after some")
					return
				}
				require.Equal(t, states.Active, n.ProvisionState, n.LastError)
				require.Empty(t, n.LastError)
				require.Equal(t, states.PowerOn, n.Power)
				require.Equal(t, "on", m.power())
				repeated := 0 // a packet that is lost is sent again by ipmitool itself
				if !waits(effect) {
					repeated = 1
				}
				require.Equal(t, repeated, log.count("level=WARN"))

				if !waits(effect) {
					server.AddFault(bmctest.IPMIFault{Times: 1, Do: effect})
				}
				s.softPower(n, states.PowerSoftOff)
				require.Equal(t, "off", m.power())
			})
		})
	}
}

// softPower requests a power state that takes effect by the operating system, and waits until the request has ended.
func (s *site) softPower(n *conductor.Node, power states.Power) {
	s.t.Helper()
	require.NoError(s.t, s.SetPower(s.t.Context(), n.UUID, power, 0))
	n = s.await(n, func(now *conductor.Node) bool { return now.TargetPower == states.NoPower && now.Reservation == "" })
	require.Equal(s.t, power.Target(), n.Power, n.LastError)
	require.Empty(s.t, n.LastError)
}

// The fault is on the second request, which is the one for power on.
func TestASoftRebootOverIPMIIsASoftOffThenOn(t *testing.T) {
	server, m := startQuirkyIPMI(t, bmctest.IPMIFault{Skip: 1, Times: 1, Do: bmctest.Refused(bmctest.ChassisControl, bmctest.NodeBusy)})
	require.NoError(t, server.SetPower("on"))
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuffer{}
		s := start(t, hardware.Config{Log: slog.New(slog.NewTextHandler(log, nil))})
		s.softPower(s.request(s.node(m), "manage"), states.PowerSoftRebooting)
		require.Equal(t, "on", m.power())
		require.Equal(t, 1, log.count("level=WARN"), "two requests")
	})
}

// waits reports whether ipmitool waits for an answer: 5 s for one that is lost, most of a minute if none ever comes.
func waits(effect bmctest.IPMIEffect) bool { return !strings.HasPrefix(effect.String(), "Refused(") }

// All messages of the kind have the effect. The timeout has room for one run of ipmitool.
func TestABrokenBMCOverIPMIEndsWorkWithAnErrorThatIsNotThePasswords(t *testing.T) {
	needs.Programs(t, "ipmi_sim", "ipmitool")
	for _, effect := range bmctest.IPMIEffects() {
		if effect.Fails() != "" || waits(effect) && effect.String() != "Unanswered(RAKP1)" {
			continue
		}
		t.Run(effect.String(), func(t *testing.T) {
			t.Parallel()
			_, m := startQuirkyIPMI(t, bmctest.IPMIFault{Do: effect})
			synctest.Test(t, func(t *testing.T) {
				_, n, _ := liveOverIPMI(t, m, 4*time.Second)
				want := states.Enroll
				if strings.Contains(effect.String(), "ChassisControl") || strings.Contains(effect.String(), "SetBootOptions") {
					want = states.DeployFail
				}
				require.Equal(t, want, n.ProvisionState)
				require.Contains(t, n.LastError, "unreachable", effect)
				require.NotContains(t, n.LastError, "credentials")
				require.NotContains(t, n.LastError, password)
				require.Equal(t, "off", m.power())
			})
		})
	}
}
