// Package conductor manages many nodes, as Ironic's conductor does: it takes requests,
// does the work that they ask for on the hardware, and keeps every node's record true.
// A [Conductor] needs a store and hardware; [Memory] and [Fake] are ones for a start:
//
//	c, err := conductor.New(conductor.Config{
//		Store:    &conductor.Memory{},
//		Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
//	})
//	...
//	go c.Run(ctx) // does the work, until ctx ends
//
//	node, err := c.CreateNode(ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll})
//	err = c.Provision(ctx, node.UUID, conductor.ProvisionRequest{Target: "manage", Version: 81})
//
// Package api, below, is Ironic's REST API over it, package hardware has the hardware
// types for BMCs, package etcd is a store that outlives the process, and package
// conductortest is all of it in one line for the tests of a client.
//
// # Records
//
// A [Node] is a record in a [Store], with a revision: every write is a compare-and-set,
// so that no write replaces another one that its author has not seen. The record says
// which work is due: a node in "verifying" has a verification to run. Any process can
// therefore begin the work: the process that took the request, a process that was
// started later, or another conductor on the same store.
//
// Whoever works on a node holds its reservation, as in Ironic. Requests for a reserved
// node are tried again a few times and then refused with [Locked]. The reservation goes
// in the same write that ends the work.
//
// # Work
//
// The work of a state is a list of steps ([Step]): those that the node's [Hardware] has
// for it, and those that a client names. A step may take its time, fail, wait for a call-back
// ([ErrWait], [Conductor.Heartbeat], [Conductor.Resume]), or be held until a client lets
// it go. The record has the step at work, so that what waits survives the process. A
// wait that takes too long has failed.
//
// # Several conductors
//
// With a [Membership] several conductors work on one store: any takes any request, and
// each node has one of them that works on it, chosen by rendezvous hashing over those
// that have its hardware type and are of its group. When one dies, hangs or is cut off,
// its nodes have another owner, its reservations are dropped, and its work has failed,
// in every state that a node cannot leave by itself. It gives its own work up before
// the others may take over, and its late writes change nothing, since they have old
// revisions.
//
// Source: ironic/conductor, of the series that [Config.Table] names.
package conductor
