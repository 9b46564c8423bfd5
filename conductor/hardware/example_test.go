// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// This example verifies a node and powers it on by its BMC, which is one of package bmctest.
func ExampleNewRedfish() {
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, server.CAPEM, 0o600); err != nil {
		panic(err)
	}

	redfish, err := hardware.NewRedfish(hardware.Config{})
	if err != nil {
		panic(err)
	}
	defer redfish.Close(context.Background())
	moved := make(chan conductor.Transition, 10)
	c, err := conductor.New(conductor.Config{
		Hardware:     map[string]conductor.Hardware{"redfish": redfish},
		Store:        new(conductor.Memory),
		OnTransition: func(t conductor.Transition) { moved <- t },
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	defer func() { stop(); <-done }()
	if err := c.Ready(ctx); err != nil {
		panic(err)
	}

	node, err := c.CreateNode(ctx, &conductor.Node{
		Name: "rack1-7", Driver: "redfish", ProvisionState: states.Enroll,
		DriverInfo: map[string]any{
			"redfish_address": server.URL, "redfish_verify_ca": ca,
			"redfish_username": bmctest.DefaultUser, "redfish_password": bmctest.DefaultPassword,
		},
	})
	if err != nil {
		panic(err)
	}
	if err := c.Provision(ctx, node.UUID, conductor.ProvisionRequest{Target: "manage", Version: 115}); err != nil {
		panic(err)
	}
	for range 2 {
		t := <-moved
		fmt.Println(t.From, "->", t.Node.ProvisionState, t.Node.Power)
	}
	// Output:
	// enroll -> verifying none
	// verifying -> manageable power off
}

// The validation reports the missing keys of driver_info.
func ExampleType_Validate() {
	redfish, err := hardware.NewRedfish(hardware.Config{})
	if err != nil {
		panic(err)
	}
	defer redfish.Close(context.Background())
	fmt.Println(redfish.Validate(&conductor.Node{UUID: "n1", DriverInfo: map[string]any{"redfish_address": "https://10.1.2.3"}})["power"])
	// Output: Missing the following Redfish properties in node n1 driver_info: ['redfish_username', 'redfish_password']
}
