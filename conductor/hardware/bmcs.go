// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// bmcs is the common part of the interfaces "redfish" or "ipmitool" of a hardware type: the BMCs that they reach by
// package bmc.
type bmcs struct {
	name       string // of the interfaces
	properties map[string]string
	devices    []string // that a machine can boot from
	// parse returns the configuration of a node's BMC from its driver_info.
	parse func(info) (bmc.Config, error)

	config      Config
	authorities *x509.CertPool // of Config.VerifyCA, nil for the operating system's
	driver      *bmc.Driver

	biosTimeout, biosInterval time.Duration // constants but for tests
}

// open makes the driver.
func (b *bmcs) open(c Config) (err error) {
	if b.config, err = c.withDefaults(); err != nil {
		return err
	}
	if b.authorities, err = b.config.authorities(); err != nil {
		return err
	}
	b.biosTimeout, b.biosInterval = biosTimeout, biosInterval
	b.driver, err = bmc.NewDriver(bmc.DriverConfig{Lookup: configIn, Sessions: b.config.Sessions})
	return err
}

// Name implements [Interface].
func (b *bmcs) Name() string { return b.name }

// Properties implements [Interface].
func (b *bmcs) Properties() map[string]string { return maps.Clone(b.properties) }

// Validate implements [Interface].
func (b *bmcs) Validate(n Node) error {
	_, _, err := b.verifier(n.Node)
	return err
}

// verifier returns the verifier and the configuration of a node's BMC. It is called for each call, and reads the files
// of redfish_verify_ca each time: certificates that were renewed count from the next call on, as in Ironic, and a kept
// session that was opened with others is replaced.
func (b *bmcs) verifier(n *conductor.Node) (verify.Verifier, bmc.Config, error) {
	c, err := b.parse(info{n})
	if err != nil {
		return nil, c, err
	}
	if c.RootCAs == nil && !c.InsecureSkipTLSVerify {
		c.RootCAs = b.authorities
	}
	c.Timeout, c.Pause = b.config.Timeout, b.config.Pause
	c.CheckManagement = b.config.CheckManagement
	c.AnyBIOSSetting = b.config.AnyBIOSSetting
	c.BootMode = n.WantedBootMode()
	c.Log = b.config.Log.With("node", n.UUID)
	v, err := bmc.New(c)
	if err != nil {
		return nil, c, &conductor.Error{Reason: conductor.Invalid, Err: err,
			Text: fmt.Sprintf("The driver_info of node %s cannot be used: %v", n.UUID, err)}
	}
	return v, c, nil
}

// configKey is the key under which the context of a call of the driver has the configuration of the BMC of the node
// with this UUID. The driver is given only the UUID, and its Lookup finds the rest. Here that is in the record with
// which the call was made: two calls for one node may have different records, and no variable for both has the right
// one.
type configKey string

// configIn is the driver's Lookup.
func configIn(ctx context.Context, id string) (bmc.Config, error) {
	c, ok := ctx.Value(configKey(id)).(bmc.Config)
	if !ok {
		return c, errors.New("the call's context has no configuration of its BMC")
	}
	return c, nil
}

// do calls f, which calls the driver for a node with the context that it gets.
func (b *bmcs) do(ctx context.Context, n *conductor.Node, f func(context.Context) error) error {
	_, c, err := b.verifier(n)
	if err != nil {
		return err
	}
	return f(context.WithValue(ctx, configKey(n.UUID), c))
}

// ask calls a method of the driver for a node, and returns its result.
func ask[T any](ctx context.Context, b *bmcs, n *conductor.Node, method func(context.Context, string) (T, error)) (answer T, err error) {
	err = b.do(ctx, n, func(ctx context.Context) (err error) {
		answer, err = method(ctx, n.UUID)
		return err
	})
	return answer, err
}

// Close logs out of all open sessions. A hardware type may have any of the interfaces, so that each closes the driver.
func (b *bmcs) Close(ctx context.Context) error { return b.driver.Close(ctx) }
