// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"time"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/secret"
)

// Client is what [FromClient] calls. The Client of github.com/bmc-toolbox/bmclib/v2
// implements it.
type Client interface {
	Open(context.Context) error
	GetPowerState(context.Context) (string, error)
	Close(context.Context) error
}

// FromClient returns the [verify.Verifier] that opens a connection by a client of bmclib
// and reads the power state, over any of bmclib's providers, such as intelamt, openbmc
// or rpc. Verify calls newClient each time, because bmclib's Open removes the providers
// that have failed from its client. The secrets are those that the client knows; they
// are removed from errors.
//
// The client is the caller's, and so is its safety: none of the other guarantees of this
// package hold. A provider may trust its BMC, skip the check of certificates, log in
// several times, or ignore the context. A panic in Verify's own goroutine is an error, but
// bmclib opens its providers in goroutines of its own, where a panic ends the process. The
// management interface is not checked, because few providers can read the boot device.
func FromClient[C Client](newClient func() C, secrets ...secret.Text) verify.Verifier {
	scrub := failure.NewScrubber("", secrets...)
	return verify.Func(func(ctx context.Context) (power states.Power, err error) {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		op := "power interface"
		err = guarded(func() error {
			client := newClient()
			defer func() {
				late, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
				defer cancel()
				_ = client.Close(late) // a session that cannot be closed is no failure
			}()
			if err := client.Open(ctx); err != nil {
				return err
			}
			op = "power state"
			word, err := client.GetPowerState(ctx)
			if err == nil {
				power, err = parsePower(word)
			}
			return err
		})
		if err == nil {
			return power, nil
		}
		cleaned := scrub.Clean(err)
		if cleaned.Kind == verify.Protocol {
			cleaned.Kind = verify.Failed // bmclib does not say what has failed
		}
		failed := &verify.Error{Op: op, Kind: cleaned.Kind, Err: cleaned}
		if ended := ctx.Err(); ended != nil {
			failed.Kind, failed.Err = verify.KindOf(ended), ended
		}
		return states.NoPower, failed
	})
}
