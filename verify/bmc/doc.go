// Package bmc verifies nodes by asking their BMCs, over Redfish or IPMI. [New] makes the
// [verify.Verifier] that asks the BMC of a [Config]:
//
//	config := bmc.Config{Host: "10.1.2.3", User: "admin", Password: secret.New("...")}
//	verifier, err := bmc.New(config)
//	...
//	power, err := verify.Manage(ctx, node, verifier)
//
// A [Driver] asks those of a fleet, by what is known of each. It reads and sets power,
// for package powersync, and the boot device, and reads an inventory:
//
//	driver, err := bmc.NewDriver(bmc.DriverConfig{Lookup: configOf, Sessions: 1000})
//	...
//	defer driver.Close(ctx)
//	syncer, err := powersync.New(powersync.Config{Store: store, Driver: driver})
//
// Redfish goes through the gofish driver of github.com/bmc-toolbox/bmclib/v2, for
// which this package is the Redfish service: it sees one session and one system,
// made from the BMC's answers after they were checked. IPMI runs the program
// ipmitool, which Debian packages as ipmitool. What the package does that bmclib
// alone does not:
//
//   - A BMC is not trusted. No answer ends the process, and bytes, requests and
//     members are bounded by [Config], the time by [Config.Timeout]. No request
//     goes to another host than the one named.
//   - A wrong password costs one login a protocol and goes nowhere else: BMCs lock
//     accounts.
//   - TLS certificates are verified, unless [Config.InsecureSkipTLSVerify] says
//     otherwise.
//   - A session that was opened is closed, also when what follows it fails or the
//     context ends during the log-in.
//   - No process is left of an ipmitool that hangs, forks or writes without end.
//     The password reaches it in its environment, never in its arguments.
//   - Errors say why, as a [*verify.Error]. Passwords and session
//     tokens are taken out of every text that a BMC or a program has said, in
//     whatever encoding.
package bmc
