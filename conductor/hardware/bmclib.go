// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers/rpc"
	"github.com/bmc-toolbox/bmclib/v2/providers/supermicro"
	"github.com/jacobweinstock/registrar"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/secret"
)

// bmclibProviders maps the words of bmclib_provider to bmclib's names, to the boot devices that the provider can set
// (once: for the next boot alone), to whether the provider updates firmware, and to whether a BMC must be reset after
// the update of its own firmware: bmclib has OpenBMC activate it on the next reset, while an iDRAC restarts itself.
//
// Two providers can update firmware, and have no step for it. The provider asrockrack must be told the version that is
// installed, which the step of Ironic's interface does not name. The provider supermicro does not ask for permissions;
// an X11 may report 0% while it installs, as after it, and bmclib takes both as complete (statusBMCFirmwareInstall in
// x11_firmware_bmc.go).
//
// A provider that does not use the HTTP client of bmclib's client is made anew with the authorities, unless
// certificates are not verified.
var bmclibProviders = map[string]struct {
	name            string
	devices         []string
	once            bool
	updates, resets bool
	verified        func(*bmclib.Client, *x509.CertPool) any
}{
	"asrockrack": {name: "asrockrack"},
	"dell":       {name: "dell", updates: true},
	"intel-amt":  {name: "IntelAMT", devices: []string{"pxe"}, once: true},
	"openbmc":    {name: "openbmc", updates: true, resets: true},
	"rpc":        {name: rpc.ProviderName, devices: []string{"pxe", "disk", "cdrom", "bios"}},
	"supermicro": {name: supermicro.ProviderName, verified: verifiedSupermicro},
}

// verifiedSupermicro returns the provider supermicro that verifies certificates. bmclib's own has an HTTP client that
// verifies none, whatever client it is given.
//
// Source: NewClient in providers/supermicro/supermicro.go of bmclib.
func verifiedSupermicro(c *bmclib.Client, pool *x509.CertPool) any {
	return supermicro.NewClient(c.Auth.Host, c.Auth.User, c.Auth.Pass, c.Logger, supermicro.WithSecureTLS(pool))
}

// NewBMCLib returns the hardware type "bmclib", which manages machines by a provider of github.com/bmc-toolbox/bmclib:
// their power and, where the provider has them, their boot device, and the versions and the updates of their firmware.
// Where it sets no boot device, nodes need another management interface, such as "noop". It has no counterpart in
// Ironic. The error is a [*machine.ConfigError].
//
// The provider is trusted, and so is the BMC: none of the guarantees of package bmc hold, except that errors have no
// password, that a panic of the call's own goroutine is an error, and that certificates are verified. A provider may
// log in several times, follow redirects, read answers without bound, or ignore the context. Each log-in and each
// change asks for a permission ([conductor.Permit]), and by HTTP so does each connection, of which every request has
// its own; intel-amt and supermicro have connections of their own, so that requests within one change do not ask.
func NewBMCLib(c Config) (*Type, error) { return New(c, BMCLib(c)) }

// BMCLib returns the interfaces of the hardware type "bmclib", as [Redfish] does for "redfish".
func BMCLib(c Config) Interfaces {
	return bmclibInterfaces(c, (&net.Dialer{Timeout: dialTimeout}).DialContext)
}

// dialTimeout bounds a connection of a provider that ignores the context.
const dialTimeout = 10 * time.Second

func bmclibInterfaces(c Config, dial dialer) Interfaces {
	b := anyBMC{cmp.Or(c.Timeout, 30*time.Second), dial}
	return Interfaces{
		Power: []Power{bmclibPower{b}}, Management: []Management{bmclibManagement{b}, NoManagement()},
		Firmware: []Interface{&bmclibFirmware{b, firmwareTimeout, firmwareInterval, sleep.For}},
	}
}

// dialer opens connections to BMCs by HTTP.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// anyBMC is the common part of the interfaces "bmclib".
type anyBMC struct {
	timeout time.Duration
	dial    dialer
}

// Name implements [Interface].
func (anyBMC) Name() string { return "bmclib" }

// Properties implements [Interface].
func (anyBMC) Properties() map[string]string {
	return map[string]string{
		"bmclib_provider":  "Provider of bmclib: asrockrack, dell, intel-amt, openbmc, rpc or supermicro. Required.",
		"bmclib_address":   "Host of the BMC, and with rpc the URL of the service that manages it. Required.",
		"bmclib_host":      "With rpc: what the service is told as the host of the BMC.",
		"bmclib_username":  "User of the BMC. Required, except with rpc.",
		"bmclib_password":  "Password of the user. Required; with rpc it is the secret that signs the requests.",
		"bmclib_verify_ca": "As redfish_verify_ca. It has no effect with intel-amt, which uses HTTP.",
	}
}

// Validate implements [Interface].
func (b anyBMC) Validate(n Node) error {
	_, _, err := b.client(context.Background(), n.Node)
	return err
}

// client returns a function that makes a client of bmclib for one call, and the password.
func (b anyBMC) client(ctx context.Context, n *conductor.Node) (newClient func() permitted, password secret.Text, err error) {
	i := info{n}
	required := []string{"bmclib_provider", "bmclib_address", "bmclib_password"}
	var word, address, host, user, text string
	if err := i.texts(map[string]*string{
		"bmclib_provider": &word, "bmclib_address": &address, "bmclib_host": &host, "bmclib_username": &user, "bmclib_password": &text,
	}); err != nil {
		return nil, password, err
	}
	if word != rpc.ProviderName {
		required = append(required, "bmclib_username")
	}
	if err := i.require("bmclib properties", required...); err != nil {
		return nil, password, err
	}
	row, known := bmclibProviders[word]
	switch {
	case !known:
		return nil, password, i.invalid("bmclib_provider", "want one of %q", slices.Sorted(maps.Keys(bmclibProviders)))
	case word == rpc.ProviderName && !loadable(address):
		return nil, password, i.invalid("bmclib_address", "with rpc it must be an http or https URL")
	}
	pool, insecure, err := i.verifyCA("bmclib_verify_ca")
	if err != nil {
		return nil, password, err
	}
	options := []bmclib.Option{bmclib.WithHTTPClient(&http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // each request has a connection and asks for its permission
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, InsecureSkipVerify: insecure},
		DialContext: func(dialing context.Context, network, address string) (net.Conn, error) {
			if err := conductor.Permit(ctx); err != nil {
				return nil, err
			}
			return b.dial(dialing, network, address)
		},
	}})}
	if word == rpc.ProviderName {
		consumer := rpc.Provider{ConsumerURL: address}
		consumer.Opts.HMAC.Secrets = rpc.Secrets{rpc.SHA256: {text}}
		options, address = append(options, bmclib.WithRPCOpt(consumer)), host
	}
	return func() permitted {
		client := bmclib.NewClient(address, user, text, options...)
		client.Registry.Drivers = client.Registry.For(row.name)
		if row.verified != nil && !insecure {
			client.Registry.Drivers[0].DriverInterface = row.verified(client, pool)
		}
		return permitted{client}
	}, secret.New(text), nil
}

// permitted is a client of bmclib that asks for the permission of a log-in and of the reading of the power state.
type permitted struct{ *bmclib.Client }

// Open implements [bmc.Client].
func (c permitted) Open(ctx context.Context) error {
	if err := conductor.Permit(ctx); err != nil {
		return err
	}
	return c.Client.Open(ctx)
}

// GetPowerState implements [bmc.Client].
func (c permitted) GetPowerState(ctx context.Context) (string, error) {
	if err := conductor.Permit(ctx); err != nil {
		return "", err
	}
	return c.Client.GetPowerState(ctx)
}

// call opens a client, does something that is permitted, and closes the client. Errors name it op.
func (b anyBMC) call(ctx context.Context, n *conductor.Node, op string, do func(context.Context, *bmclib.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	newClient, password, err := b.client(ctx, n)
	if err != nil {
		return err
	}
	return bmc.CallClient(ctx, op, newClient, func(ctx context.Context, c permitted) error {
		if err := conductor.Permit(ctx); err != nil {
			return err
		}
		return do(ctx, c.Client)
	}, password)
}

// change is call for a change, which bmclib may refuse without an error.
func (b anyBMC) change(ctx context.Context, n *conductor.Node, op string, do func(context.Context, *bmclib.Client) (bool, error)) error {
	return b.call(ctx, n, op, func(ctx context.Context, c *bmclib.Client) error {
		done, err := do(ctx, c)
		if err == nil && !done {
			err = errors.New("the provider has not done it")
		}
		return err
	})
}

// has reports whether the node's provider is an A.
func has[A any](ctx context.Context, b anyBMC, n *conductor.Node) (bool, error) {
	newClient, _, err := b.client(ctx, n)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(newClient().Registry.Drivers, func(d *registrar.Driver) bool {
		_, ok := d.DriverInterface.(A)
		return ok
	}), nil
}
