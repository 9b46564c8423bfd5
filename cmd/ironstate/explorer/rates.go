// SPDX-License-Identifier: Apache-2.0

package explorer

import "time"

// rateMinutes is the number of minutes whose transitions are counted.
const rateMinutes = 30

// rates counts transitions by minute.
type rates struct {
	minute int64 // the minute of the latest count, since 1970
	counts [rateMinutes]int
}

// add counts transitions at a time. Times do not decrease from call to call.
func (r *rates) add(at time.Time, transitions int) {
	r.advance(at)
	r.counts[r.minute%rateMinutes] += transitions
}

// perMinute returns the transitions in each of the minutes up to the current one, oldest first.
func (r rates) perMinute(now time.Time) []int {
	r.advance(now)
	next := (r.minute + 1) % rateMinutes
	return append(r.counts[next:], r.counts[:next]...)
}

// advance begins the minutes after r.minute up to the minute of now, with counts of 0.
func (r *rates) advance(now time.Time) {
	minute := max(r.minute, now.Unix()/60)
	for m := max(r.minute, minute-rateMinutes) + 1; m <= minute; m++ {
		r.counts[m%rateMinutes] = 0
	}
	r.minute = minute
}
