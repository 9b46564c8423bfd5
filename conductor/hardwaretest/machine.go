// SPDX-License-Identifier: Apache-2.0

package hardwaretest

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

// poll is the time between two reads of a power state that is awaited.
const poll = 10 * time.Millisecond

func (t *tester) checkVerify(ctx context.Context) {
	power := try.Get(t.Hardware.Verify(ctx, t.node.Clone()))
	if power != states.PowerOn && power != states.PowerOff && (power != states.NoPower || !t.Hardware.Describe().Simulated) {
		try.Failf("the power state is %s", power)
	}
}

func (t *tester) checkPower(ctx context.Context) {
	for _, power := range []states.Power{
		states.PowerOff, states.PowerOn, states.PowerOn, states.PowerRebooting, states.PowerOff, states.PowerOff,
	} {
		sent, starts := t.Changes(), -1
		if power == states.PowerRebooting && t.Starts != nil {
			starts = t.Starts()
		}
		try.OKf(t.Hardware.SetPower(ctx, t.node.Clone(), power), "%s", power)
		if power == states.PowerRebooting && t.Changes() == sent {
			try.Failf("%s succeeds and sends nothing", power)
		}
		try.Within(power.String(), func() { t.awaitPower(ctx, power.Target(), starts) })
	}
	limiter, limited := t.Hardware.(conductor.PowerLimiter)
	supported := !limited || limiter.SupportsPower(t.node.Clone(), states.PowerSoftRebooting)
	err := t.Hardware.SetPower(ctx, t.node.Clone(), states.PowerSoftRebooting)
	switch {
	case err != nil && !errors.Is(err, errors.ErrUnsupported):
		try.Failf("%s is neither done nor matches errors.ErrUnsupported: %w", states.PowerSoftRebooting, err)
	case err != nil && supported:
		try.Failf("%s matches errors.ErrUnsupported, which no SupportsPower says before", states.PowerSoftRebooting)
	case err == nil && !supported:
		try.Failf("%s is done, which SupportsPower denies", states.PowerSoftRebooting)
	}
}

// awaitPower waits until the machine has a power state, and has started more often than before if the Config counts
// that.
func (t *tester) awaitPower(ctx context.Context, want states.Power, before int) {
	for {
		power, err := t.Hardware.PowerState(ctx, t.node.Clone())
		started := t.Starts == nil || t.Starts() > before
		switch {
		case ctx.Err() != nil && !started:
			try.Failf("the machine was on and has not started again within %v", patience)
		case ctx.Err() != nil:
			try.Failf("the machine is still %s after %v", power, patience)
		case err != nil:
			try.OK(err)
		case power == want && started:
			return
		case power != states.PowerOn && power != states.PowerOff:
			try.Failf("the power state is %s", power)
		}
		time.Sleep(poll)
	}
}

// checkPersistence sets a boot device for the next boot and for all boots, and reads it back. Hardware may have only
// one of the two, and must then refuse the other. A management interface may change nothing on the machine, as "noop"
// does, or keep the device in the record, from which it sets the device before each start.
func (t *tester) checkPersistence(ctx context.Context) {
	var refused error
	for _, persistent := range []bool{false, true} {
		n, before := t.node.Clone(), t.Changes()
		err := t.boots.SetBootDevice(ctx, n, t.device, persistent)
		switch {
		case isRefused(err) && refused == nil:
			refused = err
			continue
		case err != nil:
			try.Failf("%s, persistent %t: %w", t.device, persistent, err)
		}
		inMachine := t.Changes() != before && reflect.DeepEqual(n.DriverInternalInfo, t.node.DriverInternalInfo)
		switch read, kept, err := t.boots.BootDevice(ctx, n); {
		case errors.Is(err, conductor.Unsupported): // not every machine tells its boot device
		case err != nil:
			try.OK(err)
		case read != t.device:
			try.Failf("the boot device is %q after it was set to %s", read, t.device)
		case kept != persistent && inMachine:
			try.Failf("the boot device %s is read with persistent %t after it was set with %t", t.device, kept, persistent)
		}
	}
}

// isRefused reports whether an error says that the hardware has no such thing.
func isRefused(err error) bool {
	return errors.Is(err, conductor.Unsupported) || errors.Is(err, conductor.Invalid)
}

func (t *tester) checkBootDevices(ctx context.Context) {
	if t.boots == nil {
		return
	}
	if t.device != "" {
		t.checkPersistence(ctx)
	}
	before := t.Changes()
	err := t.boots.SetBootDevice(ctx, t.node.Clone(), "hardwaretest", false)
	if !errors.Is(err, conductor.Invalid) && (t.device != "" || !isRefused(err)) {
		try.Failf("the answer to the boot device hardwaretest is %v, want an error that matches conductor.Invalid", err)
	}
	if t.Changes() != before {
		try.Failf("a refused boot device sent a request")
	}
}

// checkFence calls each method that needs permissions without any.
func (t *tester) checkFence(ctx context.Context) {
	for _, o := range t.guarded() {
		before := t.Changes()
		fenced, _ := permitting(ctx, 0)
		err := o.call(fenced)
		if sent := t.Changes() - before; sent > 0 {
			try.Failf("%s sent %d requests", o.name, sent)
		}
		t.checkSecrets(map[string]error{o.name: err})
	}
}

// mostPermissions is the number of permissions for which one operation may ask.
const mostPermissions = 100

// checkEachRequest takes the permission away after each request of an operation.
func (t *tester) checkEachRequest(ctx context.Context) {
	for _, o := range t.operations() {
		for count := 0; ; count++ {
			if count > mostPermissions {
				try.Failf("%s asks for more than %d permissions", o.name, mostPermissions)
			}
			before := t.Changes()
			fenced, asked := permitting(ctx, count)
			err := o.call(fenced)
			if sent := t.Changes() - before; sent > min(count, asked()) {
				try.Failf("%s sent %d requests with %d permissions", o.name, sent, min(count, asked()))
			}
			if asked() <= count {
				try.OKf(err, "%s", o.name)
				break
			}
			if err == nil {
				try.Failf("%s succeeds without the permission for which it asked", o.name)
			}
		}
	}
}

func (t *tester) checkConcurrent(ctx context.Context) {
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = boundedcall.Do(context.WithoutCancel(ctx), 0, func(context.Context) (states.Power, error) {
				_ = t.Hardware.Validate(t.node.Clone())
				_ = t.Hardware.Describe()
				_ = t.Hardware.Steps(t.node.Clone(), states.WorkClean)
				return t.Hardware.PowerState(ctx, t.node.Clone())
			})
		})
	}
	all.Wait()
	try.OK(errors.Join(errs...))
}

func (t *tester) checkContext(ctx context.Context) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, o := range t.guarded() {
		before := t.Changes()
		_, err := boundedcall.Do(ended, grace, func(ctx context.Context) (struct{}, error) { _ = o.call(ctx); return struct{}{}, nil })
		if abandoned := (*boundedcall.AbandonedError)(nil); errors.As(err, &abandoned) {
			try.Failf("%s did not return within %v", o.name, grace)
		}
		try.OKf(err, "%s", o.name)
		if sent := t.Changes() - before; sent > 0 {
			try.Failf("%s sent %d requests after its context had ended", o.name, sent)
		}
	}
}

func (t *tester) checkBroken(ctx context.Context) {
	if t.Break == nil {
		return
	}
	t.Break()
	for _, o := range t.operations() {
		bounded, cancel := context.WithTimeout(ctx, grace)
		err := o.call(bounded)
		cancel()
		if err == nil && !o.needsNoMachine {
			try.Failf("%s succeeds", o.name)
		}
		t.checkSecrets(map[string]error{o.name: err})
	}
}
