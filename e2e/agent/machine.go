// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const (
	mac          = "52:54:00:12:34:56"
	virtualMedia = "redfish-virtual-media"
	// agentISO is the image with an agent that the machine boots from virtual media. Nothing downloads it: it stands for
	// the agent that the machine starts.
	agentISO = "http://images.invalid/agent.iso"
	diskSize = 2 << 30 // the file has holes
)

// machine is a machine with a BMC. While it is on and has booted the agent, the agent runs as a process.
type machine struct {
	options
	bmc          *bmctest.Redfish
	api, scripts string // URLs
	agent        string // address at which the agent listens
	disk         *os.File
	boots        int // number of agents that were started
	powered      chan boot
	quit, ended  chan struct{} // closed to end run, and by run

	mu             sync.Mutex
	running        *exec.Cmd     // the agent; nil if none runs
	runningProcess chan struct{} // closed when the process has ended
}

// boot is a change of the machine's power, with the boot source if it is powered on.
type boot struct {
	on            bool
	source, image string
}

func newMachine(o options, api, scripts, agent string) *machine {
	disk := try.Get(os.Create(filepath.Join(o.folder, "disk")))
	try.OK(disk.Truncate(diskSize))
	m := &machine{options: o, api: api, scripts: scripts, agent: agent, disk: disk, powered: make(chan boot, 100),
		quit: make(chan struct{}), ended: make(chan struct{})}
	go m.run()
	return m
}

// power is bmctest.System.OnPower.
func (m *machine) power(on bool, source, image string) { m.powered <- boot{on, source, image} }

func (m *machine) close() {
	close(m.quit)
	<-m.ended
	_ = m.disk.Close()
}

// run starts and ends agents, one at a time.
func (m *machine) run() {
	defer close(m.ended)
	defer m.kill()
	for {
		select {
		case b := <-m.powered:
			m.kill()
			parameters, ok := m.parameters(b)
			if !b.on || !ok {
				continue
			}
			if err := try.Catch(func() { m.start(parameters) }); err != nil {
				fmt.Fprintln(os.Stderr, "the agent cannot be started:", err)
			}
		case <-m.quit:
			return
		}
	}
}

// parameters returns the kernel parameters of a boot from which the agent starts.
func (m *machine) parameters(b boot) (string, bool) {
	switch {
	case b.source == "Pxe":
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		parameters, err := agenttest.BootIPXE(ctx, http.DefaultClient, m.scripts+"/boot.ipxe", []string{mac})
		return parameters, err == nil
	case b.image == agentISO:
		return "ipa-api-url=" + m.api + " ipa-inspection-callback-url=" + m.api + "/v1/continue_inspection", true
	}
	return "", false
}

// start starts an agent. If its command power_off ends it, the BMC powers the machine off.
func (m *machine) start(parameters string) {
	m.boots++
	log := try.Get(os.Create(filepath.Join(m.folder, fmt.Sprintf("agent-%02d.log", m.boots))))
	defer log.Close() // the process has its own file descriptor
	fmt.Fprintln(log, "kernel parameters:", parameters)
	host, port, err := net.SplitHostPort(m.agent)
	try.OK(err)
	state := filepath.Join(m.folder, "agent")
	args := []string{m.options.agent, state, m.disk.Name(), "--listen_host", host, "--listen_port", port, "--advertise_host", host,
		"--advertise_port", port,
		"--lookup_interval", "1", "--disk_wait_attempts", "1", "--inspection_dhcp_wait_timeout", "0", "--debug"}
	if m.partition { // else agents refuse it since CVE-2026-43003
		config := filepath.Join(m.folder, "agent.conf")
		try.OK(os.WriteFile(config, []byte("[DEFAULT]\nenable_bios_bootloader_install = true\n"), 0o600))
		args = append(args, "--config-file", config)
	}
	if m.plain {
		args = append(args, "--noenable_auto_tls")
	}
	command := exec.Command("./e2e/agent/boot.sh", args...)
	command.Env = append(os.Environ(), "MAC="+mac, "PARAMETERS="+parameters)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	try.OK(command.Start())
	done := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running, m.runningProcess = command, done
	go func() {
		err := command.Wait()
		close(done)
		m.mu.Lock()
		itself := m.running == command
		m.mu.Unlock()
		if !itself {
			return
		}
		if _, absent := os.Stat(filepath.Join(state, "off")); absent == nil {
			_ = m.bmc.SetPower("1", "Off")
		} else {
			fmt.Fprintf(os.Stderr, "the agent has ended, see %s: %v\n", log.Name(), err)
		}
	}()
}

// kill ends the process group of the agent and waits until its disk is free.
func (m *machine) kill() {
	m.mu.Lock()
	command, done := m.running, m.runningProcess
	m.running = nil
	m.mu.Unlock()
	if command == nil {
		return
	}
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		<-done
	}
}
