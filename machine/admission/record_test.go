// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

func TestDeleteInEveryStateOfEverySeries(t *testing.T) {
	for series := range states.AllSeries() {
		for _, keep := range []bool{false, true} {
			rules := admission.Rules{Table: series.Table(), KeepAvailable: keep}
			for state := range series.Table().States().All() {
				kept := state == states.Available && keep && series >= states.Stein
				fields(state, func(f admission.NodeFields) {
					err := rules.Delete(f)
					switch {
					case f.Reserved:
						requireRefusal(t, err, admission.Locked, "reservation", 409)
					case f.Associated && !f.Maintenance:
						requireRefusal(t, err, admission.Associated, "instance_uuid", 409)
					case f.Protected:
						requireRefusal(t, err, admission.IsProtected, "protected", 403)
					case !f.Maintenance && (kept || state != states.Available && !series.Table().DeleteAllowed().Has(state)):
						requireRefusal(t, err, admission.WrongState, "provision_state", 409)
					default:
						requireAccepted(t, err)
					}
				})
			}
		}
	}
}

func TestPatchInEveryStateOfEverySeries(t *testing.T) {
	for series := range states.AllSeries() {
		rules, table := admission.Rules{Table: series.Table()}, series.Table()
		for state := range table.States().All() {
			for _, target := range []states.State{states.NoState, states.Available} {
				for _, v := range []states.APIVersion{1, 38, 39, series.MaxAPIVersion()} {
					fields(state, func(f admission.NodeFields) {
						f.Target = target
						for _, onlyRemoves := range []bool{false, true} {
							err := rules.Patch(f, onlyRemoves, v)
							if f.Maintenance && onlyRemoves || table.CanUpdate(state, target, v) {
								requireAccepted(t, err)
							} else {
								requireRefusal(t, err, admission.WrongState, "provision_state", 409)
							}
						}
					})
				}
			}
		}
	}
}

func TestUpdateRefusesTheFirstRuleInIronicsOrder(t *testing.T) {
	unfit := errors.New("no such interface")
	rules := admission.Rules{}
	rest := states.SetOf(states.Enroll, states.Inspecting, states.InspectWait, states.Manageable, states.Available)
	require.Equal(t, rest, admission.InterfaceStates())
	for state := range states.Latest().Table().States().All() {
		fields(state, func(f admission.NodeFields) {
			for bits := range 1 << 10 {
				has := func(bit int) bool { return bits&(1<<bit) != 0 }
				u := admission.Update{
					Protects: has(0), ProtectedReason: has(1), Retires: has(2), RetiredReason: has(3),
					ReplacesInstance: has(4), RemovesInstance: has(5), ResourceClass: has(6), Maintenance: has(7),
				}
				if has(8) {
					u.Interface = "rescue"
				}
				if has(9) {
					u.Unfit = unfit
				}
				if f.Allocated = f.Retired; f.Protected { // protected decides about nothing here
					break
				}
				err := rules.Update(f, u)
				switch {
				case u.Protects && state != states.Active && state != states.Rescue:
					requireRefusal(t, err, admission.WrongState, "protected", 409)
				case u.ProtectedReason:
					requireRefusal(t, err, admission.Invalid, "protected_reason", 400)
				case u.Retires && state == states.Available:
					requireRefusal(t, err, admission.WrongState, "retired", 409)
				case u.RetiredReason:
					requireRefusal(t, err, admission.Invalid, "retired_reason", 400)
				case has(8) && !rest.Has(state) && !u.Maintenance:
					requireRefusal(t, err, admission.WrongState, "rescue_interface", 409)
				case has(9):
					requireRefusal(t, err, admission.Invalid, "driver", 400)
				case f.Reserved:
					requireRefusal(t, err, admission.Locked, "reservation", 409)
				case u.ReplacesInstance && f.Associated:
					requireRefusal(t, err, admission.Associated, "instance_uuid", 409)
				case u.ResourceClass && !rest.Has(state):
					requireRefusal(t, err, admission.WrongState, "resource_class", 409)
				case u.RemovesInstance && f.Allocated && !f.Maintenance && !rest.Has(state):
					requireRefusal(t, err, admission.WrongState, "allocation_uuid", 409)
				default:
					requireAccepted(t, err)
				}
			}
		})
	}
}

func TestATableWithoutASeriesHasEveryOption(t *testing.T) {
	rules := admission.Rules{Table: new(states.Table), KeepAvailable: true, NoProvisioningInMaintenance: true}
	requireRefusal(t, rules.Delete(admission.NodeFields{State: states.Available}), admission.WrongState, "provision_state", 409)
	requireRefusal(t, rules.Work(admission.NodeFields{Maintenance: true}), admission.InMaintenance, "maintenance", 400)
}
