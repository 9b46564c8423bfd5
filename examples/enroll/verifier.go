// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers/rpc"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/secret"
)

// verifier returns the verifier of a real BMC. The program ends if the flags are wrong.
func verifier(address, user, ca, protocol, provider string) verify.Verifier {
	password := os.Getenv("BMC_PASSWORD")
	if provider != "" {
		if !slices.Contains(providers(), provider) {
			fail(2, fmt.Errorf("bmclib has no provider %q, only %s", provider, strings.Join(providers(), ", ")))
		}
		return byProvider(provider, address, user, password)
	}
	config := bmc.Config{Host: address, User: user, Protocol: protocol, Password: secret.New(password)}
	if host, port, err := net.SplitHostPort(address); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil {
			fail(2, fmt.Errorf("the port in %q is no number", address))
		}
		if config.Host, config.RedfishPort = host, n; protocol == "ipmi" {
			config.RedfishPort, config.IPMIPort = 0, n
		}
	}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			fail(2, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			fail(2, fmt.Errorf("%s has no certificate in PEM", ca))
		}
	}
	v, err := bmc.New(config)
	if err != nil {
		fail(2, err)
	}
	return v
}

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
