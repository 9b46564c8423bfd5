// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers/rpc"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/secret"
)

// newClient returns a client of bmclib with one provider. For rpc the address is the URL of the
// service that does what the client asks for.
func newClient(provider, address, user, password string) *bmclib.Client {
	var options []bmclib.Option
	if provider == rpc.ProviderName {
		options = append(options, bmclib.WithRPCOpt(rpc.Provider{ConsumerURL: address}))
	}
	client := bmclib.NewClient(address, user, password, options...)
	client.Registry.Drivers = client.Registry.For(provider)
	return client
}

// providers returns the names of bmclib's providers that need no other configuration.
func providers() []string {
	names := []string{rpc.ProviderName}
	for _, driver := range bmclib.NewClient("", "", "").Registry.Drivers {
		names = append(names, driver.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// byProvider returns the verifier of a BMC by a provider of bmclib.
func byProvider(provider, address, user, password string) verify.Verifier {
	return bmc.FromClient(func() *bmclib.Client { return newClient(provider, address, user, password) }, secret.New(password))
}
