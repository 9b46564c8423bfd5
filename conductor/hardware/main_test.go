// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const (
	user     = "admin"
	password = "correct+horse/1"
	wrong    = "wrong+horse/&"
)

// testMachine is a machine with a BMC to test against.
type testMachine struct {
	driver string
	info   map[string]any
	power  func() string // "on" or "off"
	logins func() bmctest.Logins
	down   func() // makes the BMC unreachable
}

// machines maps each hardware type to a function that starts a machine, which is off.
var machines = map[string]func(*testing.T) testMachine{
	"redfish": func(t *testing.T) testMachine { return redfishMachine(startRedfish(t), t) },
	"ipmi": func(t *testing.T) testMachine {
		server := startIPMI(t)
		return testMachine{
			driver: "ipmi", info: ipmiInfo(server), power: server.Power, logins: server.Logins, down: server.Kill,
		}
	},
}

func startRedfish(t *testing.T, set ...func(*bmctest.RedfishConfig)) *bmctest.Redfish {
	t.Helper()
	config := bmctest.RedfishConfig{Users: map[string]secret.Text{user: secret.New(password)}}
	for _, s := range set {
		s(&config)
	}
	server, err := bmctest.NewRedfish(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

func redfishMachine(server *bmctest.Redfish, t *testing.T) testMachine {
	return testMachine{
		driver: "redfish", info: redfishInfo(t, server), logins: server.Logins,
		power: func() string {
			return map[string]string{"On": "on", "Off": "off"}[server.Power("1")]
		},
		down: func() { server.AddFault(bmctest.Fault{Do: bmctest.Refuse()}) },
	}
}

// redfishInfo returns the driver_info of a BMC whose CA certificate is in a file.
func redfishInfo(t *testing.T, server *bmctest.Redfish) map[string]any {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, server.CAPEM, 0o600))
	return map[string]any{
		"redfish_address": "https://" + server.Addr, "redfish_system_id": "/redfish/v1/Systems/1",
		"redfish_username": user, "redfish_password": password, "redfish_verify_ca": ca,
	}
}

func startIPMI(t *testing.T) *bmctest.IPMI {
	t.Helper()
	needs.Programs(t, "ipmi_sim", "ipmitool")
	server, err := bmctest.NewIPMI(t.Context(), bmctest.IPMIConfig{Users: map[string]secret.Text{user: secret.New(password)}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

func ipmiInfo(server *bmctest.IPMI) map[string]any {
	return map[string]any{
		"ipmi_address": server.Host, "ipmi_port": server.Port, "ipmi_cipher_suite": "3",
		"ipmi_username": user, "ipmi_password": password,
	}
}

// site is a running conductor with both hardware types.
type site struct {
	*conductor.Conductor
	t             *testing.T
	redfish, ipmi *hardware.Type
	moves         chan conductor.Transition
	log           lockedBuffer
}

func start(t *testing.T, config hardware.Config, set ...func(*conductor.Config)) *site {
	t.Helper()
	s := &site{t: t, moves: make(chan conductor.Transition, 1000)}
	config.Pause = cmp.Or(config.Pause, time.Millisecond)
	var err error
	s.redfish, err = hardware.NewRedfish(config)
	require.NoError(t, err)
	s.ipmi, err = hardware.NewIPMI(config)
	require.NoError(t, err)
	c := conductor.Config{
		Store: &conductor.Memory{}, Name: "alpha", LockedInterval: 10 * time.Millisecond, LockedRetries: math.MaxInt,
		Hardware:      map[string]conductor.Hardware{"redfish": s.redfish, "ipmi": s.ipmi},
		SkipPowerSync: true, CheckInterval: 50 * time.Millisecond,
		Agent:        agent.Config{PollInterval: 10 * time.Millisecond},
		AgentAddress: conductor.AgentNetworks{netip.MustParsePrefix("127.0.0.0/8")}.Check,
		OnTransition: func(move conductor.Transition) { s.moves <- move },
		Log:          slog.New(slog.NewTextHandler(&s.log, nil)),
	}
	for _, set := range set {
		set(&c)
	}
	s.Conductor, err = conductor.New(c)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, s.redfish.Close(context.Background()))
		require.NoError(t, s.ipmi.Close(context.Background()))
	})
	require.NoError(t, s.Ready(ctx))
	return s
}

// node enrolls a machine with the deploy interface "ramdisk". Its automated cleaning is off.
func (s *site) node(m testMachine, set ...func(*conductor.Node)) *conductor.Node {
	s.t.Helper()
	n := &conductor.Node{
		Driver:         m.driver,
		DriverInfo:     m.info,
		ProvisionState: states.Enroll,
		AutomatedClean: new(bool),
		Interfaces:     map[string]string{"deploy": "ramdisk"},
	}
	for _, set := range set {
		set(n)
	}
	n, err := s.CreateNode(s.t.Context(), n)
	require.NoError(s.t, err)
	return n
}

// request requests a provision state and waits until no work is left on the node.
func (s *site) request(n *conductor.Node, target string) *conductor.Node {
	s.t.Helper()
	require.NoError(s.t, s.Provision(s.t.Context(), n.UUID, s.word(target)))
	return s.settle(n)
}

func (s *site) word(target string) conductor.ProvisionRequest {
	return conductor.ProvisionRequest{Target: target, Version: s.Table().Series().MaxAPIVersion()}
}

// settle waits for a transition after which the node is not reserved, or for the end of the clean-up after failed work.
func (s *site) settle(n *conductor.Node) *conductor.Node {
	s.t.Helper()
	for {
		switch move := <-s.moves; {
		case move.Node.UUID != n.UUID:
		case move.Node.Reservation == "":
			return move.Node
		case move.Node.CleanUp != nil:
			return s.cleanedUp(n)
		}
	}
}

// await waits until the record of a node has what a test waits for.
func (s *site) await(n *conductor.Node, has func(*conductor.Node) bool) *conductor.Node {
	s.t.Helper()
	for change := range s.WatchNodes(context.Background()) {
		if now := change.Node; change.UUID == n.UUID && now != nil && has(now) {
			return now
		}
	}
	return nil
}

// cleanedUp waits for the end of the clean-up after failed work.
func (s *site) cleanedUp(n *conductor.Node) *conductor.Node {
	s.t.Helper()
	return s.await(n, func(now *conductor.Node) bool { return now.CleanUp == nil && now.Reservation == "" })
}

// setPower requests a power state and waits until the record has it.
func (s *site) setPower(n *conductor.Node, power states.Power) {
	s.t.Helper()
	require.NoError(s.t, s.SetPower(s.t.Context(), n.UUID, power, 0))
	s.await(n, func(now *conductor.Node) bool {
		return now.Power == power && now.TargetPower == states.NoPower && now.Reservation == ""
	})
}

// requireHistory waits until a node's last error is in its history, once. Since 2025.2 the steps have entries, too.
func (s *site) requireHistory(n *conductor.Node) {
	s.t.Helper()
	for errors := 0; errors == 0; time.Sleep(time.Millisecond) {
		history, err := s.History(s.t.Context(), n.UUID)
		require.NoError(s.t, err)
		for _, entry := range history {
			if entry.Event == n.LastError {
				errors++
			}
		}
		require.LessOrEqual(s.t, errors, 1)
	}
}
