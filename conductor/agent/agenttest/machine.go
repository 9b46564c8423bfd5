// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Machine is a machine with a disk that boots an agent. Make it with [New] and Close it. It is safe for concurrent use;
// its field must not be changed.
type Machine struct {
	Disk string // the file that is the machine's disk

	config Config
	http   *http.Client
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	written atomic.Int64 // see Written

	diskMu sync.Mutex // serializes changes of the disk, also by agents of different boots

	mu       sync.Mutex
	closed   bool
	running  string // see Running
	agent    *agent // the last boot, nil if the machine is off
	boots    int
	received []Command
	rescue   string
	faults   []*fault
}

// Command is a command that an agent of the machine has received with a valid token.
type Command struct {
	Name   string // such as "clean.execute_clean_step"
	Params map[string]any
}

// New makes a machine that is off. The error names the invalid field of config, or says that the disk cannot be made.
func New(config Config) (*Machine, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	path, err := makeDisk(config.Disk, config.DiskSize)
	if err != nil {
		return nil, fmt.Errorf("agenttest: make the disk: %w", err)
	}
	m := &Machine{Disk: path, config: config}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.http = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: config.Roots},
	}}
	for _, f := range config.Faults {
		m.AddFault(f)
	}
	return m, nil
}

// Close powers the machine off, waits for the last goroutine of its agents, and removes the disk if New made it. A
// second Close does nothing.
func (m *Machine) Close() error {
	m.mu.Lock()
	first := !m.closed
	m.closed, m.running = true, ""
	m.mu.Unlock()
	m.cancel()
	m.wg.Wait()
	if first && m.config.Disk == "" {
		return os.Remove(m.Disk)
	}
	return nil
}

// Power powers the machine on from a source, or off. Power on of a machine that is on is a reset. The source is a
// target of Redfish's boot override, such as "Pxe", "Cd", "Hdd" or "None"; the image is the URL of the inserted medium
// if the source is one. Config.Boots says whether the agent starts. From all other sources the machine runs what is on
// its disk.
//
// The agent that was running ends, without an answer to requests in flight. Power does not wait for that.
func (m *Machine) Power(on bool, source, image string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agent != nil {
		m.agent.cancel()
		m.agent = nil
	}
	m.running = ""
	if !on || m.closed {
		return
	}
	m.boots++
	m.running = "booting"
	a := newAgent(m)
	m.agent = a
	m.goLocked(func() { a.boot(source, image) })
}

// Running returns what the machine runs: "" if it is off, "booting", "agent", "disk", or the URL of an image that it
// has booted in place of the agent. A rescue system, which has no agent, is "rescue".
func (m *Machine) Running() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running
}

// Boots returns the number of boots.
func (m *Machine) Boots() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boots
}

// Written returns the number of bytes that the agents of all boots have written from images and config drives.
func (m *Machine) Written() int64 { return m.written.Load() }

// Commands returns the commands that the agents of all boots have received, oldest first; see Config.KeepCommands.
func (m *Machine) Commands() []Command {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.received)
}

// RescuePassword returns the password of the last rescue, as it was sent: a hash or a plain text.
func (m *Machine) RescuePassword() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rescue
}

// start is goLocked for a caller that does not hold m.mu.
func (m *Machine) start(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.goLocked(f)
}

// enter makes Close wait until the caller calls m.wg.Done. It returns false, and does nothing, if the machine is
// closed.
func (m *Machine) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.wg.Add(1)
	}
	return !m.closed
}

// goLocked runs f in a goroutine that Close waits for, unless the machine is closed. The caller holds m.mu.
func (m *Machine) goLocked(f func()) {
	if !m.closed {
		m.wg.Go(f)
	}
}

// switchOff carries out the agent's power_off.
func (m *Machine) switchOff() {
	m.Power(false, "", "")
	if m.config.PowerOff != nil {
		m.config.PowerOff()
	}
}

func (m *Machine) receive(c Command) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.received = append(m.received, c)
	if keep := m.config.KeepCommands; keep != 0 && len(m.received) > keep {
		m.received = slices.Delete(m.received, 0, len(m.received)-keep)
	}
}

// become changes what the machine runs if it still runs this agent.
func (m *Machine) become(a *agent, running string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agent == a {
		m.running = running
	}
}

// parseParameters returns the parameters of a kernel command line.
func parseParameters(line string) map[string]string {
	parameters := map[string]string{}
	for _, word := range strings.Fields(line) {
		name, value, _ := strings.Cut(word, "=")
		parameters[name] = value
	}
	return parameters
}

// decoded returns a value as encoding/json decodes it, for results that contain values of Go's own types.
func decoded(value any) (result any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return result, json.Unmarshal(text, &result)
}
