// Package ironstate is the map of this module: OpenStack Ironic's bare-metal
// provisioning state machine, for Go programs that run without OpenStack or
// beside it. There is no code here; open the package that has what you need.
//
//	states                what states, events and series there are; what leads where
//	states/statestest     check your own machine against the tables; paths, walks that cover them
//	states/statestest/rapidstates
//	                      generators for property and fuzz tests with pgregory.net/rapid
//	machine               one node's life: a pure function, and a live node with hooks
//	machine/plan          what to request next; what became of a request; what happened
//	machine/looplab       the same tables as machines of github.com/looplab/fsm
//	powersync             the recorded power state of a fleet kept true
//	powersync/storetest   check your own store of records
//	graph                 the diagram: DOT, Mermaid, JSON; a page about the states: Markdown
//	graph/render          the same as SVG and PNG; an explorer of all series: HTML
//	graph/cmd/stategraph  the command that documentation pipelines run
//	verify                from enroll to manageable when the BMC answers, and back when not
//	verify/bmc            the Verifier that asks real BMCs, over Redfish and IPMI
//	verify/bmc/bmctest    BMCs to test against, healthy and not
//	verify/bmc/secret     passwords that no printer, logger or encoder shows
//	conductor             many nodes: locks, work, steps, timeouts, take-over, on any store
//	conductor/api         Ironic's REST API over it
//	conductor/hardware    the hardware types redfish and ipmi
//	conductor/etcd        the store on etcd, in the process or a cluster
//	conductor/storetest   check your own store of a conductor
//	conductor/conductortest
//	                      an Ironic in-process for the tests of its clients
//	internal/clients      Ironic's own clients against a real Ironic and ours
//	internal/lockstep     a real Ironic beside all this: any difference fails the tests
//	internal/bench        other state machines beside machine, for speed
//	internal/bench/service
//	                      a real Ironic beside examples/conductor, for speed
//	internal/force        conductors and etcd servers that are killed, stopped and cut off, and a
//	                      check of all that was stored, answered and done meanwhile
//	internal/zero         every exported function and method, called with zero values
//	internal/boundedcall  calls that may panic or never return
//	internal/errtext      texts from outside, made fit to be stored and printed
//	internal/mutation     the code changed in one place at a time: a test must fail
//	internal/program      how the commands end: a line, a status, nothing left behind
//	internal/host         the processor that a figure was measured on
//	internal/needs        tests skip without a real system, and fail in CI
//	examples              programs: go run ./examples/NAME
//
// Arrows of import point one way: states <- machine <- {plan, looplab, verify,
// powersync, graph}, verify <- verify/bmc, graph <- graph/render, and {machine,
// verify, powersync} <- conductor <- {conductor/api, conductor/hardware,
// conductor/etcd} <- conductor/conductortest, examples. The packages
// states, machine, machine/plan, verify and powersync import the standard library
// and each other alone.
//
// Go takes every requirement of an imported module into a program's version
// selection, used or not. This module therefore requires only small modules that
// require nothing themselves, and the lowest Go that its code compiles with;
// packages that need more are in modules of their own:
//
//	verify/bmc            bmclib, for real BMCs
//	graph/render          go-graphviz, the renderer
//	graph/cmd             graph/render, for the command
//	conductor             verify/bmc, for conductor/hardware
//	conductor/etcd        etcd
//	examples/conductor    conductor/etcd, the Prometheus client
//	examples              verify/bmc, gophercloud for reconcile, the Prometheus client
//	examples/embed        verify/bmc, SQLite
//	examples/powersync-sqlite, internal/clients, internal/lockstep, internal/bench,
//	internal/bench/service, internal/force, internal/zero
//
// The file go.work makes all of them one workspace: go run and go test work from
// the root, on the sources as they are.
//
// What a package does is what Ironic does. Each names the upstream file that a
// rule is from, and the tables of all series are compared with upstream's own in
// the tests.
package ironstate
