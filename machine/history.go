// SPDX-License-Identifier: Apache-2.0

package machine

import "slices"

// history holds the last transitions of a machine.
type history struct {
	most int
	kept []Transition
	next int // the index that the next transition overwrites, once the slice is full
}

func (h *history) add(t Transition) {
	if len(h.kept) < h.most {
		h.kept = append(h.kept, t)
		return
	}
	h.kept[h.next] = t
	h.next = (h.next + 1) % h.most
}

// all returns the transitions, the oldest first.
func (h *history) all() []Transition {
	return slices.Concat(h.kept[h.next:], h.kept[:h.next])
}
