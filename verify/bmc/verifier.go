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
		return nil, &verify.Error{Step: verify.PowerInterface, Kind: verify.Misconfigured, Err: err}
	}
	return &Verifier{config: c}, nil
}

// Verify implements [verify.Verifier]. Its errors hold a [*verify.Error]; where
// Auto tried both protocols, that of IPMI comes first.
func (v *Verifier) Verify(ctx context.Context) (states.Power, error) {
	if v == nil || v.config.Host == "" {
		err := errors.New("the verifier was not made by bmc.New")
		return states.NoPower, &verify.Error{Step: verify.PowerInterface, Kind: verify.Misconfigured, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, v.config.Timeout)
	defer cancel()

	switch v.config.Protocol {
	case Redfish:
		return v.verify(ctx, newRedfish(v.config))
	case IPMI:
		return v.verify(ctx, newIPMI(v.config))
	}
	redfish := newRedfish(v.config)
	power, err := v.verify(ctx, redfish)
	if err == nil || !redfish.absent(err) {
		return power, err
	}
	power, ipmiErr := v.verify(ctx, newIPMI(v.config))
	if ipmiErr != nil {
		return states.NoPower, fmt.Errorf("%w; before that: %w", ipmiErr, err)
	}
	return power, nil
}

// A link is the way to a BMC over one protocol, for one verification.
type link interface {
	protocol() Protocol
	address() string
	// open connects and logs in. The client has one driver. It may be there, and
	// want closing, also when open fails.
	open(context.Context) (*bmclib.Client, error)
	// close logs out and frees what open took.
	close(context.Context)
	// explain says of what kind an error of the client is and what was seen,
	// without secrets.
	explain(error) (verify.Kind, error)
}

// verify asks over one protocol.
func (v *Verifier) verify(ctx context.Context, l link) (states.Power, error) {
	defer v.close(ctx, l)
	power, step, err := takeSteps(ctx, l)
	if err != nil {
		return states.NoPower, v.failure(ctx, l, step, err)
	}
	return power, nil
}

// takeSteps takes the three steps of verification and returns the one that it
// came to.
func takeSteps(ctx context.Context, l link) (states.Power, verify.Step, error) {
	client, err := l.open(ctx)
	if err != nil {
		return states.NoPower, verify.PowerInterface, err
	}
	if len(client.Registry.Supports(providers.FeaturePowerState)) == 0 {
		return states.NoPower, verify.PowerInterface, unsupported("the driver cannot read the power state")
	}
	if len(client.Registry.Supports(providers.FeatureBootDeviceSet)) == 0 {
		return states.NoPower, verify.ManagementInterface, unsupported("the driver cannot set the boot device")
	}
	word, err := client.GetPowerState(ctx)
	if err != nil {
		return states.NoPower, verify.PowerState, err
	}
	power, err := parsePower(word)
	return power, verify.PowerState, err
}

func (v *Verifier) close(ctx context.Context, l link) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTimeout)
	defer cancel()
	l.close(ctx)
}

// failure makes the error that the caller sees.
func (v *Verifier) failure(ctx context.Context, l link, step verify.Step, err error) error {
	failure := &verify.Error{Step: step, Protocol: l.protocol().String(), Host: l.address()}
	failure.Kind, failure.Err = l.explain(err)
	if ended := ctx.Err(); ended != nil {
		failure.Kind, failure.Err = verify.KindOf(ended), ended
	}
	return failure
}
