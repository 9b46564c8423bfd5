package bmc

import (
	"context"
	"errors"
	"time"

	"github.com/bmc-toolbox/bmclib/v2"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/secret"
)

// FromClient returns the [verify.Verifier] that opens a connection by a client of bmclib
// and reads the power state, over any of bmclib's providers, such as intelamt, openbmc
// or rpc. Verify calls newClient each time, because bmclib's Open removes the providers
// that have failed from its client.
//
// The client is the caller's, and so is its safety: none of the guarantees of this
// package hold but that the client's password is removed from errors, and that a panic
// in Verify's own goroutine is an error. A provider may trust its BMC, skip the check of
// certificates, log in several times, or ignore the context. bmclib opens its providers
// in goroutines of its own, where a panic ends the process. The management interface is
// not checked, because few providers can read the boot device.
func FromClient(newClient func() *bmclib.Client) verify.Verifier {
	return verify.Func(func(ctx context.Context) (power states.Power, err error) {
		if ctx == nil {
			return states.NoPower, misconfigured(errNilContext)
		}
		var client *bmclib.Client
		if newClient != nil {
			client = newClient()
		}
		if client == nil {
			return states.NoPower, misconfigured(errors.New("there is no client of bmclib"))
		}
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		defer func() {
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
			defer cancel()
			_ = guarded(func() error { return client.Close(late) })
		}()
		if err := clientError(ctx, client, "power interface", guarded(func() error { return client.Open(ctx) })); err != nil {
			return states.NoPower, err
		}
		err = guarded(func() error {
			word, err := client.GetPowerState(ctx)
			if err == nil {
				power, err = parsePower(word)
			}
			return err
		})
		return power, clientError(ctx, client, "power state", err)
	})
}

// clientError converts an error of bmclib. What bmclib says tells its kind only if the
// network failed.
func clientError(ctx context.Context, client *bmclib.Client, op string, err error) error {
	if err == nil {
		return nil
	}
	scrub := &scrubber{user: client.Auth.User}
	scrub.add(secret.New(client.Auth.Pass))
	seen := &verify.Error{Op: op, Host: client.Auth.Host, Kind: kindOf(err)}
	if seen.Kind == verify.Protocol {
		seen.Kind = verify.Failed
	}
	seen.Err = &failure{kind: seen.Kind, text: scrub.describe(err), err: cause(err)}
	if ended := ctx.Err(); ended != nil {
		seen.Kind, seen.Err = verify.KindOf(ended), ended
	}
	return seen
}
