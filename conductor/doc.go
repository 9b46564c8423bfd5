// SPDX-License-Identifier: Apache-2.0

// Package conductor manages many nodes, as Ironic's conductor does: it accepts requests,
// does the requested work on the hardware, and keeps the record of each node up to date.
// A [Conductor] needs a store and hardware types. [Memory] and [Fake] need no set-up:
//
//	c, err := conductor.New(conductor.Config{
//		Store:    &conductor.Memory{},
//		Hardware: map[string]conductor.Hardware{"fake-hardware": &conductor.Fake{}},
//	})
//	...
//	go c.Run(ctx) // does the work until ctx ends
//
//	node, err := c.CreateNode(ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Enroll})
//	err = c.Provision(ctx, node.UUID, conductor.ProvisionRequest{Target: "manage", Version: 81})
//
// Package api, below, serves Ironic's REST API for a Conductor, package hardware has the
// hardware types for BMCs, package etcd is a durable store, and package conductortest starts
// all of this with one call, for the tests of clients.
//
// # Records
//
// A [Node] is a record in a [Store], with a revision. Every write is a compare-and-set, so
// that no process overwrites a change that it has not read. The record says which work is
// due: a node in "verifying" has a verification to run. Any process can therefore start the
// work: the process that accepted the request, a process that was started later, or another
// conductor on the same store.
//
// The process that works on a node holds the node's reservation, as in Ironic. Requests for
// a reserved node are retried a few times and then refused with [Locked]. The write that
// ends the work also drops the reservation. If the work fails after the agent may have booted, that
// write stores what is left to do on the machine (CleanUp), and a later write drops the reservation.
//
// What a process has to do with a node is decided by one pure function, and carried out by one
// engine, which alone reserves nodes:
//
//	record, members, time  ->  reconcile  ->  action      ->  engine
//	                                          nothing
//	                                          work            reserve the node, run the steps, report
//	                                          release         drop a reservation without work
//	                                          failOrphan      fail the work of a process that has died
//	                                          timeOut         fail a wait that lasts too long
//
// The engine decides again whenever a record changes, a conductor joins or leaves, and at each
// periodic check. Requests for power states and the rounds of the power sync also reserve nodes
// there; package powersync has their rules.
//
// The other records are objects: ports ([Port]), port groups, volumes, allocations, the entries of a
// node's history, deploy templates and more, each kind a type with Ironic's names in JSON. A record has
// the version of its form; a release reads the records of all earlier releases.
//
// A conductor has an index of each kind of record, kept up to date by a watch of the store and by its
// own writes. It answers lists and watches ([Conductor.WatchNodes]). One node or object is read from
// the store, so that it is as new as its last write by any conductor; a conductor that has the store
// alone reads its nodes from the index.
//
// # Work
//
// The work of a state is a list of steps ([Step]): the steps that the node's [Hardware] has
// for that state, and the steps that a client requests. A step may block, fail, wait for a
// call-back ([ErrWait], [Conductor.Resume]), or be held until a client requests "unhold". The
// record contains the current step, so that a waiting node survives a restart of the process.
// A node that waits too long has failed. Work without a step has failed, too: an automated
// cleaning, for example, that would erase nothing.
//
// # The agent
//
// Hardware types whose machines boot Ironic's agent implement AgentBooter. When the agent of a waiting
// node sends a heartbeat, the engine reserves the node, asks the agent for its commands, and continues,
// repeats or fails the step by the answer; package agent, below, decides what the answer means. The agent's
// own steps are read after its boot, and merged with the steps of the hardware type. A step that requires it is
// followed by a reboot. An AgentBooter says which work of a node the agent does, and whether it writes the image
// of a deployment: with package hardware below, the node's deploy, inspect and rescue interfaces say so.
//
// Requests go to no other address than the one from which the heartbeat came, unless [Config.AgentAddress] permits it:
// heartbeats and lookups need no password. [AgentNetworks] lists the networks of machines.
//
// With [Config.FastTrack], or fast_track in a node's driver_info, an agent that runs does the next work: the machine
// stays on after an inspection and a cleaning, and is not booted before a cleaning or a deployment if the agent's last
// heartbeat is recent.
//
// The following of Ironic is absent: images that the conductor converts, and the collection of the agent's logs.
//
// # Several conductors
//
// With a [Membership] several conductors share one store. Each of them accepts requests for any node that has an owner.
// One conductor owns a node and does its work; rendezvous hashing chooses it among the members that have the node's
// hardware type and are in its conductor group. A conductor that stops ends its work for up to
// [Config.ShutdownTimeout], and others own its other nodes meanwhile if the membership is a [Drainer]. When a conductor
// dies, hangs or is cut off, other conductors own its nodes: they drop its reservations and report its work as failed,
// in every state that a node cannot leave by itself. A conductor that is cut off stops its work before the others take
// over, and its late writes change nothing, since their revisions are old. A process that was suspended and resumes in
// the middle of a step sends no further request to the hardware, see [Permit]; only the one request that it was sending
// can arrive late. The file SPEC.md in this folder describes the protocol of records, claims, leases and fences. It
// gives the reason why each promise holds, and for each assumption an example of what goes wrong without it.
//
// The conductors may have different hardware types, and be in different groups. A conductor
// that lacks a node's hardware type, or is not in its group, leaves a request that needs the
// hardware type to the node's owner: it stores the request, and the owner stores the answer.
// These are the requests for a validation, a provision state, a power state, the management of the
// machine and vendor passthru, and heartbeats. The error matches [NoWorker] if the owner dies or does
// not answer within two minutes; as with any lost response the request may then have been done.
// Both texts are deleted after the answer, since they may contain a rescue password. Members
// describe their hardware types to each other, so that every other request is
// answered by the conductor that receives it.
//
// Source: ironic/conductor, of the series that [Config.Table] names.
package conductor

// The types, and what each may use; a type has its parts in named fields:
//
//	Conductor          the front: one method for each request of a client
//	  engine           carries out actions and requests; it alone reserves nodes
//	    reconciler     applies the actions that reconcile returns
//	    powerRounds    the rounds of the power sync
//	    Task           the work on one reserved node; its reservedRecord writes the node's record,
//	                   and its relatives are the node's parents and children
//	  allocator        chooses nodes for allocations
//	  calls            requests that the owner of a node carries out
//	  fileWithdrawer   withdraws published files that no machine needs
//	  sessions         this conductor's membership, and the list of members
//	  rulebook         decisions about a node's record; no I/O and no clock
//	  hardwareTypes    asks the hardware types of this conductor
//	    descriptions   of the hardware types of all members, by which the rulebook decides
//	  fleet            the records in the store, an index of each kind, all writes
//
// What uses the fields of one of these types is its method. A function has such a type as a parameter only if its own
// type is given: it is an entry of the table of works, the function of a Step, or the method here of a request that the
// node's owner carries out. Generic functions and constructors are the other exceptions: methods have no type
// parameters, and there is no value yet.
//
// The files, by subject:
//
//	conductor, config, errors, observe                     the Conductor itself; its counters, log and traces
//	node, internal_info, nodes                             the record of a node, and its methods of Conductor
//	object, objects, allocation, allocation_freed          the same for the other records
//	history                                                the entries of a node's history
//	store, memory, fleet                                   where records are; internal/index holds those in memory
//	membership, session                                    who is alive, and who owns a node
//	reconcile                                              which action a node needs, and its execution
//	rulebook, rules_request, rules_refusal                 decisions about requests and updates of clients,
//	rules_work                                             and about steps, lookups and heartbeats
//	transition                                             transitions; internal/inorder has the calls of OnTransition
//	interfaces                                             the hardware interfaces of nodes
//	expected                                               the times after which nodes are overdue
//	engine                                                 reservations, and the permission for each hardware operation;
//	                                                       internal/workerpool has the workers
//	hardware, fake, fake_interfaces, cache                 hardware types, and the data that they read from machines
//	published                                              the files of hardware types that no machine needs any more
//	ability, management                                    what clients request of hardware types
//	calls                                                  requests for a node that another conductor owns
//	works                                                  all that is known of each kind of work, in one table
//	work, record_write, cleanup                            the work of a state, its end, its writes, and its clean-up
//	task                                                   what a step may do with its node
//	steps, steps_plan, steps_run                           the steps of work; internal/sequence has their order
//	cleaning_runbook                                       the runbooks of automated cleanings
//	relatives                                              the power of parents and children, and steps for children
//	inspection, inspection_agent, inspection_rules         inspections, the data of agents, and the rules of clients
//	provision, power                                       requests for provision and power states
//	power_sync, power_observe                              the power sync: its rounds, and their reads of health,
//	                                                       boot mode and vendor
//	agent                                                  the agent's heartbeats; internal/agentwork has what follows
//	agent_trust                                            which agent is the node's: its lookup, token and certificate
//	agent_boot, agent_fasttrack                            the agent's boot and end, and an agent that stays
//	agent_command, agent_steps                             what the agent is told of a node, and its steps;
//	                                                       internal/raidconfig reads what they say of RAID
//	agent_deploy                                           deployments by the agent: internal/agentdeploy has their
//	                                                       steps, internal/agentimage and internal/configdrive the
//	                                                       rules for the image and the configuration drive
//
// CONTRIBUTING.md has the functions that decide about a failure, in the order of their calls.
