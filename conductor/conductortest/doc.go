// SPDX-License-Identifier: Apache-2.0

// Package conductortest provides an Ironic for the tests of clients, as net/http/httptest
// provides a server:
//
//	func TestDeploy(t *testing.T) {
//		ironic := conductortest.New(t, conductortest.Config{Series: states.Antelope})
//		node := ironic.Add(conductor.Node{Name: "rack1-7", ProvisionState: states.Available})
//
//		deploy(ironic.URL, "rack1-7") // the client under test, in any language
//
//		ironic.WaitFor(t.Context(), node.UUID, states.Active)
//	}
//
// The [Server] is a real conductor with Ironic's API, on fake-hardware and a store in memory. It
// behaves as an Ironic of the series does, at every API version of the series, without
// authentication. [Server.Add] creates a node in any provision state.
//
// # Work
//
// Work on fake-hardware succeeds at once. [Server.Next] replaces the next operation of a name on
// a node with a function of the test: the operation fails with the function's error, takes as
// long as the function takes, or waits for a call-back:
//
//	ironic.Next(node, "deploy.deploy", func(context.Context) error {
//		return errors.New("no such image") // deploy failed, with this in last_error
//	})
//	ironic.Next(node, "deploy.deploy", func(ctx context.Context) error {
//		return ironic.AwaitRead(ctx, node) // deploying until a client has seen it
//	})
//	ironic.Next(node, "deploy.deploy", func(context.Context) error {
//		return conductor.ErrWait // wait call-back, until ironic.Conductor.Resume
//	})
//
// Tests need not sleep, and do not depend on the load of the machine.
//
// # Machines
//
// [Config.Hardware] adds other hardware types. Package machinetest in conductor/hardware ties redfish, a BMC, and a
// machine with an agent and a disk to a Server.
//
// # Responses
//
// [Server.Refuse] makes the next requests fail as they do on a busy Ironic: 409 for a locked
// node, 503 without a free worker. [Server.Wrap] wraps the API in a handler of the test, for
// responses that are delayed, truncated or replaced. [Fault] writes a response in Ironic's form.
package conductortest
