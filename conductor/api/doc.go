// Package api is Ironic's REST API over a conductor: an [http.Handler] that Ironic's
// own clients drive (the baremetal command line, openstacksdk, gophercloud) as they
// drive an Ironic of the conductor's series.
//
//	c, err := conductor.New(conductor.Config{...})
//	...
//	server := &http.Server{Handler: api.New(c, api.Config{})}
//
// # The server
//
// The handler bounds each request: bodies of 1 MiB, of 64 MiB where a
// config drive may come, 256 MiB for all requests at once, and 25 levels of JSON, which
// are the defaults of Ironic. How long a client may take, and how many there may be, is
// the server's business. A server that others can reach should set ReadHeaderTimeout
// (10 s), ReadTimeout (60 s; a config drive of 64 MiB takes its time), WriteTimeout
// (120 s: a request for a locked node waits, a boot device is read from a slow BMC),
// IdleTimeout (120 s) and MaxHeaderBytes (64 KiB), and should bound the connections of
// its listener. Nobody is authenticated here: wrap the handler.
//
// # What is there
//
// The version documents; nodes with states, provision, power, maintenance, validate,
// management (boot_device, inject_nmi, indicators), traits, vifs, history, bios,
// firmware, inventory, children, vmedia, vendor_passthru; ports, port groups, chassis, volume
// connectors and targets, deploy templates, runbooks, allocations; conductors, drivers,
// shards, events, lookup and heartbeat. Each path and each field is there from the API
// version on that brought it.
//
// # What is not there
//
// These paths answer as unknown paths do: inspection_rules and continue_inspection. No
// hardware type fills the lists of firmware, indicators and vifs, and none has vendor
// methods without a node; fake-hardware alone fills that of bios. Boot mode, secure boot and virtual media are accepted,
// as Ironic accepts them, and end in a last error: no hardware type can change them.
//
// # Differences on purpose
//
// Where Ironic 21.4.4 answers 500 the answer here is 400: to a body that is no JSON or
// null, to unknown names in the fields of a list, to disable_ramdisk where nothing is
// cleaned, to the deletion of a port group that has ports. The removal of any field that
// can be patched, except the driver, sets its default, also where Ironic answers 500.
//
// The three lists of network_data (links, networks, services) have to be there; their
// items are not checked.
//
// A node can be named in every path below it; Ironic takes only the UUID in some
// (nodes/NODE/ports, nodes/NODE/volume/connectors, portgroups/GROUP/ports). The link to
// the next page repeats all filters, of which Ironic forgets most.
//
// Secrets in lists within driver_info are masked, and so are SNMP keys, which Ironic
// masks only since 2025. A fault does not repeat the values of a patch, of driver_info
// or of a rescue password. The answer to a PATCH does not show the reservation that the
// patch itself has held. HEAD and OPTIONS are answered 405.
package api
