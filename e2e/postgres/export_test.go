// SPDX-License-Identifier: Apache-2.0

package postgres

import "time"

// Jump makes the last renewals of all members of the process older, as after a suspension.
func (m *Membership) Jump(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, at := range m.renewed {
		m.renewed[id] = at.Add(-d)
	}
}
