// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// process is cmd/ironstate with data that outlive it.
type process struct {
	*testing.T
	program, data, address string
	command                *exec.Cmd
	drained                chan struct{} // closed when the process has closed its output
	log                    bytes.Buffer
}

// start starts the process and waits until it serves.
func (p *process) start() {
	p.Helper()
	p.command = exec.Command(p.program, "-listen", p.address, "-data", p.data, "-name", "conductor-1", "-deploy-interface", "direct",
		"-power-sync-interval", "0", "-agent-network", "127.0.0.0/8", "-image-host", "127.0.0.1", "-check-interval", "100ms")
	p.command.Stderr = &p.log
	out, err := p.command.StdoutPipe()
	require.NoError(p, err)
	require.NoError(p, p.command.Start())
	p.drained = make(chan struct{})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on http://"); ok {
			p.address = url
			go func(drained chan struct{}) {
				defer close(drained)
				_, _ = io.Copy(io.Discard, out)
			}(p.drained)
			return
		}
	}
	_ = p.command.Wait()
	require.Fail(p, "the conductor does not start", p.log.String())
}

// end sends the process a signal and waits for its end.
func (p *process) end(signal os.Signal) {
	p.Helper()
	require.NoError(p, p.command.Process.Signal(signal))
	<-p.drained
	_ = p.command.Wait() // an error of a process that is killed
}

// restart ends the conductor while something waits for it, and starts it again.
type restart struct {
	process *process
	signal  os.Signal
	inside  bool // the conductor is at work at the point, and continues until it has ended

	once             sync.Once
	reached, release chan struct{}
	done             bool
}

// wait waits for the restart if it is called for the first time.
func (r *restart) wait() {
	r.once.Do(func() {
		close(r.reached)
		<-r.release
	})
}

// ifReached restarts the conductor if its work has come to the point. If the agent has come to the point, the conductor
// may still have to store that it waits.
func (r *restart) ifReached(s *site) {
	select {
	case <-r.reached:
	default:
		return
	}
	if r.done || !r.inside && s.node()["reservation"] != nil {
		return
	}
	r.done = true
	if r.inside && r.signal == syscall.SIGTERM {
		close(r.release) // the conductor ends its work before it ends
	} else {
		defer close(r.release)
	}
	r.process.end(r.signal)
	r.process.start()
}

// TestRestartInTheMiddle ends cmd/ironstate in the middle of each operation, by SIGTERM and by SIGKILL, and starts it
// again. The operation ends as it does without the restart. Only work that a killed conductor itself was doing fails,
// as it does in Ironic; the operator shows the error and tries again.
func TestRestartInTheMiddle(t *testing.T) {
	needs.Time(t)
	program := filepath.Join(t.TempDir(), "ironstate")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = "../../cmd/ironstate"
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))

	const system = "/redfish/v1/Systems/1"
	const insert = "/redfish/v1/Managers/bmc/VirtualMedia/CD/Actions/VirtualMedia.InsertMedia"
	const reset = system + "/Actions/ComputerSystem.Reset"
	const iso = "http://images.invalid/live.iso"
	image := agenttest.Image(4<<20, 7)
	// The operator removes an instance that has failed before it installs the next.
	anew := func(install func(s *site) string) func(s *site, failed bool) string {
		return func(s *site, failed bool) string {
			if failed {
				s.deprovision()
			}
			return install(s)
		}
	}
	registered := func(s *site) { require.Empty(s, s.register(false)) }
	inspect := func(s *site, failed bool) string { _, message := s.inspect(failed); return message }
	manageable := func(s *site) { s.requireState(states.Manageable) }
	running := func(what string) func(s *site) {
		return func(s *site) { s.requireState(states.Active); s.requireRunning(what) }
	}
	removed := func(s *site) { s.requireState(states.Available); require.Empty(s, s.node()["instance_info"]) }
	booted := func(s *site) {
		s.prepared()
		require.Empty(s, s.liveISO(iso))
	}
	const died = "the process that did it has died"
	for name, c := range map[string]struct {
		bmc    bmctest.Fault // the request whose answer is held: the conductor is at work
		agent  string        // if set, the point of the agent's work that is held: the conductor waits
		before func(s *site)
		do     func(s *site, failed bool) string // returns the error message
		after  func(s *site)
		lost   string // a part of the error message after SIGKILL, if there is one
	}{
		"registration": {bmc: bmctest.Fault{On: system}, before: func(*site) {},
			do: func(s *site, failed bool) string { return s.registerAgain(false, failed) }, after: manageable, lost: died},
		"boot for an inspection": {bmc: bmctest.Fault{On: insert}, before: registered, do: inspect, after: manageable, lost: died},
		"inspection":             {agent: "inspection", before: registered, do: inspect, after: manageable},
		"BIOS setting": {bmc: bmctest.Fault{On: system + "/Bios/Settings", Method: "PATCH"}, before: registered,
			do: (*site).configure, lost: died,
			after: func(s *site) { manageable(s); require.Equal(s, 7, s.bmc.BIOS("1")["BootTimeout"]) }},
		"boot for an image": {bmc: bmctest.Fault{On: insert}, before: (*site).prepared,
			do: anew(func(s *site) string { return s.rawImage(image) }), after: running("disk"), lost: died},
		"image": {agent: "image", before: (*site).prepared, do: anew(func(s *site) string { return s.rawImage(image) }), after: running("disk")},
		"live ISO": {bmc: bmctest.Fault{On: insert}, before: (*site).prepared,
			do: anew(func(s *site) string { return s.liveISO(iso) }), after: running(iso), lost: died},
		"custom step": {agent: "install_coreos", before: (*site).prepared,
			do: anew(func(s *site) string { return s.custom("install_coreos") }), after: running("disk")},
		"power on": {bmc: bmctest.Fault{On: reset}, before: (*site).prepared, do: (*site).powerOn,
			after: func(s *site) { require.Equal(s, "On", s.bmc.Power("1")) }, lost: "the conductor that did it died"},
		"adoption": {bmc: bmctest.Fault{On: system}, before: (*site).prepared, do: (*site).adopt,
			after: func(s *site) { s.requireState(states.Active) }, lost: died},
		"tear-down": {bmc: bmctest.Fault{On: reset}, before: booted, do: (*site).removeInstance, after: removed, lost: died},
		"automated cleaning": {agent: "erase_devices_metadata", before: func(s *site) {
			s.cleaning = metal3api.CleaningModeMetadata
			s.prepared()
			require.Empty(s, s.custom("install_coreos"))
		}, do: (*site).removeInstance, after: removed},
		"deletion": {agent: "deletion", before: func(s *site) { s.prepared(); require.Empty(s, s.adopt(false)) },
			do: func(s *site, _ bool) string {
				go s.reach("deletion")
				return s.delete()
			}, after: func(s *site) { require.Nil(s, s.node()) }},
	} {
		for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(name+", "+signal.String(), func(t *testing.T) {
				p := &process{T: t, program: program, data: t.TempDir(), address: "127.0.0.1:0"}
				p.start()
				t.Cleanup(func() {
					p.end(syscall.SIGTERM)
					if t.Failed() {
						t.Log(p.log.String())
					}
				})
				var s *site
				step := func(work, name string, priority int) agenttest.Step {
					return agenttest.Step{Work: work, Interface: "deploy", Name: name, Priority: priority,
						Run: func(context.Context, map[string]any) (any, error) {
							s.reach(name)
							return nil, nil
						}}
				}
				s = newSite(t, "http://"+p.address, 7,
					[]agenttest.Step{step("deploy", "install_coreos", 0), step("clean", "erase_devices_metadata", 99)})
				point := ""
				s.hold = func(at string) {
					if at == point {
						s.restart.wait()
					}
				}
				c.before(s)
				s.restart = &restart{process: p, signal: signal, inside: c.agent == "", reached: make(chan struct{}), release: make(chan struct{})}
				point = c.agent
				if c.agent == "" {
					c.bmc.Do = bmctest.Change("held", func(_ http.Header, body []byte) []byte { s.restart.wait(); return body })
					s.bmc.AddFault(c.bmc)
				}
				message := c.do(s, false)
				require.True(t, s.restart.done, "the operation has not come to the point")
				if signal == syscall.SIGKILL && c.lost != "" {
					require.Contains(t, message, c.lost)
					message = c.do(s, true)
				}
				require.Empty(t, message)
				c.after(s)
			})
		}
	}
}
