// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"time"

	"github.com/ironstate/ironstate/conductor"
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
	b.driver, err = bmc.NewDriver(bmc.DriverConfig{Sessions: b.config.Sessions})
	return err
}

// Name implements [Interface].
func (b *bmcs) Name() string { return b.name }

// Properties implements [Interface].
func (b *bmcs) Properties() map[string]string { return maps.Clone(b.properties) }

// Validate implements [Interface].
func (b *bmcs) Validate(n Node) error {
	return b.do(n.Node, func(*bmc.Driver) error { return nil })
}

// configOf returns the configuration of a node's BMC. It reads the files of redfish_verify_ca each time: certificates
// that were renewed count from the next call on, as in Ironic, and a kept session that was opened with others is
// replaced.
func (b *bmcs) configOf(n *conductor.Node) (bmc.Config, error) {
	c, err := b.parse(info{n})
	if err != nil {
		return c, err
	}
	if c.RootCAs == nil && !c.InsecureSkipTLSVerify {
		c.RootCAs = b.authorities
	}
	c.Timeout, c.Pause = b.config.Timeout, b.config.Pause
	c.CheckManagement = b.config.CheckManagement
	c.AnyBIOSSetting = b.config.AnyBIOSSetting
	c.BootMode = n.WantedBootMode()
	c.Log = b.config.Log.With("node", n.UUID)
	return c, nil
}

// do calls f with the driver and the configuration of a node's BMC. Two calls for one node may have different records
// of it.
func (b *bmcs) do(n *conductor.Node, f func(*bmc.Driver) error) error {
	c, err := b.configOf(n)
	if err != nil {
		return err
	}
	d, err := b.driver.With(c)
	if err != nil {
		return &conductor.Error{Reason: conductor.Invalid, Err: err,
			Text: fmt.Sprintf("The driver_info of node %s cannot be used: %v", n.UUID, err)}
	}
	return f(d)
}

// ask is do for one method of the driver that returns a value.
func ask[T any](
	ctx context.Context, b *bmcs, n *conductor.Node, method func(*bmc.Driver, context.Context, string) (T, error),
) (answer T, err error) {
	err = b.do(n, func(d *bmc.Driver) (err error) {
		answer, err = method(d, ctx, n.UUID)
		return err
	})
	return answer, err
}

// Close logs out of all open sessions. A hardware type may have any of the interfaces, so that each closes the driver.
func (b *bmcs) Close(ctx context.Context) error { return b.driver.Close(ctx) }
