package bmc

import (
	"context"
	"errors"
	"fmt"
	"time"

	bmclib "github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// logoutTimeout bounds the closing of a session, which is due also when the time
// for all else is up.
const logoutTimeout = 2 * time.Second

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

	switch v.config.Protocol {
	case Redfish:
		return ask(ctx, newRedfish(v.config), v.config.StepTimeout)
	case IPMI:
		return ask(ctx, newIPMI(v.config), v.config.StepTimeout)
	}
	redfish := newRedfish(v.config)
	power, err := ask(ctx, redfish, v.config.StepTimeout)
	if err == nil || !redfish.absent(err) {
		return power, err
	}
	power, ipmiErr := ask(ctx, newIPMI(v.config), v.config.StepTimeout)
	if ipmiErr != nil {
		return states.NoPower, fmt.Errorf("%w; before that: %w", ipmiErr, err)
	}
	return power, nil
}

// A link is the way to a BMC over one protocol, for one verification.
type link interface {
	// protocol and address are for errors.
	protocol() string
	address() string
	// open connects and logs in.
	open(context.Context) (*bmclib.Client, error)
	// checkManagement finds out whether the BMC lets its client set the boot
	// device.
	checkManagement(context.Context, *bmclib.Client) error
	// close logs out and frees what open took, whether or not open failed.
	close(context.Context)
	// explain says of what kind an error of the client is and what was seen,
	// without secrets.
	explain(error) (verify.Kind, error)
}

// ask takes the three steps over one link. A stepTimeout of 0 bounds none.
func ask(ctx context.Context, l link, stepTimeout time.Duration) (states.Power, error) {
	defer closeLink(ctx, l)
	a := asking{link: l}
	for _, step := range []struct {
		name verify.Step
		take func(context.Context) error
	}{
		{verify.PowerInterface, a.powerInterface},
		{verify.ManagementInterface, a.managementInterface},
		{verify.PowerState, a.powerState},
	} {
		if err := takeStep(ctx, l, stepTimeout, step.name, step.take); err != nil {
			return states.NoPower, err
		}
	}
	return a.power, nil
}

// takeStep takes a step and makes the error that the caller sees.
func takeStep(ctx context.Context, l link, limit time.Duration, name verify.Step, take func(context.Context) error) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	err := take(ctx)
	if err == nil {
		return nil
	}
	failure := &verify.Error{Step: name, Protocol: l.protocol(), Host: l.address()}
	failure.Kind, failure.Err = l.explain(err)
	if ended := ctx.Err(); ended != nil {
		failure.Kind, failure.Err = verify.KindOf(ended), ended
	}
	return failure
}

func closeLink(ctx context.Context, l link) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTimeout)
	defer cancel()
	l.close(ctx)
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
