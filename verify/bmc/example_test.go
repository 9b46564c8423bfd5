// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// A node is verified over Redfish. Here its BMC is one of package bmctest.
func ExampleNew() {
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	for _, password := range []string{"wrong", bmctest.DefaultPassword} {
		verifier, err := bmc.New(bmc.Config{
			Host: server.Host, RedfishPort: server.Port, RootCAs: server.CertPool,
			User: bmctest.DefaultUser, Password: secret.New(password),
		})
		if err != nil {
			panic(err)
		}
		node, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}})
		if err != nil {
			panic(err)
		}
		power, err := verify.Manage(context.Background(), node, verifier)
		fmt.Println(node.Node().State, power, errors.Is(err, verify.Credentials))
	}
	fmt.Printf("%+v\n", server.Logins())
	// Output:
	// enroll none true
	// manageable power off false
	// {Attempts:2 Succeeded:1 Failed:1}
}

// A Driver sets the power and the boot device of a node and reads its inventory, over
// one session.
func ExampleDriver() {
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	driver, err := bmc.NewDriver(bmc.DriverConfig{
		Sessions: 1000,
		Lookup: func(_ context.Context, id string) (bmc.Config, error) { // from the service's database
			return bmc.Config{
				Host: server.Host, RedfishPort: server.Port, RootCAs: server.CertPool,
				User: bmctest.DefaultUser, Password: secret.New(bmctest.DefaultPassword),
			}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	defer driver.Close(ctx)
	fmt.Println(driver.SetBootDevice(ctx, "node-1", "pxe", true))
	fmt.Println(driver.SetPower(ctx, "node-1", states.PowerOn))
	fmt.Println(driver.PowerState(ctx, "node-1"))
	fmt.Println(driver.BootDevice(ctx, "node-1"))
	inventory, err := driver.Inspect(ctx, "node-1")
	fmt.Println(inventory.CPU.Count, inventory.Memory.PhysicalMB, err)
	fmt.Println(server.Logins().Attempts, "login")
	// Output:
	// <nil>
	// <nil>
	// power on <nil>
	// pxe true <nil>
	// 32 65536 <nil>
	// 1 login
}

// A BMC whose answers exceed a limit is an error.
func ExampleConfig_limits() {
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	verifier, err := bmc.New(bmc.Config{
		Host: server.Host, RedfishPort: server.Port, RootCAs: server.CertPool,
		User: bmctest.DefaultUser, Password: secret.New(bmctest.DefaultPassword),
		MaxAnswerBytes: 500,
	})
	if err != nil {
		panic(err)
	}
	_, err = verifier.Verify(context.Background())
	fmt.Println(errors.Is(err, verify.Protocol))
	// Output: true
}

// The error has the operation that failed, and the kind of the failure.
func ExampleDriver_SetPower() {
	driver, err := bmc.NewDriver(bmc.DriverConfig{
		Lookup: func(_ context.Context, id string) (bmc.Config, error) {
			return bmc.Config{Host: "10.1.2.3", User: "admin"}, nil // it has no password
		},
	})
	if err != nil {
		panic(err)
	}
	defer driver.Close(context.Background())
	err = driver.SetPower(context.Background(), "node-1", states.PowerOn)
	var failed *verify.Error
	if errors.As(err, &failed) {
		fmt.Printf("%s: %v\n", failed.Op, failed.Kind)
	}
	fmt.Println(errors.Is(err, verify.Misconfigured))
	// Output:
	// configure: misconfigured
	// true
}
