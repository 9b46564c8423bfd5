package bmc

import (
	"context"
	"errors"

	bmclib "github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/secret"
)

// FromClient returns a Verifier that asks through bmclib clients of the caller's
// own, for what [Config] has no words for: other drivers, other transports. It
// calls make for each verification and closes the client after it.
//
// What package bmc adds to bmclib is then the caller's to care for: which drivers
// log in where, TLS, deadlines, limits, and answers that end the process in
// goroutines of a driver's own. Errors are a [*verify.Error] all the same, of a
// kind that can be told from the error alone, and the password of the client's
// Auth is kept out of their text. Where make is nil, each verification is an error
// of the kind [verify.Misconfigured].
func FromClient(make func() (*bmclib.Client, error)) verify.Verifier {
	return verify.Func(func(ctx context.Context) (states.Power, error) {
		if ctx == nil {
			return states.NoPower, misconfigured(errNilContext).atStep(verify.PowerInterface)
		}
		if make == nil {
			return states.NoPower, misconfigured(errors.New("there is no function that makes a client")).atStep(verify.PowerInterface)
		}
		client, err := make()
		if err == nil && client == nil {
			err = errors.New("there is no bmclib client")
		}
		if err != nil {
			return states.NoPower, misconfigured(err).atStep(verify.PowerInterface)
		}
		return ask(ctx, &clientConnection{client}, Config{})
	})
}

// clientConnection is a bmclib client of the caller's.
type clientConnection struct{ client *bmclib.Client }

func (c *clientConnection) protocol() string { return "bmclib" }

func (c *clientConnection) address() string { return c.client.Auth.Host }

func (c *clientConnection) open(ctx context.Context) error {
	if err := c.client.Open(ctx); err != nil {
		return err
	}
	if len(c.client.Registry.Supports(providers.FeaturePowerState)) == 0 {
		return unsupported("no driver can read the power state")
	}
	return nil
}

func (c *clientConnection) checkManagement(context.Context) error {
	if len(c.client.Registry.Supports(providers.FeatureBootDeviceSet)) == 0 {
		return unsupported("no driver can set the boot device")
	}
	return nil
}

func (c *clientConnection) powerState(ctx context.Context) (word string, err error) {
	err = guarded(func() error {
		word, err = c.client.GetPowerState(ctx)
		return err
	})
	return word, err
}

func (c *clientConnection) close(ctx context.Context) { _ = c.client.Close(ctx) }

func (c *clientConnection) scrubber() *scrubber {
	s := &scrubber{user: c.client.Auth.User}
	s.add(secret.New(c.client.Auth.Pass))
	return s
}
