// Package ironstate is the map of this module: OpenStack Ironic's bare-metal
// provisioning state machine, for Go programs that run without OpenStack or
// beside it. There is no code here; open the package that has what you need.
//
//	states                the states, events and series; the transitions of every series
//	states/statestest     check your own machine against the tables; paths, walks that cover them
//	states/statestest/rapidstates
//	                      generators for property and fuzz tests with pgregory.net/rapid
//	machine               one node's machine: pure functions, and a live node with hooks
//	machine/plan          the next request; the result of a request; the likely history
//	machine/looplab       the same tables as machines of github.com/looplab/fsm
//	powersync             keep the recorded power states of a fleet in agreement with the hardware
//	powersync/storetest   check your own store of records
//	graph                 the diagram: DOT, Mermaid, JSON; a page about the states: Markdown
//	graph/render          the same as SVG and PNG; an explorer of all series: HTML
//	graph/cmd/stategraph  the command that documentation pipelines run
//	verify                from enroll to manageable if the BMC answers, and back if not
//	verify/bmc            the Verifier for real BMCs, over Redfish and IPMI
//	verify/bmc/bmctest    BMCs to test against, with and without faults
//	verify/bmc/secret     passwords that no printer, logger or encoder shows
//	conductor             many nodes: locks, work, steps, timeouts, take-over, on any store
//	conductor/api         Ironic's REST API over it
//	conductor/hardware    the hardware types redfish and ipmi
//	conductor/etcd        the store on etcd, in the process or a cluster
//	conductor/storetest   check your own store of a conductor
//	conductor/conductortest
//	                      an Ironic in-process for the tests of its clients
//	internal/clients      Ironic's own clients against a real Ironic and ours
//	internal/lockstep     compares this module with a real Ironic: any difference fails the tests
//	internal/bench        benchmarks of package machine and other state machines
//	internal/bench/service
//	                      benchmarks of examples/conductor and a real Ironic
//	internal/force        fault injection for conductors and etcd servers, and a check of the
//	                      recorded history of writes, answers and operations
//	internal/zero         every exported function and method, called with zero values
//	internal/boundedcall  calls that may panic or never return
//	internal/errtext      cleans external texts before they are stored or printed
//	internal/mutation     mutation tests: for each change of the code, a test must fail
//	internal/program      main functions: signals, exit statuses, flags
//	internal/host         the processor on which a figure was measured
//	internal/needs        skips tests without a real system, and fails them in CI
//	examples              programs: go run ./examples/NAME
//
// Imports go in one direction: states <- machine <- {plan, looplab, verify,
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
// The packages behave as Ironic does. Each names the upstream file of a rule, and
// tests compare the tables of all series with upstream's own.
package ironstate
