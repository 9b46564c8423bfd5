// SPDX-License-Identifier: Apache-2.0

package postgres

import "time"

// Jump makes the last renewals of all members of the process older, as after a suspension.
func (m *Membership) Jump(d time.Duration) {
	m.renewed.Range(func(id, at any) bool {
		m.renewed.Store(id, at.(time.Time).Add(-d))
		return true
	})
}
