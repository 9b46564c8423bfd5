package bmc

import (
	"context"
	"fmt"

	bmclib "github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/bmc"
	"github.com/jacobweinstock/registrar"
)

// provider is what bmclib's drivers for Redfish and IPMI have in common, as far as
// it is used here.
type provider interface {
	Name() string
	Open(context.Context) error
	Close(context.Context) error
	PowerStateGet(context.Context) (string, error)
	PowerSet(ctx context.Context, state string) (bool, error)
	BootDeviceSet(ctx context.Context, device string, persistent, efi bool) (bool, error)
}

// newClient returns a bmclib client that has one driver and will not look for
// others.
func newClient(c Config, g *guarded, protocol Protocol, features registrar.Features) *bmclib.Client {
	registry := registrar.NewRegistry()
	registry.Register(g.Name(), protocol.String(), features, nil, g)
	return bmclib.NewClient(c.Host, c.User, string(c.Password), bmclib.WithRegistry(registry))
}

// guarded is a driver whose panics are errors. bmclib opens drivers in goroutines
// of its own, where nobody else can recover: an answer that its libraries did not
// think of would end the program.
type guarded struct {
	provider
	err error // the last one, as the driver had it and not as bmclib wraps it
}

// cause returns the driver's own error for one of its client's, if there is one.
func (g *guarded) cause(err error) error {
	if g.err != nil {
		return g.err
	}
	return err
}

func (g *guarded) Open(ctx context.Context) error {
	return g.call(func() error { return g.provider.Open(ctx) })
}

func (g *guarded) Close(ctx context.Context) error {
	return g.call(func() error { return g.provider.Close(ctx) })
}

func (g *guarded) PowerStateGet(ctx context.Context) (state string, err error) {
	err = g.call(func() error {
		state, err = g.provider.PowerStateGet(ctx)
		return err
	})
	return state, err
}

func (g *guarded) PowerSet(ctx context.Context, state string) (ok bool, err error) {
	err = g.call(func() error {
		ok, err = g.provider.PowerSet(ctx, state)
		return err
	})
	return ok, err
}

func (g *guarded) BootDeviceOverrideGet(ctx context.Context) (override bmc.BootDeviceOverride, err error) {
	getter, ok := g.provider.(bmc.BootDeviceOverrideGetter)
	if !ok {
		return override, unsupported("the driver cannot read the boot device")
	}
	err = g.call(func() error {
		override, err = getter.BootDeviceOverrideGet(ctx)
		return err
	})
	return override, err
}

func (g *guarded) call(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the driver panicked: %v", value)
		}
		if err != nil {
			g.err = err
		}
	}()
	return f()
}
