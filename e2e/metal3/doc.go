// SPDX-License-Identifier: Apache-2.0

// Package metal3 tests a conductor with a client that is used in production: the provisioner of metal3's
// baremetal-operator, unmodified, manages a machine of packages bmctest and agenttest through conductor, conductor/api
// and conductor/hardware.
//
// The operator requires v0.8.2 of metal3's ironic-standalone-operator/api, which the module proxy does not have; this
// module requires a later version.
package metal3
