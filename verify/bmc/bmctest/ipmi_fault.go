// SPDX-License-Identifier: Apache-2.0

package bmctest

// IPMIFault selects messages to an IPMI BMC that fail, by the kind of message that its effect is on. A message that a
// client sends again because it got no answer counts as another one.
type IPMIFault struct {
	Skip  int        // how many of these messages succeed first
	Times int        // how many fail after that; all if 0
	Do    IPMIEffect // the effect; none if it is the zero value
}

// activeIPMIFault is an IPMIFault with the count of its messages.
type activeIPMIFault struct {
	IPMIFault
	seen int
}

// meets reports whether the fault affects this message, and counts the messages of its kind.
func (f *activeIPMIFault) meets(m IPMIMessage) bool {
	if f.Do.does == nil || f.Do.on != m {
		return false
	}
	f.seen++
	return f.seen > f.Skip && (f.Times == 0 || f.seen <= f.Skip+f.Times)
}

// AddFault adds a fault to the BMC's. If several match a message, the first added takes effect.
func (b *IPMI) AddFault(f IPMIFault) { b.relay.addFault(f) }

// ClearFaults removes all faults.
func (b *IPMI) ClearFaults() { b.relay.clearFaults() }

func (r *relay) addFault(f IPMIFault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, &activeIPMIFault{IPMIFault: f})
}

func (r *relay) clearFaults() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = nil
}

// request takes a packet of a client. It returns the answer, if a fault has one, and whether the BMC gets the packet.
func (r *relay) request(f *flow, packet []byte) (answer []byte, passes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.countLogin(f, packet)
	m, known := f.conversation.read(packet)
	if !known {
		return nil, true
	}
	for _, fault := range r.faults {
		if fault.meets(m.kind) {
			answer, passes = fault.Do.does(&f.conversation, m)
			r.countLogin(f, answer)
			return answer, passes
		}
	}
	return nil, true
}

// answer takes a packet of the BMC, and returns what the client gets, nil for nothing.
func (r *relay) answer(f *flow, packet []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.countLogin(f, packet)
	return f.conversation.answer(packet)
}
