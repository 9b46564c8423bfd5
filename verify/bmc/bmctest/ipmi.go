// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// IPMI is a BMC that serves IPMI 2.0 over UDP with cipher suite 3: OpenIPMI's ipmi_sim, behind a relay that counts
// logins, plays faults, and drops packets on demand. Make it with NewIPMI and Close it. It is safe for concurrent use;
// its fields must not be changed.
type IPMI struct {
	Addr string // host and UDP port that the BMC answers on, such as "127.0.0.1:41253"; Restart keeps it
	Host string // the IP address of Addr
	Port int    // the UDP port of Addr

	program string
	dir     string
	config  IPMIConfig
	relay   *relay

	mu     sync.Mutex
	child  *child
	closed bool
}

// NewIPMI starts a BMC and returns once it answers. The context bounds the start only. The error matches
// exec.ErrNotFound if the program ipmi_sim is not on the PATH; otherwise it names the invalid field of config or why
// the program did not start.
func NewIPMI(ctx context.Context, config IPMIConfig) (*IPMI, error) {
	config, err := config.complete()
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath("ipmi_sim")
	if err != nil {
		return nil, fmt.Errorf("bmctest: %w: it is in the Debian package openipmi", err)
	}
	dir, err := os.MkdirTemp("", "bmctest-ipmi-")
	if err != nil {
		return nil, fmt.Errorf("bmctest: make folder: %w", err)
	}
	b := &IPMI{program: program, dir: dir, config: config}
	if b.relay, err = newRelay(config.Addr, config.Users); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	b.Addr, b.Host, b.Port = b.relay.addr.String(), b.relay.addr.IP.String(), b.relay.addr.Port
	if err := errors.Join(b.writeFiles(), b.SetPower(config.Power)); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := b.Restart(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close kills the program, waits for it, and removes its folder. A second Close does nothing.
func (b *IPMI) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	b.stop()
	return errors.Join(b.relay.close(), os.RemoveAll(b.dir))
}

// Power returns "on" or "off".
func (b *IPMI) Power() string {
	state, err := os.ReadFile(filepath.Join(b.dir, "power"))
	if err == nil && strings.TrimSpace(string(state)) == "1" {
		return "on"
	}
	return "off"
}

// SetPower turns the power "on" or "off", like the power button of the machine.
func (b *IPMI) SetPower(power string) error {
	state := map[string]string{"on": "1\n", "off": "0\n"}[power]
	if state == "" {
		return fmt.Errorf("bmctest: set power %q: want \"on\" or \"off\"", power)
	}
	next := filepath.Join(b.dir, "power.next")
	if err := os.WriteFile(next, []byte(state), 0o600); err != nil {
		return fmt.Errorf("bmctest: set power: %w", err)
	}
	if err := os.Rename(next, filepath.Join(b.dir, "power")); err != nil {
		return fmt.Errorf("bmctest: set power: %w", err)
	}
	return nil
}

// Kill kills the BMC's process (SIGKILL). Clients get no answer from then on; the power state is unchanged.
func (b *IPMI) Kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
}

// stop kills the program, if it runs, and disconnects the relay. The caller holds b.mu.
func (b *IPMI) stop() {
	b.child.kill()
	b.relay.connect(nil)
}

// Restart restarts the BMC, after a Kill or without one, and returns once it answers. All sessions are lost.
func (b *IPMI) Restart(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errors.New("bmctest: restart: the BMC is closed")
	}
	b.stop()
	var err error
	for range startAttempts {
		if err = b.start(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}

// Drop makes the network drop every packet from and to the BMC, until Drop(false).
func (b *IPMI) Drop(all bool) { b.relay.drop.Store(all) }

// Logins counts the login attempts since the start, across restarts: RAKP messages 1, without those that a client
// repeats because it got no answer. A wrong password does not count as failed if the client, like ipmitool, detects it
// first and aborts.
func (b *IPMI) Logins() Logins {
	return b.relay.count()
}

// startAttempts is how often start chooses a port: another process may take the port before ipmi_sim does.
const startAttempts = 3

// start runs ipmi_sim on a free port and waits until it answers. The caller holds b.mu.
func (b *IPMI) start(ctx context.Context) error {
	free, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return fmt.Errorf("bmctest: find a free port: %w", err)
	}
	addr := free.LocalAddr().(*net.UDPAddr)
	if err := free.Close(); err != nil {
		return err
	}
	if err := b.write("lan.conf", lanConfig(addr, b.config.Users), 0o600); err != nil {
		return err
	}
	if b.child, err = startChild(b.program, b.dir); err != nil {
		return err
	}
	if err := b.child.answers(ctx, addr); err != nil {
		b.child.kill()
		return err
	}
	b.relay.connect(addr)
	return nil
}

// child is a running ipmi_sim.
type child struct {
	cmd *exec.Cmd
	log string
	end chan struct{} // closed once the process has ended and Wait has returned
}

func startChild(program, dir string) (*child, error) {
	c := &child{log: filepath.Join(dir, "log"), end: make(chan struct{})}
	log, err := os.Create(c.log)
	if err != nil {
		return nil, fmt.Errorf("bmctest: log of ipmi_sim: %w", err)
	}
	defer log.Close()
	c.cmd = exec.Command(program, "-c", "lan.conf", "-f", "sim.emu", "-s", "state")
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = dir, log, log
	// The program ends when its input ends, so that it does not outlive this process even if that is killed.
	if _, err := c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("bmctest: input of ipmi_sim: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("bmctest: start ipmi_sim: %w", err)
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.end)
	}()
	return c, nil
}

// kill ends the child, if there is one, and waits for it.
func (c *child) kill() {
	if c != nil {
		_ = c.cmd.Process.Kill()
		<-c.end
	}
}

// answers waits until the child answers an ASF presence ping.
func (c *child) answers(ctx context.Context, addr *net.UDPAddr) error {
	conn, err := net.DialUDP("udp", nil, addr)
	if err != nil {
		return fmt.Errorf("bmctest: reach ipmi_sim: %w", err)
	}
	defer conn.Close()
	pong := make([]byte, 64)
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("bmctest: ipmi_sim does not answer: %w", context.Cause(ctx))
		case <-c.end:
			said, _ := os.ReadFile(c.log)
			return fmt.Errorf("bmctest: ipmi_sim ended at once (%v): %s", c.cmd.ProcessState, strings.TrimSpace(string(said)))
		case <-time.After(10 * time.Millisecond):
		}
		_, _ = conn.Write(presencePing)
		_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if n, err := conn.Read(pong); err == nil && n >= len(presencePing) {
			return nil
		}
	}
}

// presencePing is the ASF message of that name (DSP0136), in an RMCP packet. The pong is longer.
var presencePing = []byte{0x06, 0x00, 0xff, 0x06, 0x00, 0x00, 0x11, 0xbe, 0x80, 0x00, 0x00, 0x00}
