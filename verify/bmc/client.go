// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	bmcliberrors "github.com/bmc-toolbox/bmclib/v2/errors"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
	"github.com/ironstate/ironstate/verify/secret"
)

// Client has the methods that [FromClient] and [CallClient] call. The Client of github.com/bmc-toolbox/bmclib/v2
// implements it.
type Client interface {
	Open(context.Context) error
	GetPowerState(context.Context) (string, error)
	Close(context.Context) error
}

// FromClient returns the [verify.Verifier] that reads the power state by [CallClient], over any of bmclib's providers,
// such as intelamt, openbmc or rpc. The management interface is not checked, because few providers can read the boot
// device.
func FromClient[C Client](newClient func() C, secrets ...secret.Text) verify.Verifier {
	return verify.Func(func(ctx context.Context) (power states.Power, err error) {
		err = CallClient(ctx, "power state", newClient, func(ctx context.Context, client C) error {
			word, err := client.GetPowerState(ctx)
			if err == nil {
				power, err = parsePower(word)
			}
			return err
		}, secrets...)
		if err != nil {
			return states.NoPower, err
		}
		return power, nil
	})
}

// CallClient opens a connection by a client of bmclib, calls do, and closes the connection. It makes the client by
// newClient, because bmclib's Open removes the providers that have failed from its client. The error is a
// [*verify.Error] with op, or with "power interface" if no connection was opened. The secrets are those that the client
// knows; they are removed from errors. A login is refused, [verify.Credentials], if the BMC answers a provider that
// uses gofish with 401, or if the provider asrockrack says so. A call whose context has no deadline ends after 30 s.
//
// The client is the caller's, and so is its safety: none of the other guarantees of this package hold. A provider may
// trust its BMC, skip the check of certificates, log in several times, or ignore the context. A panic in CallClient's
// own goroutine is an error, but bmclib opens its providers in goroutines of its own, where a panic ends the process.
func CallClient[C Client](
	ctx context.Context, op string, newClient func() C, do func(context.Context, C) error, secrets ...secret.Text,
) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
	}
	step := "power interface"
	err := guarded(func() error {
		client := newClient()
		defer func() {
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
			defer cancel()
			_ = client.Close(late) // a session that cannot be closed is no failure
		}()
		if err := client.Open(ctx); err != nil {
			return err
		}
		step = op
		return do(ctx, client)
	})
	if err == nil {
		return nil
	}
	cleaned := failure.NewScrubber("", secrets...).Clean(err)
	switch {
	case isRefusedLogin(err):
		cleaned.Kind = verify.Credentials
	case cleaned.Kind == verify.Protocol:
		cleaned.Kind = verify.Failed // bmclib does not tell the cause
	}
	failed := &verify.Error{Op: step, Kind: cleaned.Kind, Err: cleaned}
	if ended := ctx.Err(); ended != nil {
		failed.Kind, failed.Err = verify.KindOf(ended), ended
	}
	return failed
}

// isRefusedLogin reports whether an error of a client of bmclib says that the BMC has refused the user or the password.
func isRefusedLogin(err error) bool {
	var answer *schemas.Error
	if errors.As(err, &answer) {
		return answer.HTTPReturnedStatusCode == http.StatusUnauthorized
	}
	// The provider supermicro gives this error to each failure of its login, also if the network has failed.
	return errors.Is(err, bmcliberrors.ErrLoginFailed) && strings.Contains(err.Error(), "provider: asrockrack")
}
