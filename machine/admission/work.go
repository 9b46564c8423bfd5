// SPDX-License-Identifier: Apache-2.0

package admission

import "github.com/ironstate/ironstate/states"

// works has the rules of each work for other requests for its node.
var works = map[states.Work]struct {
	// refusesPower refuses requests for a power state while the work runs or waits.
	refusesPower bool
	// allowsUpdate allows changes of the hardware interfaces, the resource class and the connectivity of ports while the
	// work is in progress.
	allowsUpdate bool
}{
	states.NoWork:       {},
	states.WorkVerify:   {},
	states.WorkInspect:  {allowsUpdate: true},
	states.WorkClean:    {refusesPower: true},
	states.WorkDeploy:   {},
	states.WorkAdopt:    {},
	states.WorkRescue:   {},
	states.WorkUnrescue: {},
	states.WorkService:  {},
	states.WorkDelete:   {},
}

// refusesPower reports whether requests for a power state are refused in a state.
func refusesPower(s states.State) bool {
	w := s.Work()
	return works[w].refusesPower && (s == w.Working() || s == w.Waiting())
}

// updatedIn returns the states in progress of the works that allow updates, and further states.
func updatedIn(stable ...states.State) states.Set {
	all := states.SetOf(stable...)
	for w := range states.AllWorks() {
		if works[w].allowsUpdate {
			all = all.Union(w.InProgress())
		}
	}
	return all
}
