package bmc

import (
	"context"
	"fmt"
	"time"

	bmclib "github.com/bmc-toolbox/bmclib/v2"

	"github.com/ironstate/ironstate/verify"
)

// logoutTimeout bounds the closing of a session, which is due also when the time
// for all else is up.
const logoutTimeout = 2 * time.Second

// A link is the way to a BMC over one protocol, for one session.
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
	// provider returns the one driver of the client, once it is open.
	provider() *guarded
	// explain says of what kind an error of the client is and what was seen,
	// without secrets.
	explain(error) (verify.Kind, error)
}

// overProtocols does something over the protocol that is configured, or, for
// Auto, over Redfish and then IPMI if there is no Redfish.
func (c Config) overProtocols(do func(link) error) error {
	switch c.Protocol {
	case Redfish:
		return do(newRedfish(c))
	case IPMI:
		return do(newIPMI(c))
	}
	redfish := newRedfish(c)
	err := do(redfish)
	if err == nil || !redfish.absent(err) {
		return err
	}
	if ipmiErr := do(newIPMI(c)); ipmiErr != nil {
		return fmt.Errorf("%w; before that: %w", ipmiErr, err)
	}
	return nil
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
