package etcd_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// rebooting is a hardware type whose inspection is one step of three operations.
type rebooting struct{ *hardware.BMC }

func (r rebooting) Steps(_ *conductor.Node, work states.State) []conductor.Step {
	if work != states.Inspecting {
		return nil
	}
	return []conductor.Step{{Interface: "inspect", Step: "reboot", Priority: 1, Run: func(ctx context.Context, t *conductor.Task) error {
		if err := r.SetPower(ctx, t.Node(), states.PowerOff); err != nil {
			return err
		}
		if err := r.SetBootDevice(ctx, t.Node(), "pxe", false); err != nil {
			return err
		}
		return r.SetPower(ctx, t.Node(), states.PowerOn)
	}}}
}

// newRebooting returns a conductor with that hardware type, which is the member of a lease of 2 s.
func newRebooting(s *etcd.Store, name string, log *slog.Logger) (*conductor.Conductor, error) {
	redfish, err := hardware.NewRedfish(hardware.Config{})
	if err != nil {
		return nil, err
	}
	return conductor.New(conductor.Config{
		Store: s, Membership: s.Membership(2 * time.Second), Name: name, SkipPowerSync: true, Log: log,
		Hardware: map[string]conductor.Hardware{"rebooting": rebooting{redfish}},
	})
}

// conductForever is the role "conductor": a conductor with the hardware type rebooting, which logs to
// its standard output.
func conductForever(endpoint string) error {
	s, err := etcd.Open(context.Background(), etcd.Config{Endpoints: []string{endpoint}})
	if err != nil {
		return err
	}
	go func() {
		etcdtest.UntilParentEnds()
		os.Exit(0)
	}()
	c, err := newRebooting(s, "suspended", slog.New(slog.NewTextHandler(os.Stdout, nil)))
	if err != nil {
		return err
	}
	return c.Run(context.Background())
}

// logs reads the log of a conductor until a line has the text.
func logs(t *testing.T, p *etcdtest.Process, text string) {
	t.Helper()
	for !strings.Contains(p.Line(t), text) {
	}
}

// changes returns the requests that a BMC has received and that change it.
func changes(server *bmctest.Redfish) (all []string) {
	for _, r := range server.Requests() {
		if r.Method == http.MethodPost || r.Method == http.MethodPatch {
			all = append(all, r.Method+" "+filepath.Base(r.Path))
		}
	}
	return all
}

// TestAProcessThatWasStoppedInsideAStepSendsNothingMore stops a conductor, as SIGSTOP does, while it
// waits for the answer to the first operation of a step, until another conductor has ended its work.
// The answer is there when it resumes. It does not reach etcd at first, so that it does not learn at
// once that it has lost the node.
func TestAProcessThatWasStoppedInsideAStepSendsNothingMore(t *testing.T) {
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Power: "On"}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", Times: 1, Do: bmctest.Delay(time.Second)})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, server.CAPEM, 0o600))

	members := etcdtest.StartCluster(t, 1, nil)
	way := startProxy(t, members[0].Client[len("http://"):])
	stopped := etcdtest.Spawn(t, "conductor", "http://"+way.listener.Addr().String())
	logs(t, stopped, "the conductor has joined")
	s := open(t, etcd.Config{Endpoints: etcdtest.Endpoints(members)})
	c, err := newRebooting(s, "other", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.ErrorIs(t, <-done, context.Canceled) })
	require.NoError(t, c.Ready(ctx))

	n := &conductor.Node{Driver: "rebooting", ProvisionState: states.Manageable, DriverInfo: map[string]any{
		"redfish_address": "https://" + server.Addr, "redfish_system_id": "/redfish/v1/Systems/1", "redfish_verify_ca": ca,
		"redfish_username": bmctest.DefaultUser, "redfish_password": bmctest.DefaultPassword,
	}}
	for i := 0; ; i++ {
		n.UUID = fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		if owner, _ := c.Owner(n); owner.Hostname == "suspended" {
			break
		}
	}
	_, err = c.CreateNode(ctx, n)
	require.NoError(t, err)
	require.NoError(t, c.Provision(ctx, n.UUID, conductor.ProvisionRequest{Target: "inspect", Version: 81}))
	off := []string{"POST Sessions", "POST ComputerSystem.Reset"}
	require.Eventually(t, func() bool { return len(changes(server)) == len(off) }, time.Minute, time.Millisecond)
	require.NoError(t, stopped.Process.Signal(syscall.SIGSTOP))

	require.Eventually(t, func() bool {
		now, err := c.Node(ctx, n.UUID)
		return err == nil && now.ProvisionState == states.InspectFail && now.Reservation == "" && server.Power("1") == "Off"
	}, time.Minute, 10*time.Millisecond, "the other conductor ends the work")
	way.set(true)
	require.NoError(t, stopped.Process.Signal(syscall.SIGCONT))
	logs(t, stopped, "the node's work was abandoned")
	require.Equal(t, off, changes(server))
	require.Equal(t, "Off", server.Power("1"))
}
