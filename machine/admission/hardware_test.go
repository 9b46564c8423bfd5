// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

func TestPowerIsRefusedWhileTheNodeIsCleaned(t *testing.T) {
	for state := range states.Latest().Table().States().All() {
		for power := range states.PowerError + 1 {
			fields(state, func(f admission.NodeFields) {
				f.DisablePowerOff = f.Retired // any free bit
				err := admission.Rules{}.Power(f, power)
				switch {
				case power == states.NoPower || power == states.PowerError:
					requireRefusal(t, err, admission.Invalid, "target", 400)
				case state == states.Cleaning || state == states.CleanWait:
					requireRefusal(t, err, admission.NotAllowed, "provision_state", 400)
				case f.DisablePowerOff && (power == states.PowerOff || power == states.PowerSoftOff):
					requireRefusal(t, err, admission.PowerOffDisabled, "disable_power_off", 409)
				case f.Reserved:
					requireRefusal(t, err, admission.Locked, "reservation", 409)
				default:
					requireAccepted(t, err)
				}
			})
		}
	}
	broken := errors.New("no address")
	err := admission.Rules{}.Power(admission.NodeFields{Problems: map[string]error{"power": broken, "bios": broken}}, states.PowerOn)
	requireRefusal(t, err, admission.Unsuitable, "power_interface", 400)
	require.ErrorIs(t, err, broken)
}

func TestTheBootModeIsNotChangedInTransition(t *testing.T) {
	table := states.Latest().Table()
	for state := range table.States().All() {
		fields(state, func(f admission.NodeFields) {
			err := admission.Rules{}.Boot(f)
			switch {
			case table.Unstable().Has(state):
				requireRefusal(t, err, admission.WrongState, "provision_state", 409)
			case f.Reserved:
				requireRefusal(t, err, admission.Locked, "reservation", 409)
			default:
				requireAccepted(t, err)
			}
		})
	}
}

func TestLockNeedsNothingElse(t *testing.T) {
	for state := range states.Latest().Table().States().All() {
		fields(state, func(f admission.NodeFields) {
			err := admission.Rules{}.Lock(f, "inject_nmi")
			if f.Reserved {
				requireRefusal(t, err, admission.Locked, "reservation", 409)
			} else {
				requireAccepted(t, err)
			}
		})
	}
}

func TestReasonsHaveTextAndStatus(t *testing.T) {
	for reason := admission.Invalid; reason <= admission.NoRunbook; reason++ {
		require.NotEmpty(t, reason.Error())
		require.Equal(t, reason == admission.NoRunbook, reason.HTTPStatus() == 500, reason)
	}
	for reason, status := range map[admission.Reason]int{
		admission.PowerOffDisabled: 409, admission.NotFound: 404, admission.Exists: 409, admission.NoWorker: 503, admission.LimitReached: 503,
	} {
		require.Equal(t, status, reason.HTTPStatus(), reason)
	}
	for reason, text := range map[admission.Reason]string{0: "refused without a reason", admission.NoRunbook + 1: "Reason(17)"} {
		require.Equal(t, text, reason.Error())
		require.Equal(t, 500, reason.HTTPStatus())
	}
}
