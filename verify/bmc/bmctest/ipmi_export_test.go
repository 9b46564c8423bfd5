// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"net"
	"slices"

	"github.com/ironstate/ironstate/verify/secret"
)

// Talk is a relay with one client and a BMC, without the network. The user is the usual one.
type Talk struct {
	relay *relay
	flow  *flow
}

func NewTalk(faults ...IPMIFault) *Talk {
	users := usersOrDefault(nil)
	t := &Talk{relay: &relay{users: users}, flow: &flow{conversation: newConversation(users)}}
	for _, f := range faults {
		t.relay.addFault(f)
	}
	return t
}

func (t *Talk) ClearFaults() { t.relay.clearFaults() }

// Request returns the answer to a client's packet, if a fault has one, and whether the BMC gets the packet.
func (t *Talk) Request(packet []byte) ([]byte, bool) { return t.relay.request(t.flow, packet) }

// Answer returns what the client gets for a packet of the BMC.
func (t *Talk) Answer(packet []byte) []byte { return t.relay.answer(t.flow, packet) }

// Read returns the kind of a packet's message, and its plain text.
func (t *Talk) Read(packet []byte) (IPMIMessage, []byte, bool) {
	m, known := t.flow.conversation.read(packet)
	return m.kind, m.body, known
}

func (t *Talk) Logins() Logins { return t.relay.count() }

// NewRelay starts a relay to a server on a free port, and returns it as a BMC of which only the faults work.
func NewRelay(server *net.UDPAddr) (b *IPMI, stop func() error, err error) {
	r, err := newRelay("127.0.0.1:0", map[string]secret.Text{})
	if err != nil {
		return nil, nil, err
	}
	r.connect(server)
	return &IPMI{Addr: r.addr.String(), relay: r}, r.close, nil
}

// Resigned returns a packet of the session with its integrity check made anew.
func (t *Talk) Resigned(packet []byte) []byte {
	packet = slices.Clone(packet)
	clear(packet[len(packet)-authCode:])
	t.flow.conversation.keys().sign(packet)
	return packet
}
