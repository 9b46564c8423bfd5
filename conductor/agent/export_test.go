// SPDX-License-Identifier: Apache-2.0

package agent

// Turns returns the number of answers that are being read or decoded.
func (b *Budget) Turns() int { return len(b.turns) }

// MaxTurns returns the maximum of Turns.
func (b *Budget) MaxTurns() int { return cap(b.turns) }
