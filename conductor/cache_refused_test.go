// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// refusing is fake-hardware whose BMC refuses some reads of the cache.
type refusing struct {
	*conductor.Fake
	refuses map[string]error // the errors of its reads, by what is read
	calls   []string
}

// read counts a read and returns its error.
func (r *refusing) read(what string) error {
	r.calls = append(r.calls, what)
	if err, ok := r.refuses[what]; ok {
		return fmt.Errorf("refused: %w", err)
	}
	return nil
}

func (r *refusing) ReadVendor(context.Context, *conductor.Node) (firmware, machine string, err error) {
	if err := r.read("vendor"); err != nil {
		return "read without a log-in", "", err
	}
	return "", "", nil
}

func (r *refusing) ReadBootMode(context.Context, *conductor.Node) (string, *bool, error) {
	if err := r.read("boot mode"); err != nil {
		return "", nil, err
	}
	return "uefi", nil, r.read("secure boot")
}

func (r *refusing) ReadBIOS(context.Context, *conductor.Node) ([]conductor.BIOSSetting, error) {
	return nil, r.read("BIOS")
}

func (r *refusing) ReadFirmware(context.Context, *conductor.Node) ([]conductor.FirmwareComponent, error) {
	return nil, r.read("firmware")
}

func (r *refusing) SetPower(context.Context, *conductor.Node, states.Power) error {
	r.calls = append(r.calls, "set power")
	return verify.Credentials
}

// A wrong password costs one log-in, and no clean-up sends it again. A user who may not read everything cleans all the
// same.
func TestACleaningOrAServiceEndsWithTheFirstReadWhoseCredentialsAreRefused(t *testing.T) {
	all := []string{"vendor", "boot mode", "secure boot", "BIOS", "firmware"}
	forbidden := &verify.Error{Kind: verify.Forbidden}
	wrong := map[string]error{}
	for _, what := range all {
		wrong[what] = verify.Credentials
	}
	for name, test := range map[string]struct {
		refuses map[string]error
		calls   []string
		err     string // of the work
	}{
		"a wrong password": {wrong, []string{"vendor"}, "read the vendor: refused: credentials refused"},
		"a password that is wrong after a read that asks nobody": {map[string]error{"boot mode": verify.Credentials},
			[]string{"vendor", "boot mode"}, "read the boot mode: refused: credentials refused"},
		"an account that is locked after a read": {map[string]error{"BIOS": verify.Locked}, all[:4],
			"read the BIOS settings: refused: account locked"},
		"refusals after a read": {
			map[string]error{"secure boot": verify.Credentials, "BIOS": verify.Credentials}, append(all, all...), "",
		},
		"no permission for secure boot and BIOS": {
			map[string]error{"secure boot": forbidden, "BIOS": forbidden}, append(all, all...), "",
		},
		"no permission for the vendor, before anything is read": {map[string]error{"vendor": forbidden}, append(all, all...), ""},
		"another error": {map[string]error{"vendor": verify.Timeout}, append(all, all...), ""},
	} {
		for target, from := range map[string]states.State{"clean": states.Manageable, "service": states.Active} {
			synctest.Test(t, func(t *testing.T) {
				hardware := &refusing{Fake: &conductor.Fake{}, refuses: test.refuses}
				f := start(t, func(c *conductor.Config) {
					c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
					c.PowerOffInCleanFail, c.SkipPowerSync = true, true // a round reads a part, too
				})
				n := f.node(from)
				f.request(n, target)
				n = f.settle(n)
				require.Equal(t, test.err, n.LastError, "%s %s", name, target)
				require.Equal(t, test.err != "", n.ProvisionState != from, "%s %s: %v", name, target, n.ProvisionState)
				require.False(t, n.Maintenance, "no step has begun")
				require.Equal(t, test.calls, hardware.calls, "%s %s", name, target)
			})
		}
	}
}

func TestThePasswordMayBeChangedDuringACleaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware := &refusing{Fake: &conductor.Fake{}}
		hardware.Before = func(_ context.Context, _ *conductor.Node, operation string) error {
			if operation == "bios.cache_bios_settings" {
				hardware.refuses = map[string]error{"vendor": verify.Credentials}
				hardware.calls = nil
			}
			return nil
		}
		f := start(t, func(c *conductor.Config) {
			c.Hardware, c.SkipPowerSync = map[string]conductor.Hardware{"fake-hardware": hardware}, true
		})
		n := f.node(states.Manageable)
		f.request(n, "clean")
		n = f.settle(n)
		require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
		require.Equal(t, []string{"vendor"}, hardware.calls)
	})
}

// A clean-up sends a refused password once more: not without need.
func TestAStepWhoseLoginIsRefusedHasACleanUpIfTheOperatorWantsTheMachineOff(t *testing.T) {
	for off, want := range map[bool]states.Power{false: states.PowerOn, true: states.PowerOff} {
		synctest.Test(t, func(t *testing.T) {
			fake := &conductor.Fake{Before: func(_ context.Context, _ *conductor.Node, operation string) error {
				if operation == "bios.factory_reset" {
					return verify.Credentials
				}
				return nil
			}}
			f := start(t, func(c *conductor.Config) {
				c.Hardware, c.PowerOffInCleanFail = map[string]conductor.Hardware{"fake-hardware": fake}, off
			})
			n := f.node(states.Manageable)
			require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
			f.settle(n)
			r := f.provision("clean")
			r.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: "factory_reset"}}
			require.NoError(t, f.Provision(f.ctx, n.UUID, r))
			n = f.settle(n)
			require.Equal(t, states.CleanFail, n.ProvisionState)
			require.Equal(t, want, n.Power)
		})
	}
}
