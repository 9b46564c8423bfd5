// Package bmc verifies nodes by asking their BMCs, over Redfish or IPMI. It
// speaks both through github.com/bmc-toolbox/bmclib/v2:
//
//	verifier, err := bmc.New(bmc.Config{Host: "10.1.2.3", User: "admin", Password: "..."})
//	...
//	power, err := verify.Manage(ctx, node, verifier)
//
// [Driver] reads and sets power over the same connections, for package powersync.
//
// What it does that bmclib alone does not:
//   - One driver a protocol, gofish for Redfish and ipmitool for IPMI, so that a
//     wrong password costs one login a protocol and goes nowhere else: BMCs lock
//     accounts.
//   - TLS certificates are verified, unless [Config.InsecureSkipTLSVerify] says
//     otherwise.
//   - The context ends a request that is under way, answers are bounded in size,
//     and no request goes to another host than the one named.
//   - A session that was opened is closed, also when what follows it fails.
//   - Errors are a [*verify.Error] that says why, without the password in it.
//
// IPMI needs the program ipmitool, which Debian packages as ipmitool. The
// password reaches it in its environment, never in its arguments.
//
// bmclib dumps its Redfish traffic, credentials included, to standard output
// when the environment variable DEBUG_BMCLIB is "true": for debugging, never in
// production.
package bmc
