// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/verify/secret"
)

// relay passes UDP packets between clients and a server, counts the logins among them, and plays faults.
type relay struct {
	front *net.UDPConn
	addr  *net.UDPAddr
	users map[string]secret.Text
	drop  atomic.Bool
	alive sync.WaitGroup

	mu     sync.Mutex
	faults []*activeIPMIFault
	server *net.UDPAddr
	flows  map[netip.AddrPort]*flow
	logins Logins
}

// flow is the traffic between one client and the server.
type flow struct {
	server       *net.UDPConn
	rakp1        []byte // the client's last RAKP message 1, to detect a repeated one
	conversation conversation
}

// idle is how long a flow without packets is kept.
const idle = time.Minute

// maxPacket is the size of the largest UDP packet.
const maxPacket = 1 << 16

func newRelay(addr string, users map[string]secret.Text) (*relay, error) {
	at, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, fmt.Errorf("bmctest: address %s: %w", addr, err)
	}
	front, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, fmt.Errorf("bmctest: listen on %s: %w", addr, err)
	}
	r := &relay{front: front, addr: front.LocalAddr().(*net.UDPAddr), users: users, flows: make(map[netip.AddrPort]*flow)}
	r.alive.Go(r.passToServer)
	return r, nil
}

func (r *relay) close() error {
	err := r.front.Close()
	r.connect(nil)
	r.alive.Wait()
	return err
}

// connect sets the server that packets are passed to, nil for none.
func (r *relay) connect(server *net.UDPAddr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = server
	for _, f := range r.flows {
		_ = f.server.Close()
	}
	clear(r.flows)
}

func (r *relay) count() Logins {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logins
}

// passToServer passes packets to the server until the relay is closed.
func (r *relay) passToServer() {
	packet := make([]byte, maxPacket)
	for {
		n, client, err := r.front.ReadFromUDPAddrPort(packet)
		if err != nil {
			return
		}
		if r.drop.Load() {
			continue
		}
		f := r.flow(client)
		if f == nil {
			continue
		}
		answer, passes := r.request(f, packet[:n])
		if answer != nil {
			_, _ = r.front.WriteToUDPAddrPort(answer, client)
		}
		if passes {
			_, _ = f.server.Write(packet[:n])
		}
	}
}

// flow returns the client's flow, which it creates if needed, or nil if there is no server.
func (r *relay) flow(client netip.AddrPort) *flow {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.flows[client]
	if f == nil && r.server != nil {
		server, err := net.DialUDP("udp", nil, r.server)
		if err != nil {
			return nil
		}
		f = &flow{server: server, conversation: newConversation(r.users)}
		r.flows[client] = f
		r.alive.Go(func() { r.passToClient(f, client) })
	}
	if f != nil {
		_ = f.server.SetReadDeadline(time.Now().Add(idle))
	}
	return f
}

// passToClient passes packets to one client until it has been idle, or the relay is closed.
func (r *relay) passToClient(f *flow, client netip.AddrPort) {
	packet := make([]byte, maxPacket)
	for {
		n, err := f.server.Read(packet)
		if err != nil {
			break
		}
		if r.drop.Load() {
			continue
		}
		if answer := r.answer(f, packet[:n]); answer != nil {
			_, _ = r.front.WriteToUDPAddrPort(answer, client)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = f.server.Close()
	if r.flows[client] == f {
		delete(r.flows, client)
	}
}

// Payload types of RMCP+, IPMI 2.0 table 13-16.
const (
	openRequest = 0x10
	openAnswer  = 0x11
	rakp1       = 0x12
	rakp2       = 0x13
	rakp3       = 0x14
	rakp4       = 0x15
)

// openRefusal is the length of the payload that refuses one which opens a session, IPMI 2.0 tables 13-10, 13-12 and
// 13-14. None of these payloads is shorter.
const openRefusal = 8

// countLogin updates the counts of logins if the packet begins or ends one. The caller holds r.mu.
func (r *relay) countLogin(f *flow, packet []byte) {
	kind, payload := sessionPayload(packet)
	if len(payload) < 2 {
		return
	}
	failed := payload[1] != 0 // the status code, in all messages except RAKP message 1
	switch {
	case kind == rakp1 && !bytes.Equal(payload, f.rakp1):
		f.rakp1 = bytes.Clone(payload)
		r.logins.Attempts++
	case kind == rakp2 && failed, kind == rakp3 && failed, kind == rakp4 && failed:
		r.logins.Failed++
	case kind == rakp4:
		r.logins.Succeeded++
	}
}

// sessionPayload returns the payload of an RMCP+ packet, IPMI 2.0 table 13-8, and nothing for other packets.
func sessionPayload(packet []byte) (kind byte, payload []byte) {
	if len(packet) < payloadAt || packet[classAt] != ipmiClass || packet[formatAt] != rmcpPlus {
		return 0, nil
	}
	return packet[typeAt] & 0x3f, packet[payloadAt:]
}
