// SPDX-License-Identifier: Apache-2.0

package looplab

import (
	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/states"
)

// Events returns a table as looplab's rows: one row for each event and destination,
// with all source states, in the order of the table. An fsm.FSM that is made from these
// rows has none of the protections of an [FSM].
func Events(t *states.Table) fsm.Events {
	type end struct {
		event states.Event
		to    states.State
	}
	var events fsm.Events
	at := make(map[end]int)
	for row := range t.Transitions() {
		key := end{row.Event, row.To}
		i, ok := at[key]
		if !ok {
			i = len(events)
			at[key] = i
			events = append(events, fsm.EventDesc{Name: row.Event.String(), Dst: row.To.String()})
		}
		events[i].Src = append(events[i].Src, row.From.String())
	}
	return events
}
