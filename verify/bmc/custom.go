package bmc

import (
	"context"
	"errors"

	bmclib "github.com/bmc-toolbox/bmclib/v2"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// FromClient returns a Verifier that asks through bmclib clients of the caller's
// own, for what [Config] has no words for: other drivers, other transports. It
// calls make for each verification and closes the client after it.
//
// What package bmc adds to bmclib is then the caller's to care for: which drivers
// log in where, TLS, deadlines. Errors are a [*verify.Error] all the same, of a
// kind that can be told from the error alone, and the password of the client's
// Auth is kept out of their text.
func FromClient(make func() (*bmclib.Client, error)) verify.Verifier {
	return verify.Func(func(ctx context.Context) (states.Power, error) {
		client, err := make()
		if err == nil && client == nil {
			err = errors.New("there is no bmclib client")
		}
		if err != nil {
			return states.NoPower, misconfigured(err)
		}
		return ask(ctx, &customLink{client}, Config{})
	})
}

type customLink struct{ client *bmclib.Client }

func (l *customLink) protocol() string { return "bmclib" }

func (l *customLink) provider() *guarded { return nil }

func (l *customLink) address() string { return l.client.Auth.Host }

func (l *customLink) open(ctx context.Context) (*bmclib.Client, error) {
	return l.client, l.client.Open(ctx)
}

func (l *customLink) checkManagement(context.Context, *bmclib.Client) error { return nil }

func (l *customLink) close(ctx context.Context) { _ = l.client.Close(ctx) }

func (l *customLink) explain(err error) (verify.Kind, error) {
	secrets := Config{User: l.client.Auth.User, Password: Secret(l.client.Auth.Pass)}
	return kindOf(err), errors.New(secrets.scrub(err.Error()))
}
