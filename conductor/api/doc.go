// SPDX-License-Identifier: Apache-2.0

// Package api serves Ironic's REST API for a conductor. Its [http.Handler] behaves as the API
// of an Ironic of the conductor's series does, so that Ironic's clients (the baremetal command
// line, openstacksdk, gophercloud) work with it unchanged.
//
//	c, err := conductor.New(conductor.Config{...})
//	...
//	server := &http.Server{Handler: api.New(c, api.Config{})}
//
// # Packages
//
// This package has the handler, the table of paths (routes.go) and the version documents. A request passes
// through package rest to the package of the resource that its path names. Imports go in one direction:
//
//	since                       the API version that introduced each feature; all others may import it
//	wire                        a JSON writer that sends a response in pieces
//	fault   -> wire             error responses, and the form of values in their texts
//	schema  -> fault            JSON schemas, and the error texts of Ironic's validator
//	rest    -> fault            requests and answers, pages of lists, routing
//	patch   -> rest, schema     JSON patches
//	traits  -> rest, schema     the traits of nodes and runbooks
//	objects -> patch, traits    nodes, ports, port groups, chassis, volumes, deploy templates, runbooks, allocations,
//	                            inspection rules
//	nodes   -> objects          the child resources of nodes, and shards
//	drivers -> rest             drivers and conductors
//	ramdisk -> objects          the agent's lookup, heartbeat and inspection data, and the network service's events
//
// # Implemented paths
//
// The handler serves the version documents; nodes with states, provision, power, maintenance,
// validate, management (boot_device, inject_nmi, indicators), traits, vifs, history, bios,
// firmware, inventory, children, vmedia, vendor_passthru; ports, port groups, chassis, volume
// connectors and targets, deploy templates, runbooks, allocations, inspection rules; conductors, drivers,
// shards, events, lookup, heartbeat and continue_inspection. Each path and each field exists from the API version
// that introduced it, except for mode and properties of port groups, which Ironic shows earlier.
//
// # The server
//
// The server limits time and connections. If it is reachable from a network, it should set
// ReadHeaderTimeout (10 s), ReadTimeout (60 s, for a config drive of 64 MiB), WriteTimeout (120 s,
// since requests for locked nodes wait and a slow BMC delays the boot device), IdleTimeout (120 s)
// and MaxHeaderBytes (64 KiB), and limit the connections of its listener. The handler does not
// authenticate clients: wrap it in one that does.
//
// Agents have no password. Config.AgentNetworks refuses them from elsewhere than the machines' networks, and
// Config.Audience gives them a handler, and so a listener, of their own.
//
// The handler sees what net/http has left of a request: Content-Length beside Transfer-Encoding is gone, and so is
// Transfer-Encoding of a request by HTTP/1.0, so that a proxy in front could be led to pass on another request than it
// sees. The program behind a proxy has to refuse such requests where it reads the connection, or at least to close each
// connection by HTTP/1.0, and each after a request with Transfer-Encoding, as cmd/ironstate does.
//
// # Limits
//
// The handler limits the size of requests to Ironic's defaults: bodies of 1 MiB, 64 MiB with a config drive, or 16 MiB
// with inspection data, and 25 levels of nested JSON (900 before 2026.1, where Ironic has no such limit and fails at
// about that depth). It has limits of its own, too: a body has at most 10,000 values, or 100,000 with inspection data,
// where a member of an object counts as two; inspection data have at most 1 MiB beside their longest text, which are
// the logs; a heartbeat has at most 64 KiB, or 4 KiB for a node that does not exist; a patch has at most 1,000
// operations, which move at most 4,194,304 elements of lists.
//
// The handler reserves memory for each request body and for the values that are decoded from it. All requests in flight
// share 72 MiB, but heartbeats and lookups have 8 MiB of their own, and inspections 60 MiB. The requests of one address
// have half of these 8 MiB and 60 MiB at most. A request for which too little is left gets 503, and one that needs more
// than its address may have gets 413, such as inspection data that reach several of their limits at once.
//
// A handler for [Clients] and one for [Agents] together need no more than one for [Everyone]: less than 384 MiB for
// requests, including copies and garbage. The answers of agents to a conductor with 300 workers need less than 128 MiB
// (agent.Budget), so that requests and answers together need less than 512 MiB. A request needs less than 100 ms of
// processor time, inspection data with the most values less than 300 ms. A config drive needs 6 ms for each MiB, or
// 19 ms if all of its characters are escapes.
//
// # Limitations
//
// The list of vifs is empty with every hardware type, and
// no driver has vendor methods that work without a node. Only fake-hardware has indicators, which
// cannot be set. Requests for boot mode, secure boot and virtual media are accepted, as by Ironic,
// and if they fail, as with fake-hardware, they set the node's last error. The handler responds when
// they are done, and Ironic before.
//
// # Intended differences
//
// Ironic 21.4.4 responds with 500 to a body that is null or not JSON, to unknown names in the
// fields of a list, to disable_ramdisk without cleaning, and to the deletion of a port group
// that has ports; this handler responds with 400. Removing a field in a patch sets its default
// for all fields except the driver, including fields for which Ironic responds with 500.
//
// The path of every child resource of a node accepts the node's name; Ironic accepts only the UUID in some
// (nodes/NODE/ports, nodes/NODE/volume/connectors, portgroups/GROUP/ports). The link to the next
// page repeats all filters, while Ironic's omits most of them.
//
// Secrets in lists within driver_info are masked, and so are SNMP keys, which Ironic masks only
// since 2025, SNMP communities, ipmi_hex_kg_key, and the value of an object that is named as a secret, such as
// {"name": "AdminPassword", "value": "******"} in a step that sets BIOS settings. In the texts of all fields, events
// and faults the passwords of URLs are masked: http://user:PASSWORD@host becomes http://user:******@host. Like every
// masked value, such a text is stored as it is if a client sends it back.
//
// A fault does not repeat secrets: the value of a patch of a masked field, a driver_info that is no object, a
// rescue password.
//
// A node may have an owner from the beginning; Ironic without Keystone refuses that, or ignores it.
// A fault that names a node has its UUID or name, where Ironic sometimes has a row's number.
//
// Ironic 29.0.5 and 39.0.0 accept the steps hold, wait, power_on, power_off and reboot of a cleaning or a service, and
// steps with execute_on_child_nodes, and leave them out. Here they run. An entry of limit_child_node_execution that is
// no UUID is refused with 400, by Ironic with 500.
//
// The response to inspection data of a node that is being inspected and does not wait for them yet is 409, at which an
// agent tries again; Ironic's response is 404, at which it gives up.
//
// The response to HEAD is 405, except for / and, since 2024.2, /v1 (200), for vendor_passthru, whose methods decide,
// and where the version lacks the path (404). OPTIONS gets 200 without a body, as from Ironic's CORS filter, except for
// /.
package api
