// SPDX-License-Identifier: Apache-2.0

// Package ironstate lists the packages of this module: OpenStack Ironic's bare-metal
// provisioning state machine, for Go programs with or without OpenStack. This
// package has no code.
//
//	states                the states, events and series; the transitions of every series
//	states/statestest     check your own machine against the tables; shortest paths, covering walks
//	states/statestest/rapidstates
//	                      generators for property and fuzz tests with pgregory.net/rapid
//	machine               one node's machine: pure functions, and a live node with hooks
//	machine/admission     whether a request is accepted: maintenance, protection, reservations, interfaces
//	machine/plan          the next request, or all of them; the result of a request; the likely history
//	machine/looplab       the same tables as machines of github.com/looplab/fsm
//	powersync             sync the recorded power states of a fleet with the hardware
//	powersync/storetest   check your own store of records
//	graph                 the diagram: DOT, Mermaid, JSON, XState; a page about the states: Markdown
//	graph/render          the diagram as SVG and PNG; an explorer of all series: HTML
//	cmd/stategraph        the command that documentation pipelines run
//	cmd/ironstate         the command: the whole service, Ironic's API without OpenStack
//	verify                from enroll to manageable if the BMC answers, and back if not
//	verify/secret         passwords that no printer, logger or encoder shows
//	verify/bmc            the Verifier for real BMCs, over Redfish and IPMI
//	verify/bmc/bmctest    BMCs to test against, with and without faults
//	conductor             many nodes: locks, work, steps, timeouts, take-over, on any store
//	conductor/api         Ironic's REST API of a conductor
//	conductor/agent       speak to Ironic's deployment agent as a conductor does
//	conductor/agent/agenttest
//	                      machines that boot an agent, for tests of conductors
//	conductor/hardware    hardware types composed of interfaces; the types redfish, ipmi and bmclib
//	conductor/hardware/bootimage
//	                      builds ISO images from which machines boot a kernel and a ramdisk
//	conductor/hardware/images
//	                      serves the images of nodes to their BMCs over HTTP
//	conductor/hardware/machinetest
//	                      an Ironic and a machine that it installs, for tests of controllers
//	conductor/etcd        the store and the membership on etcd, as a client
//	conductor/etcd/embedded
//	                      the same store on a server in the process, alone or one of a cluster
//	conductor/storetest   check your own store and membership of a conductor
//	conductor/hardwaretest
//	                      check your own hardware type
//	conductor/promises    check whether stored nodes keep the promises of conductors
//	conductor/conductortest
//	                      an Ironic in-process for the tests of its clients
//	e2e/clients           Ironic's own clients against a real Ironic and ours
//	e2e/lockstep          compares this module with a real Ironic; an unintended difference fails
//	                      the tests
//	e2e/lockstep/differ
//	                      sends the same random requests to a real Ironic and ours, over the whole
//	                      API, and counts the answers that differ
//	e2e/bench             benchmarks of package machine and other state machines
//	e2e/bench/service
//	                      benchmarks of cmd/ironstate and a real Ironic
//	e2e/force             fault injection for conductors and etcd servers, and a check of the
//	                      recorded history of writes, answers and operations
//	e2e/postgres          a store and a membership of one's own, on PostgreSQL
//	e2e/agent             a machine with a real ironic-python-agent through cmd/ironstate
//	e2e/fleet             a real Ironic that installs the machines of "ironstate fleet"
//	e2e/metal3            metal3's baremetal-operator, unmodified, with our conductor
//	e2e/gate              compares the skipped tests with .ci/left-out, finds clocks in tests, checks the documentation
//	e2e/mutation          mutation testing: for each change of the code, a test must fail
//	e2e/newstate          the costs of a new state: adds a made-up one, and runs all that decides by states
//	e2e/security          each sentence of SECURITY.md has a test
//	e2e/vendors           what is done on recorded BMCs of vendors, ability by ability
//	e2e/upstream          reads the tables of a version of Ironic from its source
//	e2e/release           a clone whose modules are tagged with a version: .ci/release
//	internal/checksum     verifies images by the checksums of instance_info
//	internal/oslobool     reads the words that Ironic accepts for booleans
//	internal/boundedcall  calls that may panic or never return
//	internal/abandoned    remembers the calls that do not return
//	internal/keylock      locks by key
//	internal/kit          checks an implementation promise by promise, for the kits that users import
//	internal/try          ends a script of many steps at its first error, for checks and tools
//	internal/fence        asks the context of a call before each request to hardware
//	internal/errtext      cleans external texts before they are stored or printed
//	internal/freeport     finds ports for programs that cannot listen on port 0
//	internal/sleep        waits for a time or for the end of a context
//	internal/clientnet    which addresses count as one client where its share is bounded
//	internal/bubble       sleeps of tests in bubbles, without chance
//	internal/exactjson    decodes JSON and keeps numbers as they are written
//	internal/kinds        the kinds of hardware interfaces, and which names they may have
//	internal/like         compares texts as SQL's LIKE does
//	internal/sorted       ranges over maps in the order of their keys
//	internal/jsonsize     measures JSON of untrusted senders before it is decoded
//	internal/masked       masks secrets in decoded JSON, in texts and in logs
//	internal/pyrepr       values as Python prints them, for texts of Ironic's API
//	internal/program      main functions: signals, exit statuses, flags
//	internal/host         the processor on which a figure was measured
//	internal/heaptest     measures the heap in tests
//	internal/schedules    runs concurrent code in every schedule within bounds, for tests
//	internal/needs        skips the tests that "go test work" leaves out
//	internal/rapidseed    makes property tests the same in each run
//	internal/leaks        goleak that waits for dials, for tests
//	internal/exchanges    plays recorded requests against an API, for tests
//	internal/browsertest  opens pages in a real Chromium, for tests
//	examples              programs: go run ./examples/NAME
//
// Imports go in one direction: states <- machine <- {admission, plan, looplab,
// verify, powersync, graph}, admission <- {plan, powersync, conductor}, verify <- verify/bmc,
// graph <- graph/render, {machine, verify, powersync, conductor/agent} <- conductor <-
// {conductor/api, conductor/hardware, conductor/etcd} <- examples, and conductor/api <-
// conductor/conductortest. The packages states, machine, machine/admission, machine/plan, verify and
// powersync import only the standard library and each other.
//
// A program's version selection includes every requirement of an imported module,
// used or not. This module therefore requires only small modules that require
// little themselves, and the lowest version of Go that compiles its code. Packages
// that need more are separate modules:
//
//	verify/bmc            bmclib, for real BMCs
//	graph/render          go-graphviz, the renderer
//	cmd/stategraph        graph/render, for the command
//	conductor             google/uuid, xxhash, bcrypt; go-qcow2reader for agenttest
//	conductor/hardware    verify/bmc, bmclib with its providers, go-diskfs
//	conductor/etcd        etcd
//	cmd/ironstate         conductor/etcd, the Prometheus client
//	examples              verify/bmc, conductor/hardware, gophercloud, SQLite
//	e2e                   gophercloud, etcd, pgx, other state machines, porcupine
//	e2e/metal3            baremetal-operator
//	internal/browsertest  chromedp, for the tests of the commands
//
// The file go.work makes all modules one workspace: at the root, go run and go test use the sources
// in this repository.
//
// The packages behave as Ironic does. Their comments name the upstream file of each
// rule, and tests compare the tables of all series with upstream's.
package ironstate
