// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"crypto/x509"
	"errors"
	"maps"
	"testing"

	"github.com/bmc-toolbox/bmclib/v2"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/fence"
	"github.com/ironstate/ironstate/states"
)

// ownConnections is a provider of bmclib whose requests pass no HTTP client of ours, as intel-amt and supermicro.
type ownConnections struct{ sent []string }

func (o *ownConnections) send(request string) error {
	o.sent = append(o.sent, request)
	return nil
}

func (o *ownConnections) Open(context.Context) error  { return o.send("log in") }
func (o *ownConnections) Close(context.Context) error { return nil }

func (o *ownConnections) PowerSet(_ context.Context, state string) (bool, error) {
	return true, o.send(state)
}

func (o *ownConnections) PowerStateGet(context.Context) (string, error) {
	return "on", o.send("power")
}

func TestAProviderWithConnectionsOfItsOwnAsksOnceForEachLogInAndForEachRequest(t *testing.T) {
	known := bmclibProviders
	t.Cleanup(func() { bmclibProviders = known })
	var provider *ownConnections
	row := known["supermicro"]
	row.verified = func(*bmclib.Client, *x509.CertPool) any { return provider }
	bmclibProviders = maps.Clone(known)
	bmclibProviders["supermicro"] = row
	b, err := NewBMCLib(Config{})
	require.NoError(t, err)
	n := &conductor.Node{DriverInfo: map[string]any{
		"bmclib_provider": "supermicro", "bmclib_address": "192.0.2.1", "bmclib_username": "u", "bmclib_password": "p",
	}}
	refused := errors.New("the node is another process's")
	for request, call := range map[string]func(context.Context) error{
		"off":   func(ctx context.Context) error { return b.SetPower(ctx, n, states.PowerOff) },
		"power": func(ctx context.Context) error { _, err := b.PowerState(ctx, n); return err },
	} {
		for permitted := range 4 {
			provider = &ownConnections{sent: []string{}}
			asked := 0
			err := call(fence.With(t.Context(), func(context.Context) error {
				if asked++; asked > permitted {
					return refused
				}
				return nil
			}))
			all := []string{"log in", request}
			require.Equal(t, all[:min(permitted, len(all))], provider.sent)
			require.Equal(t, permitted >= len(all), err == nil, "%v", err)
			require.Equal(t, min(permitted+1, len(all)), asked)
		}
	}
}
