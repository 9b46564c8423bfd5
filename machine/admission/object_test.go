// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

func TestUpdatePortInEveryState(t *testing.T) {
	rest := states.SetOf(states.Enroll, states.Inspecting, states.InspectWait, states.Manageable)
	for state := range states.Latest().Table().States().All() {
		for _, v := range []states.APIVersion{1, 38, 39, 82} {
			fields(state, func(f admission.NodeFields) {
				for bits := range 4 {
					u := admission.PortUpdate{Address: bits&1 != 0, Connectivity: bits&2 != 0}
					err := admission.Rules{}.UpdatePort(f, u, v)
					switch {
					case state == states.Inspecting && v > 38:
						requireRefusal(t, err, admission.WrongState, "provision_state", 409)
					case f.Reserved:
						requireRefusal(t, err, admission.Locked, "reservation", 409)
					case u.Address && !f.Maintenance && (f.Associated || state == states.Active):
						requireRefusal(t, err, admission.Associated, "instance_uuid", 409)
					case u.Connectivity && !f.Maintenance && !rest.Has(state):
						requireRefusal(t, err, admission.WrongState, "provision_state", 409)
					default:
						requireAccepted(t, err)
					}
				}
			})
		}
	}
}

func TestVolumesChangeWhileTheNodeIsOff(t *testing.T) {
	for series := range states.AllSeries() {
		rules := admission.Rules{Table: series.Table()}
		for state := range series.Table().States().All() {
			for power := range states.PowerError + 1 {
				f := admission.NodeFields{State: state, Power: power}
				anyPower := series >= states.Hibiscus && series.Table().DeleteAllowed().Has(state)
				require.Equal(t, power == states.PowerOff, rules.UpdateVolume(f) == nil)
				require.Equal(t, power == states.PowerOff || anyPower, rules.DeleteVolume(f) == nil, "%v in %v", power, state)
				if err := rules.UpdateVolume(f); err != nil {
					requireRefusal(t, err, admission.NotAllowed, "power_state", 400)
				}
				f.Reserved = true
				requireRefusal(t, rules.UpdateVolume(f), admission.Locked, "reservation", 409)
				requireRefusal(t, rules.DeleteVolume(f), admission.Locked, "reservation", 409)
			}
		}
	}
}

func TestAllocationsInEveryState(t *testing.T) {
	table := states.Latest().Table()
	for state := range table.States().All() {
		for _, power := range []states.Power{states.NoPower, states.PowerOn} {
			for _, target := range []states.State{states.NoState, states.Available} {
				fields(state, func(f admission.NodeFields) {
					f.Power, f.Target = power, target
					requireAllocate(t, f)
					requireDeallocate(t, f, table)
				})
			}
		}
	}
}

func requireAllocate(t *testing.T, f admission.NodeFields) {
	allocate, backfill := admission.Rules{}.Allocate(f), admission.Rules{}.Backfill(f)
	switch {
	case f.State != states.Available:
		requireRefusal(t, allocate, admission.WrongState, "provision_state", 409)
	case f.Associated:
		requireRefusal(t, allocate, admission.Associated, "instance_uuid", 409)
	case f.Maintenance:
		requireRefusal(t, allocate, admission.InMaintenance, "maintenance", 400)
	case f.Power == states.NoPower:
		requireRefusal(t, allocate, admission.NotAllowed, "power_state", 400)
	case f.Reserved:
		requireRefusal(t, allocate, admission.Locked, "reservation", 409)
	default:
		requireAccepted(t, allocate)
	}
	switch {
	case f.Reserved:
		requireRefusal(t, backfill, admission.Locked, "reservation", 409)
	case f.State != states.Active:
		requireRefusal(t, backfill, admission.WrongState, "provision_state", 409)
	default:
		requireAccepted(t, backfill)
	}
}

func requireDeallocate(t *testing.T, f admission.NodeFields, table *states.Table) {
	err := admission.Rules{}.Deallocate(f)
	inWork := f.Target != states.NoState && !table.UpdateAllowed().Has(f.State)
	switch {
	case f.Reserved:
		requireRefusal(t, err, admission.Locked, "reservation", 409)
	case !f.Maintenance && (f.State == states.Active || inWork):
		requireRefusal(t, err, admission.WrongState, "provision_state", 409)
	default:
		requireAccepted(t, err)
	}
}
