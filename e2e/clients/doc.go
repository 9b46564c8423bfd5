// SPDX-License-Identifier: Apache-2.0

// Package clients has only tests. They run existing clients of Ironic against a real Ironic and against this
// repository's conductor, with the same expectations: the command line client baremetal, openstacksdk's functional
// tests of bare metal, gophercloud's acceptance tests of bare metal, and tempest's tests of the bare metal API.
//
// The Debian packages python3-ironicclient, python3-oslotest and ironic-tempest-plugin install the clients.
package clients
