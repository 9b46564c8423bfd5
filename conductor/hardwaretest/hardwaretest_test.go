// SPDX-License-Identifier: Apache-2.0

package hardwaretest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardwaretest"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const secret = "correct+horse/1"

// newFake returns the configuration of a check of fake-hardware.
func newFake() (hardwaretest.Config, *conductor.Fake) {
	var changes, restarts atomic.Int64
	var broken atomic.Bool
	hardware := &conductor.Fake{Before: func(ctx context.Context, _ *conductor.Node, operation string) error {
		if broken.Load() {
			return errors.New("no route to host")
		}
		if ctx.Err() == nil {
			changes.Add(1)
			if operation == states.PowerRebooting.String() {
				restarts.Add(1)
			}
		}
		return ctx.Err()
	}}
	return hardwaretest.Config{
		Hardware: hardware,
		Node: &conductor.Node{
			Driver: "fake-hardware", DriverInfo: map[string]any{"B1": "a", "B2": secret}, Interfaces: map[string]string{"management": "noop"},
		},
		Changes: func() int { return int(changes.Load()) }, Starts: func() int { return int(restarts.Load()) },
		Secrets: []string{secret}, Break: func() { broken.Store(true) },
	}, hardware
}

func TestFakeHardwareKeepsThePromises(t *testing.T) {
	c, _ := newFake()
	require.NoError(t, hardwaretest.Check(c))
	c, _ = newFake()
	c.Break, c.Starts, c.Node.Interfaces, c.Node.UUID = nil, nil, nil, "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"
	require.NoError(t, hardwaretest.Check(c))
	c, hardware := newFake()
	c.Hardware, c.Node.DriverInfo, c.Secrets = withoutProperties{hardware}, nil, nil
	require.NoError(t, hardwaretest.Check(c))
}

func TestTheRequiredKindsOfInterfacesAreEnough(t *testing.T) {
	c, f := newFake()
	c.Node.Interfaces = nil
	hardware := newBroken(f)
	hardware.describe = func() conductor.Description {
		kinds := map[string][]string{"boot": {"x"}, "deploy": {"x"}, "management": {"x"}, "power": {"x"}}
		return conductor.Description{Interfaces: kinds, Properties: f.Describe().Properties}
	}
	hardware.validate = func(*conductor.Node) map[string]error {
		return map[string]error{"boot": nil, "deploy": nil, "management": nil, "power": nil}
	}
	hardware.verify = func(ctx context.Context, n *conductor.Node) (states.Power, error) {
		power, err := f.Verify(ctx, n)
		return cmp.Or(power, states.PowerOff), err
	}
	hardware.steps = func(n *conductor.Node, work states.Work) []conductor.Step {
		if work == states.WorkInspect || work == states.WorkRescue || work == states.WorkUnrescue {
			return nil
		}
		return slices.DeleteFunc(f.Steps(n, work), func(s conductor.Step) bool { return s.Interface != "deploy" })
	}
	c.Hardware = hardware
	require.NoError(t, hardwaretest.Check(c))
}

// withoutProperties is fake-hardware that knows no key of driver_info.
type withoutProperties struct{ *conductor.Fake }

func (w withoutProperties) Describe() conductor.Description {
	d := w.Fake.Describe()
	d.Properties = nil
	return d
}

func TestACheckNeedsItsConfig(t *testing.T) {
	var wrong *machine.ConfigError
	require.ErrorAs(t, hardwaretest.Check(hardwaretest.Config{}), &wrong)
}

func TestHardwareMayHaveOneKindOfBootDeviceAndRefuseTheOther(t *testing.T) {
	for _, only := range []bool{false, true} {
		c, f := newFake()
		b := newBroken(f)
		b.bootFrom(f, func(persistent bool) (bool, error) {
			if persistent != only {
				return false, &conductor.Error{Reason: conductor.Unsupported, Text: "no such boot device"}
			}
			return persistent, nil
		})
		c.Hardware = b
		require.NoError(t, hardwaretest.Check(c))
	}
}

// onlyMedia is hardware that boots from virtual media alone, or cannot set a boot device.
type onlyMedia struct {
	*broken
	devices []string
}

func (m onlyMedia) BootDevices(context.Context, *conductor.Node) ([]string, error) {
	return m.devices, nil
}

func TestHardwareNeedNotBootFromTheNetwork(t *testing.T) {
	for reason, devices := range map[conductor.Reason][]string{conductor.Invalid: {"cdrom"}, conductor.Unsupported: nil} {
		c, f := newFake()
		b := newBroken(f)
		b.boot = func(_ context.Context, _ *conductor.Node, device string, _ bool) error {
			if slices.Contains(devices, device) {
				return nil
			}
			return &conductor.Error{Reason: reason, Text: "no such boot device"}
		}
		b.boots = func(context.Context, *conductor.Node) (string, bool, error) { return "cdrom", true, nil }
		c.Hardware = onlyMedia{b, devices}
		require.NoError(t, hardwaretest.Check(c))
	}
}

func TestABootDeviceThatIsListedIsRefusedForAnInvalidNode(t *testing.T) {
	c, f := newFake()
	b := newBroken(f)
	b.validate = func(n *conductor.Node) map[string]error {
		all := f.Validate(n)
		if n.DriverInfo["B1"] != "a" {
			all["management"] = &conductor.Error{Reason: conductor.Invalid, Text: "no"}
		}
		return all
	}
	b.boot = func(_ context.Context, _ *conductor.Node, device string, _ bool) error {
		if device == "cdrom" {
			return nil
		}
		return &conductor.Error{Reason: conductor.Invalid, Text: "no such boot device"}
	}
	b.boots = func(context.Context, *conductor.Node) (string, bool, error) { return "cdrom", true, nil }
	c.Hardware = onlyMedia{b, []string{"cdrom"}}
	require.ErrorContains(t, hardwaretest.Check(c), "the management interface is invalid, and the boot device was set")
}

// asksBMC is hardware that logs in to its BMC to list the boot devices.
type asksBMC struct{ *broken }

func (a asksBMC) BootDevices(ctx context.Context, n *conductor.Node) ([]string, error) {
	if _, err := a.Fake.PowerState(ctx, n); err != nil { // the log-in
		return nil, err
	}
	return a.Fake.BootDevices(ctx, n)
}

func TestHardwareMayLogInToListItsBootDevices(t *testing.T) {
	c, f := newFake()
	b := newBroken(f)
	refusal := func(n *conductor.Node) error {
		if n.DriverInfo["B1"] == "a" {
			return nil
		}
		return &conductor.Error{Reason: conductor.Invalid, Text: "B1 must be a"}
	}
	b.validate = func(n *conductor.Node) map[string]error {
		all := f.Validate(n)
		all["management"], all["power"] = refusal(n), refusal(n)
		return all
	}
	b.boot = func(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
		if err := refusal(n); err != nil {
			return err
		}
		return f.SetBootDevice(ctx, n, device, persistent)
	}
	b.read = func(ctx context.Context, n *conductor.Node) (states.Power, error) {
		if err := refusal(n); err != nil {
			return states.NoPower, err
		}
		return f.PowerState(ctx, n)
	}
	b.set = func(ctx context.Context, n *conductor.Node, power states.Power) error {
		if err := refusal(n); err != nil {
			return err
		}
		return f.SetPower(ctx, n, power)
	}
	c.Hardware = asksBMC{b}
	require.NoError(t, hardwaretest.Check(c))
}

// silent is hardware that cannot list its boot devices.
type silent struct{ *conductor.Fake }

func (silent) BootDevices(context.Context, *conductor.Node) ([]string, error) {
	return nil, errors.New("no route to the list")
}

func TestBootDevicesThatCannotBeListedAreABrokenPromise(t *testing.T) {
	c, f := newFake()
	c.Hardware = silent{f}
	require.EqualError(t, hardwaretest.Check(c), "boot devices are listed: no route to the list")
}

// A BMC may forget the device after one start. The hardware type then keeps it in the record.
func TestABootDeviceMayBeKeptInTheRecord(t *testing.T) {
	c, f := newFake()
	b := newBroken(f)
	b.bootFrom(f, func(bool) (bool, error) { return false, nil })
	once := b.boot
	b.boot = func(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
		if persistent {
			n.DriverInternalInfo = map[string]any{"boot_device": device}
		}
		return once(ctx, n, device, persistent)
	}
	c.Hardware = b
	require.NoError(t, hardwaretest.Check(c))
}

// A method that hangs would make each promise wait for minutes.
func TestTheCheckEndsWithThePromiseAtWhichAMethodHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newFake()
		b := newBroken(f)
		b.read = func(ctx context.Context, n *conductor.Node) (states.Power, error) {
			time.Sleep(time.Hour)
			return f.PowerState(ctx, n)
		}
		c.Hardware = b
		begin := time.Now()
		err := hardwaretest.Check(c)
		require.Equal(t, 2*time.Minute, time.Since(begin))
		require.EqualError(t, err, "a power state that is set is reached: a method did not return within 1m0s after its context had ended\n"+
			`the check ends with the promise "a power state that is set is reached", which took longer than 1m0s: `+
			"the 8 promises after it were not tried")
		bubble.Sleep(2 * time.Hour) // until the method has returned
	})
}

// hanging is hardware whose list of boot devices takes an hour.
type hanging struct{ *conductor.Fake }

func (hanging) BootDevices(context.Context, *conductor.Node) ([]string, error) {
	time.Sleep(time.Hour)
	return nil, nil
}

func TestAListOfBootDevicesThatHangsBreaksNoOtherPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newFake()
		c.Hardware = hanging{f}
		require.ErrorContains(t, hardwaretest.Check(c),
			"boot devices are listed: a method did not return within 1m0s after its context had ended\nthe check ends")
		bubble.Sleep(2 * time.Hour)
	})
}

func TestAPanicInAGoroutineOfTheCheckIsABrokenPromise(t *testing.T) {
	c, f := newFake()
	hardware := newBroken(f)
	hardware.read = func(context.Context, *conductor.Node) (states.Power, error) { panic("no power state") }
	c.Hardware = hardware
	err := hardwaretest.Check(c)
	require.ErrorContains(t, err, "calls may be concurrent: it panicked: no power state\n")
	require.ErrorContains(t, err, "no method waits after its context has ended: it panicked: no power state\n")
}
