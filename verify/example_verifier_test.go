// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// A console is a Verifier for machines without a BMC. It derives the power state from
// the port of a console server.
type console struct{ address string }

func (c console) Verify(ctx context.Context) (states.Power, error) {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return states.NoPower, &verify.Error{Op: "power interface", Kind: verify.Unreachable, Host: c.address}
	}
	return states.PowerOn, connection.Close()
}

// A Verifier for machines on a console server.
func ExampleVerifier() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer server.Close()
	node, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}})
	if err != nil {
		panic(err)
	}
	power, err := verify.Manage(context.Background(), node, console{server.Addr().String()})
	fmt.Println(node.Node().State, power, err)
	// Output: manageable power on <nil>
}

// The error has the step and the kind of the failure.
func ExampleError() {
	node, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Enroll}})
	if err != nil {
		panic(err)
	}
	verifier := verify.Func(func(context.Context) (states.Power, error) {
		return states.NoPower, &verify.Error{Op: "management interface", Kind: verify.Unsupported}
	})
	_, err = verify.Manage(context.Background(), node, verifier)
	var failed *verify.Error
	if errors.As(err, &failed) {
		fmt.Printf("%s: %v\n", failed.Op, failed.Kind)
	}
	fmt.Println(verify.KindOf(err) == verify.Unsupported, node.Node().State)
	// Output:
	// management interface: not supported
	// true enroll
}
