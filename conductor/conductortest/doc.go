// Package conductortest is an Ironic for the tests of its clients, as net/http/httptest
// is a server:
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
// The [Server] is a real conductor with Ironic's API, on fake-hardware and a store in
// memory: it answers as an Ironic of that series does, at each API version of the
// series, without authentication. [Server.Add] puts a node into any provision state.
//
// # Work
//
// Work on fake-hardware succeeds at once. [Server.Next] says otherwise for the next
// piece of work on a node, which then does what a function of the test does: it fails
// with the function's error, takes as long as the function takes, or waits for a
// call-back:
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
// So no test has to sleep, and none depends on how busy the computer is.
//
// # Answers
//
// [Server.Refuse] makes the next requests fail as they do on a busy Ironic: 409 for a
// locked node, 503 without a free worker. [Server.Wrap] puts a handler of the test
// around the API, for answers that are late, cut off or somebody else's; [Fault]
// writes one in Ironic's form.
package conductortest
