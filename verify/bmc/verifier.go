package bmc

import (
	"context"
	"errors"

	bmclib "github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// Verifier asks one BMC. Make it with [New]. It is safe for concurrent use; each
// Verify opens connections and a session of its own and closes them.
type Verifier struct {
	config Config
}

var _ verify.Verifier = (*Verifier)(nil)

// New returns the Verifier of a BMC, which it does not ask yet. A configuration
// that cannot work is a [*verify.Error] of the kind [verify.Misconfigured].
func New(c Config) (*Verifier, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, misconfigured(err)
	}
	return &Verifier{config: c}, nil
}

func misconfigured(err error) error {
	return &verify.Error{Step: verify.PowerInterface, Kind: verify.Misconfigured, Err: err}
}

// Verify implements [verify.Verifier]. Its errors hold a [*verify.Error]; where
// Auto tried both protocols, that of IPMI comes first.
func (v *Verifier) Verify(ctx context.Context) (states.Power, error) {
	if v == nil || v.config.Host == "" {
		return states.NoPower, misconfigured(errors.New("the verifier was not made by bmc.New"))
	}
	ctx, cancel := context.WithTimeout(ctx, v.config.Timeout)
	defer cancel()

	var power states.Power
	err := v.config.overProtocols(func(l link) (err error) {
		power, err = ask(ctx, l, v.config)
		return err
	})
	return power, err
}

// ask takes the steps over one link.
func ask(ctx context.Context, l link, c Config) (states.Power, error) {
	defer closeLink(ctx, l)
	a := asking{link: l}
	for _, step := range []struct {
		name verify.Step
		take func(context.Context) error
		skip bool
	}{
		{name: verify.PowerInterface, take: a.powerInterface},
		{name: verify.ManagementInterface, take: a.managementInterface, skip: c.SkipManagement},
		{name: verify.PowerState, take: a.powerState},
	} {
		if step.skip {
			continue
		}
		if err := takeStep(ctx, l, c.StepTimeout, step.name, step.take); err != nil {
			return states.NoPower, err
		}
	}
	return a.power, nil
}

// asking is one verification over one link.
type asking struct {
	link   link
	client *bmclib.Client
	power  states.Power
}

func (a *asking) powerInterface(ctx context.Context) (err error) {
	if a.client, err = a.link.open(ctx); err != nil {
		return err
	}
	if len(a.client.Registry.Supports(providers.FeaturePowerState)) == 0 {
		return unsupported("the driver cannot read the power state")
	}
	return nil
}

func (a *asking) managementInterface(ctx context.Context) error {
	if len(a.client.Registry.Supports(providers.FeatureBootDeviceSet)) == 0 {
		return unsupported("the driver cannot set the boot device")
	}
	return a.link.checkManagement(ctx, a.client)
}

func (a *asking) powerState(ctx context.Context) error {
	word, err := a.client.GetPowerState(ctx)
	if err == nil {
		a.power, err = parsePower(word)
	}
	return err
}
