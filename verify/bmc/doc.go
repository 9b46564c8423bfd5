// SPDX-License-Identifier: Apache-2.0

// Package bmc verifies nodes by their BMCs, over Redfish or IPMI. [New] makes the
// [verify.Verifier] for the BMC of a [Config]:
//
//	config := bmc.Config{Host: "10.1.2.3", User: "admin", Password: secret.New("...")}
//	verifier, err := bmc.New(config)
//	...
//	power, err := verify.Manage(ctx, node, verifier)
//
// A [Driver] controls the BMCs of a fleet, with a Config for each node. It reads and sets power, for package powersync,
// and the boot device. Over Redfish it also reads an inventory and firmware versions, inserts and ejects virtual media,
// and reads and sets the boot mode, secure boot and BIOS settings:
//
//	driver, err := bmc.NewDriver(bmc.DriverConfig{Lookup: configOf, Sessions: 1000})
//	...
//	defer driver.Close(ctx)
//	syncer, err := powersync.New(powersync.Config{Store: store, Driver: driver})
//
// For Redfish, this package logs in and out, sends the requests, sets the limits, chooses the system, and makes the
// errors. Of an answer, gofish and bmclib get what package guard lets through: the rest would end the process in gofish
// or lead to another host. Who does what, and why:
//
//	power state                   the gofish driver of github.com/bmc-toolbox/bmclib/v2, from the system that was read
//	reset, NMI                    this package: bmclib sends an If-Match, which some BMCs compare with another resource,
//	                              has no GracefulRestart, and does not read an ActionInfo, in which some list the types
//	boot device                   this package: bmclib has no word for UefiHttp, sends properties that were not
//	                              asked for, and does not use the settings object
//	virtual media                 this package: bmclib changes no slot by PATCH or with the parameters that some
//	                              BMCs require
//	inventory, MAC addresses,     this package, with gofish's decoders: bmclib's inventory
//	firmware versions             loses all drives for one that cannot be read
//	LLDP data, PCI devices        this package, with gofish's decoders: bmclib does not read them
//	boot mode, secure boot        this package, with gofish's decoders: bmclib sets the boot mode only beside a boot
//	                              device, and has no secure boot over Redfish
//	BIOS settings                 this package, with gofish's decoders: bmclib's functions report success without a
//	                              request unless the path of the system is one that they know
//	health, vendor, boot progress this package: each is a property of a resource that is read in any case
//	event subscriptions           this package: bmclib has none, and gofish refuses types of events that it does not
//	                              know, and sends HttpHeaders in another form than the schema's
//
// IPMI runs the program ipmitool, which Debian packages as ipmitool. bmclib's provider runs it too, but leaves its
// processes behind, waits for one that hangs, reads output without a bound, and cannot read the boot device.
//
// [FromClient] makes a Verifier of a client of bmclib with any of its providers, and CallClient does anything by one.
// For all else the package guarantees the following; bmclib alone does not:
//
//   - A BMC is not trusted. No answer ends the process. [Config] bounds bytes, requests and members, and
//     [Config.Timeout] the time. All requests go to the configured host.
//   - A wrong password costs one login per protocol and is not sent again: BMCs lock accounts.
//   - TLS certificates are verified, unless [Config.InsecureSkipTLSVerify] is set.
//   - An opened session is closed, even if a later request fails or the context ends during the log-in.
//   - An ipmitool that hangs, forks or writes endlessly leaves no process. It gets the password in its environment,
//     never in its arguments.
//   - Errors have their reason, as a [*verify.Error]. Passwords and session tokens are removed from every text of a BMC
//     or a program, in any encoding. If one has fewer than 4 characters, which are found in any text, the error has no
//     such text at all. What a call brings, such as a password in the URL of an image, is also removed from the errors
//     of the later calls of its connection, unless it has fewer than 4 characters.
//
// # Inside
//
// The files of this package are named by what a Driver does: power, boot, media, bios and so on; the requests are in
// redfish_power.go and so on, and in ipmi.go. A call opens or resumes a connection (connection.go), implemented in
// redfish.go or ipmi.go; redfish_read.go reads resources with gofish. The parts that know nothing of these are packages
// in the folder internal: redfish is the client of one Redfish service, ipmitool runs the program, retry repeats what
// fails for the moment, guard filters resources for gofish, schemas has the parts of gofish in use, and failure has the
// errors and removes the secrets from them.
package bmc
