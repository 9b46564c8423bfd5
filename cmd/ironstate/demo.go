// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// demo is the built-in BMCs.
type demo struct {
	dir  string // has the certificates of their authorities
	bmcs []*bmctest.Redfish
}

// startDemo starts the built-in BMCs. The files of their certificates are below -data, if there is one, where they
// replace the files of a killed process.
func (o *options) startDemo() (d *demo, err error) {
	d = &demo{}
	if o.demo == 0 {
		return d, nil
	}
	if o.data == "" {
		d.dir, err = os.MkdirTemp("", "conductor-demo-")
	} else {
		d.dir = filepath.Join(o.data, "demo")
		err = os.MkdirAll(d.dir, 0o700)
	}
	for i := 0; err == nil && i < o.demo; i++ {
		var bmc *bmctest.Redfish
		bmc, err = bmctest.NewRedfish(bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Name: d.name(i)}}})
		if err == nil {
			d.bmcs = append(d.bmcs, bmc)
			err = os.WriteFile(d.caFile(i), bmc.CAPEM, 0o600)
		}
	}
	if err != nil {
		d.stop()
		return nil, fmt.Errorf("start the built-in BMCs: %w", err)
	}
	return d, nil
}

func (d *demo) stop() {
	for _, bmc := range d.bmcs {
		_ = bmc.Close()
	}
	if d.dir != "" {
		_ = os.RemoveAll(d.dir)
	}
}

func (d *demo) name(i int) string { return fmt.Sprintf("demo-%d", i+1) }

func (d *demo) caFile(i int) string { return filepath.Join(d.dir, d.name(i)+".pem") }

func (d *demo) driverInfo(i int) map[string]any {
	return map[string]any{
		"redfish_address":   d.bmcs[i].URL,
		"redfish_username":  bmctest.DefaultUser,
		"redfish_password":  bmctest.DefaultPassword,
		"redfish_verify_ca": d.caFile(i),
	}
}

// update stores the current address of a BMC in its node.
func (d *demo) update(ctx context.Context, c *conductor.Conductor, i int) error {
	_, err := c.UpdateNode(ctx, d.name(i), func(n *conductor.Node) error {
		n.DriverInfo = d.driverInfo(i)
		return nil
	})
	return err
}

// renew updates the addresses of the nodes of an earlier start. It is called before the conductor runs, so that no
// power sync reads the old ones. It leaves to enroll the nodes that were reserved when their conductor was killed, and
// all that follow an error of the store.
func (d *demo) renew(ctx context.Context, c *conductor.Conductor) {
	for i := range d.bmcs {
		n, err := c.Node(ctx, d.name(i))
		if err == nil && n.Reservation == "" {
			err = d.update(ctx, c, i)
		}
		if err != nil && !errors.Is(err, conductor.NotFound) {
			return
		}
	}
}

// enroll creates the node of each BMC. Its automated cleaning is off, since redfish has no
// steps for it. If the node exists from an earlier start, enroll updates the address of its BMC.
func (d *demo) enroll(ctx context.Context, c *conductor.Conductor) error {
	for i := range d.bmcs {
		_, err := c.CreateNode(ctx, &conductor.Node{
			Name: d.name(i), Driver: "redfish", ProvisionState: c.Table().Series().MaxAPIVersion().InitialState(),
			DriverInfo: d.driverInfo(i), ResourceClass: "baremetal", AutomatedClean: new(bool),
			Interfaces: map[string]string{"deploy": "ramdisk"}, // the BMCs have no machines that boot an agent
		})
		if errors.Is(err, conductor.Exists) {
			err = d.update(ctx, c, i)
		}
		if err != nil {
			return fmt.Errorf("enroll the built-in BMC %s: %w", d.name(i), err)
		}
	}
	return nil
}
