// SPDX-License-Identifier: Apache-2.0

package etcd

import "time"

// Jump makes the last renewals of all members of the process older, as after a suspension.
func (m *Membership) Jump(d time.Duration) {
	m.leases.Range(func(_, value any) bool {
		l := value.(*lease)
		l.renewed.Store(new(l.renewed.Load().Add(-d)))
		return true
	})
}
