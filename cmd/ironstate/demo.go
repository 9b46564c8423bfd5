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

// startDemo starts the built-in BMCs and enrolls a node for each. stop stops the BMCs.
func (s *service) startDemo(ctx context.Context) (stop func(), err error) {
	if s.options.demo == 0 {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "conductor-demo-")
	if err != nil {
		return nil, err
	}
	var bmcs []*bmctest.Redfish
	stop = func() {
		for _, bmc := range bmcs {
			_ = bmc.Close()
		}
		_ = os.RemoveAll(dir)
	}
	for i := range s.options.demo {
		name := fmt.Sprintf("demo-%d", i+1)
		bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Name: name}}})
		if err == nil {
			bmcs = append(bmcs, bmc)
			err = s.enroll(ctx, name, filepath.Join(dir, name+".pem"), bmc)
		}
		if err != nil {
			stop()
			return nil, fmt.Errorf("start the built-in BMC %s: %w", name, err)
		}
	}
	return stop, nil
}

// enroll creates the node of a built-in BMC. Its automated cleaning is off, since redfish has no
// steps for it. If the node exists from an earlier start, enroll updates the address of its BMC.
func (s *service) enroll(ctx context.Context, name, caFile string, bmc *bmctest.Redfish) error {
	if err := os.WriteFile(caFile, bmc.CAPEM, 0o600); err != nil {
		return err
	}
	info := map[string]any{
		"redfish_address":   bmc.URL,
		"redfish_username":  bmctest.DefaultUser,
		"redfish_password":  bmctest.DefaultPassword,
		"redfish_verify_ca": caFile,
	}
	_, err := s.conductor.CreateNode(ctx, &conductor.Node{
		Name: name, Driver: "redfish", ProvisionState: s.options.series.MaxAPIVersion().InitialState(), DriverInfo: info,
		ResourceClass: "baremetal", AutomatedClean: new(bool), Interfaces: map[string]string{"deploy": "ramdisk"}, // the BMCs have no machines that boot an agent
	})
	if errors.Is(err, conductor.Exists) {
		_, err = s.conductor.UpdateNode(ctx, name, func(n *conductor.Node) error {
			n.DriverInfo = info
			return nil
		})
	}
	return err
}
