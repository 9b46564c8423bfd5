// SPDX-License-Identifier: Apache-2.0

// Package metal3 tests a conductor with a client that is used in production: the provisioner of metal3's
// baremetal-operator, unmodified, manages a machine of packages bmctest and agenttest through conductor, conductor/api
// and conductor/hardware.
//
// The module is not in the workspace, because the operator compiles only with a version of gophercloud that is older than
// the one that the other modules need. Run its tests by
//
//	GOWORK=off go -C e2e/metal3 test ./...
package metal3
