// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
	"github.com/ironstate/ironstate/states"
)

// rebooting is a hardware type whose inspection is one step of three requests to the node's URL.
type rebooting struct{ *conductor.Fake }

func (r rebooting) Steps(_ *conductor.Node, work states.Work) []conductor.Step {
	if work != states.WorkInspect {
		return nil
	}
	return []conductor.Step{{Interface: "inspect", Step: "reboot", Priority: 1, Run: func(ctx context.Context, t *conductor.Task) error {
		for _, operation := range operations {
			if err := conductor.Permit(ctx); err != nil {
				return err
			}
			answer, err := http.Post(t.Node().DriverInfo["url"].(string)+operation, "", nil)
			if err != nil {
				return err
			}
			answer.Body.Close()
		}
		return nil
	}}}
}

var operations = []string{"/off", "/device", "/on"}

// newRebooting returns a conductor with that hardware type, which is the member of a lease of 5 s.
func newRebooting(s *etcd.Store, name string, log *slog.Logger) (*conductor.Conductor, error) {
	return conductor.New(conductor.Config{
		Store: s, Membership: s.Membership(5 * time.Second), Name: name, SkipPowerSync: true, Log: log,
		Hardware: map[string]conductor.Hardware{"rebooting": rebooting{&conductor.Fake{}}},
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

// suspend stops a process. Its threads run on for a moment after the signal has been sent, so suspend returns when they
// have stopped.
func suspend(t *testing.T, p *etcdtest.Process) {
	t.Helper()
	require.NoError(t, p.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err := syscall.Wait4(p.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped())
}

// TestAProcessThatWasStoppedInsideAStepSendsNothingMore stops a conductor, as SIGSTOP does, while it
// waits for the answer to the first operation of a step, until another conductor has ended its work.
// The answer is there when it resumes. It does not reach etcd at first, so that it does not learn at
// once that it has lost the node.
//
// SECURITY.md: A conductor that was suspended or cut off sends nothing more to hardware that another one has taken
// over.
func TestAProcessThatWasStoppedInsideAStepSendsNothingMore(t *testing.T) {
	received, answer := make(chan string, len(operations)), make(chan struct{})
	machine := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		received <- r.URL.Path
		<-answer
	}))
	t.Cleanup(machine.Close)

	members := etcdtest.StartCluster(t, 1, nil)
	way := startProxy(t, members[0].Client[len("http://"):])
	stopped := etcdtest.Spawn(t, "conductor", "http://"+way.listener.Addr().String())
	logs(t, stopped, "the conductor has joined")
	s := connect(t, etcd.Config{Endpoints: endpoints(members)})
	c, err := newRebooting(s, "other", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.ErrorIs(t, <-done, context.Canceled) })
	require.NoError(t, c.Ready(ctx))

	n := &conductor.Node{Driver: "rebooting", ProvisionState: states.Manageable, DriverInfo: map[string]any{"url": machine.URL}}
	for i := 0; ; i++ {
		n.UUID = fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		if owner, _ := c.Owner(n); owner.Hostname == "suspended" {
			break
		}
	}
	_, err = c.CreateNode(ctx, n)
	require.NoError(t, err)
	require.NoError(t, c.Provision(ctx, n.UUID, conductor.ProvisionRequest{Target: "inspect", Version: 81}))
	require.Equal(t, operations[0], <-received)
	suspend(t, stopped)
	close(answer)

	for ended := false; !ended; time.Sleep(10 * time.Millisecond) { // by the other conductor
		now, err := c.Node(ctx, n.UUID)
		require.NoError(t, err)
		ended = now.ProvisionState == states.InspectFail && now.Reservation == ""
	}
	way.set(true)
	require.NoError(t, stopped.Process.Signal(syscall.SIGCONT))
	logs(t, stopped, "the node's work was abandoned")
	require.Empty(t, received)
}
